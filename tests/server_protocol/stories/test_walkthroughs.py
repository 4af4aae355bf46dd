"""The allocation server's own walk-throughs, with their figures, against the real program."""

import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server_protocol.conftest import ClientMaker
from tests.support.server.server_bytes import Message, Type, alloc, cb_alloc, cb_free, free, kernel_load, kernel_unload
from tests.support.server.server_clients import ServerClient
from tests.support.server.server_figures import of_document, of_model
from tests.support.server.server_lines import asked
from tests.support.server.server_model import ServerModel
from tests.support.server.server_serving import Daemon, a_daemon, all_agree
from tests.support.timing.waiting import wait_until

US = os.getpid()
FABRIC_BYTES = 57_344 * 16
DISPATCH_BYTES = 47_104 * 2
APPLICATION_BYTES = 100 * 1024 * 80


@pytest.fixture
def talkative() -> Iterator[Daemon]:
    with a_daemon("--log-events") as one:
        yield one


def grepped(daemon: Daemon, words: str) -> list[str]:
    """As its users do: grep WORDS out.log"""
    found = subprocess.run(["grep", words, str(daemon.output)], capture_output=True, text=True)
    return found.stdout.splitlines()


def wait_for_lines(daemon: Daemon, words: str, count: int) -> list[str]:
    return wait_until(lambda: lines if len(lines := grepped(daemon, words)) >= count else [])


def test_the_per_core_walk_through_has_its_figures(talkative: Daemon) -> None:
    """A fabric kernel of 57,344 B on 16 cores, a dispatch kernel of 47,104 B on 2."""
    assert (FABRIC_BYTES, DISPATCH_BYTES) == (917_504, 94_208)
    with talkative.line() as line:
        line.say(kernel_load(1, FABRIC_BYTES, kind=1))
        line.say(kernel_load(2, DISPATCH_BYTES, kind=2))
        assert line.counters()["kernel"] == 917_504 + 94_208

        assert wait_for_lines(talkative, "KERNEL_LOAD", 2) == [
            "✓ [KERNEL_LOAD] Fabric kernel on Device 0: +0.875 MB (Total: 0.875 MB)",
            "✓ [KERNEL_LOAD] Dispatch kernel on Device 0: +0.0898438 MB (Total: 0.964844 MB)",
        ]
        said = [kernel_load(1, FABRIC_BYTES, kind=1), kernel_load(2, DISPATCH_BYTES, kind=2)]
        model = ServerModel().apply_all(US, said)
        all_agree(talkative, of_model(model), [0])


def test_the_application_kernel_of_the_per_core_walk_through_is_8000_kb(talkative: Daemon) -> None:
    with talkative.line() as line:
        line.say(kernel_load(3, APPLICATION_BYTES))
        assert line.counters()["kernel"] == 8000 * 1024

        [shown] = wait_for_lines(talkative, "Application", 1)
        assert shown == "✓ [KERNEL_LOAD] Application kernel on Device 0: +7.8125 MB (Total: 7.8125 MB)"
        assert of_document(talkative.ps()).kernels == {("server:0", "application"): (8_192_000, 1)}


def test_the_kernel_type_walk_through_has_its_lines(talkative: Daemon) -> None:
    """Two fabric and two dispatch kernels by binary size, and one of 128 KB."""
    sizes = [(57_344, 1), (57_344, 1), (47_104, 2), (47_104, 2), (131_072, 0)]
    with talkative.line() as line:
        line.say(*(kernel_load(id, size, kind) for id, (size, kind) in enumerate(sizes)))
        line.counters()

        assert wait_for_lines(talkative, "KERNEL_LOAD", 5) == [
            "✓ [KERNEL_LOAD] Fabric kernel on Device 0: +0.0546875 MB (Total: 0.0546875 MB)",
            "✓ [KERNEL_LOAD] Fabric kernel on Device 0: +0.0546875 MB (Total: 0.109375 MB)",
            "✓ [KERNEL_LOAD] Dispatch kernel on Device 0: +0.0449219 MB (Total: 0.154297 MB)",
            "✓ [KERNEL_LOAD] Dispatch kernel on Device 0: +0.0449219 MB (Total: 0.199219 MB)",
            "✓ [KERNEL_LOAD] Application kernel on Device 0: +0.125 MB (Total: 0.324219 MB)",
        ]
        kernels = of_document(talkative.document()).kernels
        assert kernels == {
            ("server:0", "fabric"): (112 * 1024, 2),
            ("server:0", "dispatch"): (92 * 1024, 2),
            ("server:0", "application"): (128 * 1024, 1),
        }
        assert of_document(talkative.document(), US).kernels == kernels


def _load_everything(client: ServerClient, device: int) -> None:
    client.report(Type.KERNEL_LOAD, device=device, size=FABRIC_BYTES, kind=1, id=1)
    client.report(Type.KERNEL_LOAD, device=device, size=DISPATCH_BYTES, kind=2, id=2)
    client.report(Type.KERNEL_LOAD, device=device, size=APPLICATION_BYTES, kind=0, id=3)
    client.report(Type.CB_ALLOC, device=device, size=4096, id=1)
    client.settle()


def test_four_kernel_processes_killed_with_sigkill_leave_nothing(talkative: Daemon, client_of: ClientMaker) -> None:
    """The four devices of a data-parallel run, a process for each."""
    clients = [client_of(talkative) for _ in range(4)]
    for device, client in enumerate(clients):
        _load_everything(client, device)
    each = FABRIC_BYTES + DISPATCH_BYTES + APPLICATION_BYTES
    assert asked(talkative.path, range(4)) == {
        (f"server:{device}", pool): size for device in range(4) for pool, size in (("kernel", each), ("cb", 4096))
    }

    for client in clients:
        client.kill()

    wait_until(lambda: not asked(talkative.path, range(4)))
    wait_until(lambda: not talkative.figures().used)
    assert of_document(talkative.ps()).kernels == {}


def test_the_fast_dispatch_walk_through_finds_its_messages_in_the_log(talkative: Daemon) -> None:
    with talkative.line() as line:
        for device in range(4):
            line.say(cb_alloc(0x1000, 4096, device=device), kernel_load(1, 1 << 20, device=device))
        line.say(cb_free(0x1000, 4096), kernel_unload(1, 1 << 20))
        line.counters()

    assert wait_for_lines(talkative, "CB_ALLOC", 4) == [
        f"✓ [CB_ALLOC] Device {device}: +0.00390625 MB (Total: 0.00390625 MB)" for device in range(4)
    ]
    assert wait_for_lines(talkative, "CB_FREE", 1) == ["✗ [CB_FREE] Device 0: -0.00390625 MB (Total: 0 MB)"]
    assert wait_for_lines(talkative, "KERNEL_UNLOAD", 1) == [
        "✗ [KERNEL_UNLOAD] Application kernel on Device 0: -1 MB (Total: 0 MB)"
    ]


def test_buffers_are_shown_in_the_lines_that_the_allocation_servers_scripts_read(talkative: Daemon) -> None:
    with talkative.line() as line:
        line.say(alloc(0xABC, 2048), alloc(0xABC, 2048), alloc(0xDEF, 64, kind=1, device=2))
        line.say(free(0xABC), free(0xABC), free(0x99, device=2))
        line.counters()

    wait_for_lines(talkative, "unknown buffer", 1)
    told = [line for line in grepped(talkative, f"PID {US}") if line[0] in "✓✗⚠"]
    assert told[:5] == [
        f"✓ [PID {US}] Allocated 2048 bytes of DRAM on device 0 (buffer_id=0xabc)",
        f"✓ [PID {US}] Allocated 2048 bytes of DRAM on device 0 (buffer_id=0xabc, ref_count=2)",
        f"✓ [PID {US}] Allocated 64 bytes of L1 on device 2 (buffer_id=0xdef)",
        f"✗ [PID {US}] Freed buffer 0xabc on device 0 (2048 bytes, ref_count=1 remaining)",
        f"✗ [PID {US}] Freed buffer 0xabc on device 0 (2048 bytes, FINAL)",
    ]
    assert told[5].startswith(f"⚠ [PID {US}] Deallocation for unknown buffer 0x99 on device 2 (")


@pytest.mark.slow
def test_an_l1_peak_is_shown_with_its_time_and_its_buffers(talkative: Daemon) -> None:
    with talkative.line() as line:
        line.say(*(alloc(id, 307_200, kind=1) for id in range(42)))
        line.counters()

    lines = wait_for_lines(talkative, "L1 Peak on device 0: 12 MB", 1)
    assert re.fullmatch(r"\[\d+ms\] L1 Peak on device 0: 12 MB \(4\d buffers\)", lines[-1])


@pytest.mark.slow
def test_every_program_has_its_own_l1_peaks_counted_from_its_own_start(
    talkative: Daemon, client_of: ClientMaker
) -> None:
    for _ in range(2):
        client = client_of(talkative)
        client.report(Type.ALLOC, device=0, size=12 << 20, kind=1, id=1)
        client.settle()
        ran_ms = (time.clock_gettime(time.CLOCK_BOOTTIME) - _started(client.pid)) * 1000
        client.kill()
        wait_until(lambda: not asked(talkative.path, range(1)))

    lines = wait_for_lines(talkative, "L1 Peak on device 0: 12 MB (1 buffers)", 2)
    assert len(lines) == 2
    assert int(re.findall(r"\[(\d+)ms\]", lines[1])[0]) <= ran_ms + 10  # that of a tick


def _started(pid: int) -> float:
    """When a process started, in seconds since boot."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[19]) / os.sysconf("SC_CLK_TCK")


def test_the_allocation_servers_command_line_works_as_written(program: Path) -> None:
    """`allocation_server_poc > out.log 2>&1 &`, then grep."""
    script = Path(os.sys.executable).parent / "allocation_server_poc"  # type: ignore[attr-defined]
    with a_daemon(program=[str(script)]) as daemon, daemon.line() as line:
        line.say(kernel_load(1, FABRIC_BYTES, kind=1), cb_alloc(1, 1 << 20))
        line.counters()

        assert wait_for_lines(daemon, "KERNEL_LOAD", 1)
        assert wait_for_lines(daemon, "CB_ALLOC", 1) == ["✓ [CB_ALLOC] Device 0: +1 MB (Total: 1 MB)"]


def test_the_allocation_servers_program_is_quiet_when_asked(program: Path) -> None:
    script = Path(os.sys.executable).parent / "allocation_server_poc"  # type: ignore[attr-defined]
    with a_daemon("--quiet", program=[str(script)]) as daemon, daemon.line() as line:
        line.say(kernel_load(1, FABRIC_BYTES, kind=1), alloc(1, 5))
        assert line.counters()["kernel"] == FABRIC_BYTES
        daemon.terminate()

        assert grepped(daemon, "KERNEL_LOAD") == grepped(daemon, "Allocated") == []


DUMPS = {
    Type.DUMP_REMAINING: (
        "REMAINING ALLOCATED BUFFERS",
        "Total tracked allocations: 3",
        "Device 0:",
        "  DRAM: 2 buffers, 0.00585938 MB total",
        f"    - Buffer 0xabcd: 4 KB (PID {US}, ref_count=2)",
        f"    - Buffer 0xdef: 2 KB (PID {US}, ref_count=1)",
        "Device 3:",
        f"    - Buffer 0x9: 0.5 KB (PID {US}, ref_count=1)",
        "Total remaining buffers: 3",
    ),
    Type.DUMP_KERNELS: ("Total loaded kernels: 1", "Device 0: 1 kernels", "  Kernel ID: 0x1f, Size: 896 KB, PID: "),
}


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--log-events", "--quiet"])
@pytest.mark.parametrize("type", DUMPS)
def test_a_dump_goes_to_the_servers_log_and_nothing_to_the_asker(type: Type, option: str) -> None:
    with a_daemon(option) as daemon, daemon.line() as line:
        line.say(kernel_load(0x1F, FABRIC_BYTES, kind=1), alloc(0xABCD, 4096), alloc(0xABCD, 4096))
        line.say(alloc(0xDEF, 2048), alloc(9, 512, kind=1, device=3), cb_alloc(1, 64))
        line.counters()
        line.say(Message(type))

        text = daemon.text_with(DUMPS[type][-1])
        shown = [line for line in text[text.index("╔") :].splitlines() if line]
        found = [line for line in shown for words in DUMPS[type] if words in line]
        assert [words for words in DUMPS[type] if not any(words in line for line in found)] == []
        assert line.hear(1, seconds=0.05) == b""
        assert line.counters()["dram"] == 4096 + 2048


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--log-events", "--quiet"])
def test_a_dump_of_nothing_says_that_nothing_remains(option: str) -> None:
    with a_daemon(option) as daemon, daemon.line() as line:
        line.say(Message(Type.DUMP_REMAINING))
        text = daemon.text_with("No buffers remaining - perfect cleanup!")
    assert "Total tracked allocations: 0" in text


@pytest.mark.slow
def test_the_end_of_a_process_is_shown_in_the_same_words_by_a_quiet_server(client_of: ClientMaker) -> None:
    with a_daemon("--quiet") as daemon:
        client = client_of(daemon)
        _load_everything(client, 0)
        client.report(Type.ALLOC, device=1, size=3 << 20, id=7)
        client.settle()
        client.kill()

        text = daemon.text_with("kernels")
    assert f"PID {client.pid} is dead, removing its buffers..." in text
    assert f"   ✓ Removed 1 buffers (3 MB) from PID {client.pid}\n" in text
    assert f"   ✓ Removed 1 CBs (0.00390625 MB) from PID {client.pid}\n" in text
    assert f"   ✓ Removed 3 kernels (8.77734 MB) from PID {client.pid}\n" in text


def test_the_answer_to_a_dump_goes_to_its_asker(daemon: Daemon) -> None:
    with daemon.line() as line:
        line.say(kernel_load(1, FABRIC_BYTES, kind=1), alloc(0xABCD, 4096))
        line.counters()

        assert "0xabcd" in daemon.run("dump").stdout.lower()
        assert "fabric" in daemon.run("dump", "--kernels").stdout.lower()
        assert str(US) in daemon.run("dump").stdout
