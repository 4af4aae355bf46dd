"""A log that starts late, is lapped, or starts again: what is alive is marked, what was missed is counted."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes.programs import a_program
from tests.support.server.server_bytes import alloc, kernel_load
from tests.support.server.server_serving import Daemon, Engine, a_daemon, an_engine, short_directory
from tests.support.timing.waiting import wait_until
from ttmem import _native

OPENED = (
    "from ttmem import _native as n",
    "chip = n.client.open_device(9, 0, 'wormhole_b0', 'n150', (8, 8), (12, 64), (0,) * 10, 70656)",
)


def lines_of(text: str, *words: str) -> list[str]:
    return [line.partition("] ")[2] for line in text.splitlines() if all(word in line for word in words)]


def journals_of(daemon: Daemon) -> Path:
    return Path(daemon.environment["TTMEM_DIR"])


def test_what_a_program_holds_when_the_server_starts_is_marked() -> None:
    held = (
        *OPENED,
        "held = [n.client.report_buffer_alloc(chip, id, 100 + id) for id in range(5)]",
        "n.client.report_free(held[2])",
        "n.client.report_kernel_load(chip, 7, 6, 57344, 16)",
        "meet()",
        "n.client.report_buffer_alloc(chip, 9, 4096)",
        "n.client.report_free(held[3])",
        "meet()",
    )
    with short_directory() as directory, a_program(directory / "j", *held) as program:
        program.arrive()
        with a_daemon("--log-events", directory=directory) as daemon:
            daemon.text_with("KERNEL_LOAD")
            program.go_on()
            program.arrive()
            text = daemon.text_with("Freed")

    assert lines_of(text, "Allocated", "(before)") == [
        f"Allocated {100 + id} bytes of DRAM on device 0 (buffer_id=0x{id:x}) (before)" for id in (0, 1, 3, 4)
    ]
    assert lines_of(text, "KERNEL_LOAD") == ["Fabric kernel on Device 0: +0.875 MB (Total: 0.875 MB) (before)"]
    assert [line for line in lines_of(text, "Allocated") if "before" not in line] == [
        "Allocated 4096 bytes of DRAM on device 0 (buffer_id=0x9)"
    ]
    assert lines_of(text, "Freed") == ["Freed buffer 0x3 on device 0 (103 bytes, FINAL)"]
    assert "Missed" not in text


@pytest.mark.slow
def test_what_socket_clients_held_when_the_server_ended_is_marked() -> None:
    with a_daemon("--log-events") as daemon, daemon.line() as line:
        line.say(kernel_load(1, 57_344, kind=1), alloc(0xABC, 2048, device=2))
        line.counters()
        daemon.terminate()
        daemon.restart()

        text = daemon.text_with("(before)")
        text = daemon.text_with("Allocated 2048 bytes of DRAM on device 2 (buffer_id=0xabc) (before)")
    assert len(lines_of(text, "Fabric kernel", "(before)")) == 1


def a_flood(count: int) -> tuple[str, ...]:
    """So many buffers that live and die, and three that stay; each is one record or two."""
    return (
        *OPENED,
        "n.client.report_buffer_alloc(chip, 1, 4096)",
        "meet()",
        "n.client.report_buffer_alloc(chip, 2, 4096)",
        f"for id in range(10, {10 + count}):",
        "    n.client.report_free(n.client.report_buffer_alloc(chip, id, 64))",
        "n.client.report_buffer_alloc(chip, 3, 4096)",
        "meet()",
    )


def counted(text: str) -> int:
    """Events that have a line, and events of which it says that they have none."""
    lines = len(lines_of(text, "Allocated")) + len(lines_of(text, "Freed"))
    return lines + sum(int(missed) for missed in re.findall(r"Missed (\d+) events", text))


@pytest.fixture
def logging() -> Iterator[Engine]:
    with an_engine(log_events=True) as engine:
        yield engine


def test_what_a_lapped_reader_missed_is_counted(logging: Engine, tmp_path: Path) -> None:
    count = 40_000  # 80,000 records, and the ring has 65,536
    with a_program(tmp_path, *a_flood(count)) as program:
        program.arrive()
        logging.attach_all(tmp_path)
        logging.ledger.drain()
        before = logging.log("Allocated")
        program.go_on()
        program.arrive()
        logging.ledger.drain()
        logging.ledger.drain()
        text = before + logging.log("buffer_id=0x3)")

    assert "Missed" in text
    assert lines_of(text, "(before)") == [
        f"Allocated 4096 bytes of DRAM on device 0 (buffer_id=0x{id}) (before)" for id in (2, 3)
    ]
    assert counted(text) == 3 + 2 * count


def test_a_program_that_was_faster_than_its_first_reader_is_counted_whole(logging: Engine, tmp_path: Path) -> None:
    count = 40_000
    with a_program(tmp_path, *a_flood(count)) as program:
        program.arrive()
        program.go_on()
        program.arrive()
        logging.attach_all(tmp_path)
        logging.ledger.drain()
        logging.ledger.drain()
        text = logging.log("buffer_id=0x3)")

    opened = 1  # the record that names its chip
    assert counted(text) == 3 + 2 * count + opened
    assert len(lines_of(text, "(before)")) == 3


def test_a_program_that_ended_between_two_looks_has_all_its_lines(logging: Engine, tmp_path: Path) -> None:
    with a_program(tmp_path, *OPENED, "for id in range(9): n.client.report_buffer_alloc(chip, id, 100)") as program:
        assert program.end() == 0
        logging.attach_all(tmp_path)
        logging.ledger.drain()
        text = logging.log("Removed")

    assert len(lines_of(text, "Allocated")) == 9
    assert f"Removed 9 buffers ({900 / 2**20:g} MB) from PID {program.pid}" in text


def test_a_program_that_had_ended_before_the_log_has_no_lines(tmp_path: Path) -> None:
    with a_program(tmp_path, *OPENED, "n.client.report_buffer_alloc(chip, 1, 100)") as program:
        assert program.end() == 0
    with an_engine(log_events=True) as engine, engine.line() as line:
        engine.attach_all(tmp_path)
        engine.ledger.drain()
        line.say(alloc(1, 5))
        line.counters()
        assert lines_of(engine.log("Allocated"), "Allocated", "100 bytes") == []


def test_a_program_on_both_ways_has_each_line_once() -> None:
    """Its journal tells more: what it also says by socket has no line of its own."""
    lines = (
        *OPENED,
        "n.client.report_buffer_alloc(chip, 1, 4096)",
        "meet()",
        "import os, socket, struct",
        "line = socket.socket(socket.AF_UNIX); line.connect(os.environ['TTMEM_SEED_SOCKET'])",
        "line.sendall(struct.pack('<B3xiQB3xiQQ104x', 1, 0, 4096, 0, os.getpid(), 1, 0))",
        "line.sendall(struct.pack('<B3xiQB3xiQQ104x', 3, 0, 0, 0, 0, 0, 0)); line.recv(144)",
        "meet()",
    )
    with a_daemon("--log-events") as daemon:
        with a_program(journals_of(daemon), *lines, TTMEM_SEED_SOCKET=str(daemon.path)) as program:
            program.arrive()
            daemon.text_with("Allocated")
            program.go_on()
            program.arrive()
            assert len(lines_of(daemon.text(), "Allocated")) == 1
        wait_until(lambda: "Removed" in daemon.text())
        assert len(re.findall("Removed", daemon.text())) == 1


def test_no_line_is_made_while_the_log_is_off(tmp_path: Path) -> None:
    ledger = _native.Ledger()
    with a_program(tmp_path, *OPENED, "n.client.report_buffer_alloc(chip, 1, 100)", "meet()") as program:
        program.arrive()
        for journal in tmp_path.glob("*.journal"):
            facts = journal.stat()
            ledger.attach(str(journal), facts.st_dev, facts.st_ino)
        ledger.drain()
        assert ledger.take_log(0.0) == (b"", 0)
