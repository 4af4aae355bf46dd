"""The overview of real processes: sums over their chips; one process close up lists the largest and oldest."""

from pathlib import Path
from typing import Any

from tests.support.journals.reporters import CHIP_FACTS, Nursery, Reporter, attach
from tests.support.processes.programs import a_program
from tests.support.server.server_bytes import alloc, kernel_load
from tests.support.server.server_serving import an_engine
from tests.support.simulated.whole_rows import check_overview
from tests.support.timing.waiting import wait_until
from ttmem._native import Ledger, testing
from ttmem.devices import Pool
from ttmem.snapshot import ProcessUsage, Snapshot

CORES = "0,0-7,7"
DRAM, L1, CB, PROGRAM, FABRIC = 0, 1, 2, 3, 6


def a_busy_process(nursery: Nursery, directory: Path, chips: range) -> Reporter:
    """On several chips and two meshes: buffers, circular buffers, kernels, programs, a ring, a cache, refusals."""
    reporter = nursery.start(directory)
    targets = reporter.do(*[("open_device", 0x50 + chip, chip, *CHIP_FACTS[1:]) for chip in chips])
    mesh, half = reporter.do(("open_mesh", 1, 1, len(targets), targets), ("open_mesh", 2, 1, 2, targets[:2]))
    cores, phase = reporter.do(("intern", CORES), ("intern", "decode"))
    [number] = reporter.do(("begin_phase", phase))
    reporter.do(
        *[("report_buffer_alloc", mesh, id, 4096 * id, 4000 * id, 0x1000 * id, 64, id % 2) for id in range(1, 7)],
        ("report_buffer_alloc", half, 70, 1 << 20),
        ("report_buffer_alloc", targets[0], 80, 512),
        ("report_buffer_free", mesh, 3),
        ("report_cb_alloc", half, 1, 0x100, 2048, 64, 0, PROGRAM, 2, 0, cores),
        ("report_cb_alloc", half, 2, 0x100, 1024, 64, 0, PROGRAM + 1, 2, 0, cores),
        ("report_kernel_load", mesh, 5, FABRIC, 57_344, 16),
        ("report_binary_status", mesh, PROGRAM, 2, 9000),
        ("report_launch", mesh, PROGRAM),
        ("report_ring", half, 1, 4096, 512, 2, 1, 70_656),
        ("report_cache", targets[0], 0, 1, 4096, 1, 4096),
        ("report_out_of_memory", half, 2, 4096, 1024, 512),
        ("report_clash", targets[1], PROGRAM, 0x9000, 0x8000),
        ("end_phase", number),
        ("report_buffer_free", mesh, 999),
    )
    return reporter


def row_of(overview: Snapshot, pid: int) -> ProcessUsage:
    [row] = [row for row in overview.processes if row.pid == pid]
    return row


def test_it_agrees_for_processes_on_shared_chips_and_several_meshes(nursery: Nursery, journals: Path) -> None:
    one, other = a_busy_process(nursery, journals, range(4)), a_busy_process(nursery, journals, range(2, 6))
    early, late = Ledger(), Ledger()
    for reporter in (one, other):
        reporter.attach_to(early)
    early.drain()
    check_overview(early)
    one.do(("report_buffer_alloc", 1, 90, 77))
    other.attach_to(late)
    one.attach_to(late)
    for ledger in (early, late):
        _settle(ledger)
        overview = check_overview(ledger)
        assert (row_of(overview, one.pid).launch_count, row_of(overview, one.pid).finding_count) == (4, 1)
        assert row_of(overview, other.pid).chips == tuple(
            usage.device.number for usage in overview.devices if usage.device.index in range(2, 6)
        )
        assert row_of(overview, one.pid).cb_planned_bytes == 2 * 64 * 2048
    early.reset_peaks()
    check_overview(early)
    one.kill()
    wait_until(lambda: early.drain() == 0 and _is_dead(early, one.pid))


def test_it_agrees_for_one_who_reports_twice_and_for_one_on_the_socket_alone(journals: Path) -> None:
    with an_engine() as engine:
        said = alloc(1, 9999).to_bytes().hex()
        lines = (
            "import socket; line = socket.socket(socket.AF_UNIX)",
            f"line.connect({str(engine.path)!r}); line.sendall(bytes.fromhex({said!r}))",
            "line.sendall(bytes.fromhex('03' + '00' * 143)); line.recv(144)",
            "chip = ttmem.open_device(0x77, index=0)",
            "ttmem.report_buffer_alloc(chip, 1, 4096)",
            "meet()",
        )
        with a_program(journals, *lines) as program, engine.line() as line:
            line.say(alloc(1, 64, device=3), kernel_load(2, 128, device=3))
            line.counters()
            program.arrive()
            [journal] = journals.glob("*.journal")
            attach(engine.ledger, str(journal))
            _settle(engine.ledger)
            overview = check_overview(engine.ledger)
            assert row_of(overview, program.pid).used_bytes(Pool.DRAM) == 4096
            assert [usage.device.name for usage in overview.devices] == ["", "server:3"]
            again = Ledger()
            bytes_kept = engine.ledger.checkpoint()
            assert bytes_kept
            again.restore(bytes_kept)
            assert {row.state for row in check_overview(again).processes} == {"stale"}
        wait_until(lambda: engine.ledger.drain() == 0 and _is_dead(engine.ledger, program.pid))


def _doubts(ledger: Ledger) -> list[Any]:
    return [row["reason"] for row in testing.flat_rows(ledger)["processes"] if row["reason"]]


def _is_dead(ledger: Ledger, pid: int) -> bool:
    return row_of(check_overview(ledger), pid).state == "ended"


def _settle(ledger: Ledger) -> None:
    wait_until(lambda: ledger.drain() == 0 and not _doubts(ledger))


def test_a_close_up_lists_the_largest_the_oldest_and_the_sums_of_sites(nursery: Nursery, journals: Path) -> None:
    reporter = nursery.start(journals)
    chips = reporter.do(*[("open_device", 0x60 + chip, *CHIP_FACTS) for chip in range(3)])
    stacks = [f"model.py:{at // 2} f\nrun.py:1 g\nmain.py:{at} h" for at in range(6)]  # two of each line and its caller
    mesh, *sites = reporter.do(("open_mesh", 1, 1, 3, chips), *[("intern", stack) for stack in stacks])
    sizes = [(id * 37) % 101 * 64 for id in range(1, 200)]
    reporter.do(
        *[
            ("report_buffer_alloc", mesh if id % 3 else chips[0], id, size, 0, 0, 0, 0, sites[id % 6] if id % 5 else 0)
            for id, size in enumerate(sizes, start=1)
        ]
    )
    ledger = Ledger()
    key = reporter.attach_to(ledger)
    _settle(ledger)

    rows = ledger.process(reporter.pid, 0, 10)

    by_size = sorted(ledger.allocations(key), key=lambda row: (-row[5], row[13]))
    assert [row[2] for row in rows["largest"]] == [row[2] for row in by_size[:10]]
    assert [row[2] for row in rows["oldest"]] == list(range(1, 11))
    assert {text: (size, count) for text, size, count in rows["sites"]} == _site_sums(by_size)
    assert (rows["site_count"], len(ledger.process(reporter.pid, key, 2)["sites"])) == (3, 2)
    assert ledger.process(reporter.pid + 1, 0, 10) == {}


def _site_sums(rows: list[Any]) -> dict[str, tuple[int, int]]:
    sums: dict[str, tuple[int, int]] = {}
    for row in rows:
        if row[-2]:
            line = "\n".join(row[-2].split("\n")[:2])
            size, count = sums.get(line, (0, 0))
            sums[line] = size + row[5] * len(row[0]), count + 1
    return sums
