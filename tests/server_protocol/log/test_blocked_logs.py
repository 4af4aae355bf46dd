"""A log that nobody reads: nothing waits for it, every figure stays exact, and what it lacks is counted in it."""

import os
import re
import select
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server_protocol.conftest import ClientMaker
from tests.support.processes.programs import a_program
from tests.support.server.server_bytes import SIZES
from tests.support.server.server_figures import process_of
from tests.support.server.server_serving import Daemon, Engine, an_engine, short_directory
from tests.support.timing.waiting import PATIENCE_SECONDS, wait_until

ROOM = 65_536  # lines that wait for a reader
FEW = 4_096  # more than a pipe takes, and than the writer has in its hands
WORDS = re.compile(rb"Allocated|Freed|CB_ALLOC|KERNEL_LOAD")
ABSENT = re.compile(rb"ttmem: (\d+) log lines dropped|Missed (\d+) events")


def counted(text: bytes) -> Counter[str]:
    """Lines of each word; and events of which the log says that they have no line, under `absent`."""
    found = Counter(word.decode() for word in WORDS.findall(text))
    found["absent"] = sum(int(dropped or missed) for dropped, missed in ABSENT.findall(text))
    return found


class Unread(Daemon):
    """A daemon whose standard output is a pipe that nobody reads until a test does."""

    def _started(self) -> "subprocess.Popen[bytes]":
        command = [*self._program, "--socket", str(self.path), *self._options]
        process = subprocess.Popen(
            command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0
        )
        assert process.stdout is not None
        assert b"\n" in process.stdout.readline()
        return process

    def read_log(self, event_count: int) -> Counter[str]:
        """Until so many events are lines or are told of as absent."""
        assert self.process.stdout is not None
        pipe = self.process.stdout
        found: Counter[str] = Counter()
        rest = b""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while found.total() < event_count:
            assert select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0], f"only {found}"
            lines, _, rest = (rest + os.read(pipe.fileno(), 1 << 20)).rpartition(b"\n")
            found += counted(lines)
        return found

    def read_rest(self) -> Counter[str]:
        """What else there is until its end."""
        self.process.terminate()
        text, _ = self.process.communicate(timeout=PATIENCE_SECONDS)
        return counted(text)


@pytest.fixture
def unread() -> Iterator[Unread]:
    """`allocation_server_poc | less`, and nobody scrolls."""
    script = Path(sys.executable).with_name("allocation_server_poc")
    with short_directory() as directory:
        daemon = Unread(directory, [], [str(script)], {})
        try:
            yield daemon
        finally:
            daemon.end()
            assert daemon.process.stdout is not None
            daemon.process.stdout.close()


@pytest.mark.slow
def test_eight_clients_of_200000_messages_lose_nothing_beside_a_log_without_a_reader(
    unread: Unread, client_of: ClientMaker
) -> None:
    count = 200_000
    clients = [client_of(unread, message_bytes=SIZES[number % 4]) for number in range(8)]
    for number, client in enumerate(clients):
        client.begin(f"pairs {count} {number} 10 {number << 32} 1000 256")
    left = [int(client.finish().split()[0]) for client in clients]
    for number, client in enumerate(clients):
        client.begin(f"growing {count // 10} {number} 5")
    for client in clients:
        client.finish()

    for number, client in enumerate(clients):
        counters = client.counters(number)
        assert counters["dram"] == 10 * left[number]
        assert counters.get("kernel", count // 10) == count // 10
        assert process_of(unread.document(), client.pid)["findings"] == {}
    events = 8 * (count + count // 10)
    log = unread.read_log(events)
    assert log.total() == events
    assert log["absent"] >= events - ROOM - FEW
    assert unread.read_rest().total() == 0


# Two records for each of so many buffers, and three that stay; a journal's ring has room for 65,536.
BATCH, BATCHES = 20_000, 4
CLIENT = f"""
from ttmem import AllocationClient as client
client.report_allocation(3, 5, 0, {BATCH})
meet()
for batch in range(1, {BATCHES + 1}):
    for id in range({BATCH}):
        client.report_allocation(3, 64, 0, id)
        client.report_deallocation(3, id)
    client.report_allocation(3, 1000, 0, {BATCH} + batch)
    client.report_cb_allocation(3, 100, batch << 12)
    client.report_kernel_load(3, 10, batch)
    meet()
"""


def test_a_program_with_a_journal_is_exact_beside_a_log_without_a_reader(unread: Unread) -> None:
    with a_program(Path(unread.environment["TTMEM_DIR"]), CLIENT) as program, unread.line() as line:
        program.arrive()
        for batch in range(BATCHES + 1):
            expected = {"dram": 5 + 1000 * batch, "cb": 100 * batch, "kernel": 10 * batch}
            wait_until(lambda: expected.items() <= line.counters(3).items())  # noqa: B023
            if batch < BATCHES:
                program.go_on()
                program.arrive()
        process = process_of(unread.document(), program.pid)
        events = 1 + BATCHES * (2 * BATCH + 3)
        log = unread.read_log(events)

        assert (process["findings"], process["is_complete"]) == ({}, True)
        assert log.total() == events
        assert log["absent"] >= events - ROOM - FEW
        assert unread.read_rest().total() == 0


OPENED = (
    "from ttmem import _native as n",
    "chip = n.client.open_device(9, 3, 'wormhole_b0', 'n150', (8, 8), (12, 64), (0,) * 10, 70656)",
    "n.client.report_buffer_alloc(chip, 1, 4096)",
    "meet()",
)
FLOOD = "for id in range(10, 30_010): n.client.report_free(n.client.report_buffer_alloc(chip, id, 64))"
FLOOD_EVENTS = 60_000  # a journal's ring has room for 65,536


@pytest.fixture
def logging() -> Iterator[Engine]:
    with an_engine(log_events=True) as engine:
        yield engine


def test_what_a_lapped_reader_missed_is_counted_in_a_log_that_is_full(logging: Engine, tmp_path: Path) -> None:
    """The line that would say how many events were missed has no room itself."""
    with a_program(tmp_path, *OPENED, FLOOD, "meet()", FLOOD, "meet()", FLOOD, FLOOD, "meet()") as program:
        program.arrive()
        logging.attach_all(tmp_path)
        for _ in range(3):
            read_all(logging)
            program.go_on()
            program.arrive()
        read_all(logging)
        text, dropped = logging.rest_of_log()
    lines = counted(text)
    assert lines["absent"] == 0
    assert lines.total() == ROOM
    assert lines.total() + dropped == 1 + 4 * FLOOD_EVENTS


def read_all(engine: Engine) -> None:
    while engine.ledger.drain():
        pass
