"""The Python client, in real processes: what it reports is what a collector then sees."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes.programs import PRELUDE, a_program, tracked
from ttmem.collector import Collector
from ttmem.devices import Pool
from ttmem.snapshot import ProcessUsage, Snapshot
from ttmem.sources import Places


def output_of(environ: dict[str, str], *lines: str) -> str:
    """What a program prints."""
    command = [sys.executable, "-c", PRELUDE + "\n".join(lines)]
    return subprocess.run(command, env=environ, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def journals(tmp_path: Path) -> Path:
    return tmp_path


def snapshot_of(directory: Path) -> Snapshot:
    with Collector(Places(uid=os.geteuid(), directory=str(directory))) as collector:
        assert collector.wait_settled(5)
        return collector.snapshot()


def seen_in(directory: Path) -> list[ProcessUsage]:
    return list(snapshot_of(directory).processes)


def used(process: ProcessUsage) -> dict[tuple[int | None, str], int]:
    return {(held.device.index, usage.pool.word): usage.used_bytes for held in process.devices for usage in held.pools}


def test_importing_makes_no_journal_and_loads_no_command_line(journals: Path) -> None:
    said = output_of(tracked(journals), "print('click' in sys.modules, ttmem.Client.__name__)")

    assert said == "False Client\n"
    assert list(journals.iterdir()) == []


def test_nothing_happens_while_tracking_is_off(journals: Path) -> None:
    environ = {**tracked(journals), "TTMEM": "0"}
    said = output_of(
        environ,
        "with ttmem.Client(label='x') as client, ttmem.phase('p'):",
        "    chip = client.open_device(5)",
        "    handle = client.report_buffer_alloc(chip, 1, 4096)",
        "    client.report_free(handle)",
        "    ttmem.report_launch(chip, 1)",
        "    print(chip, handle, ttmem.is_enabled())",
    )

    assert said == "0 0 False\n"
    assert list(journals.iterdir()) == []


@pytest.mark.parametrize("switch", ["TTMEM", "TT_ALLOC_TRACKING_ENABLED"])
def test_either_switch_of_the_environment_turns_tracking_on(journals: Path, switch: str) -> None:
    environ = {**tracked(journals), "TTMEM": "", switch: "1"}

    said = output_of(environ, "print(ttmem.open_device(5) > 0, ttmem.is_enabled())")

    assert said == "True True\n"
    assert len(list(journals.iterdir())) == 1


def test_what_a_client_reports_is_what_is_seen(journals: Path) -> None:
    with a_program(
        journals,
        "from ttmem.devices import Arch, BufferType, Kind",
        "client = ttmem.Client(label='a job')",
        "chip = client.open_device(5, index=2, arch=Arch.BLACKHOLE, board='n300', capacities={0: 1 << 30})",
        "handle = client.report_buffer_alloc(chip, 1, 4096, 4000)",
        "client.report_buffer_alloc(chip, 2, 512, 0, 0, 0, BufferType.L1)",
        "client.report_cb_alloc(chip, 3, 0, 128, 4)",
        "client.report_kernel_load(chip, 4, Kind.KERNEL_APPLICATION, 100, 8, 900)",
        "client.report_launch(chip, 9)",
        "client.report_free(client.report_buffer_alloc(chip, 5, 1 << 20))",
        "meet()",
    ) as program:
        program.arrive()
        snapshot = snapshot_of(journals)

    [process], [chip] = snapshot.processes, snapshot.devices
    assert (process.pid, process.label, process.state) == (program.pid, "a job", "live")
    assert used(process) == {(2, "dram"): 4096, (2, "l1"): 512, (2, "cb"): 512, (2, "kernel"): 900}
    [held] = process.devices
    assert (held.launch_count, held.device, chip.device.capacity(Pool.DRAM)) == (1, chip.device.as_name(), 1 << 30)
    assert (chip.device.arch, chip.device.board) == ("blackhole", "n300")
    assert held.pools[0].peak_bytes == 4096 + (1 << 20)


def test_module_functions_report_like_a_client(journals: Path) -> None:
    with a_program(
        journals,
        "chip = ttmem.open_device(5, index=0)",
        "ttmem.label('plain')",
        "ttmem.report_buffer_alloc(chip, 1, 4096)",
        "meet()",
    ) as program:
        program.arrive()
        [process] = seen_in(journals)

    assert (process.label, used(process)) == ("plain", {(0, "dram"): 4096})


def test_a_mesh_is_one_target_for_all_its_chips(journals: Path) -> None:
    with a_program(
        journals,
        "client = ttmem.Client()",
        "chips = [client.open_device(5 + index, index=index) for index in range(4)]",
        "mesh = client.open_mesh(chips, rows=2, columns=2)",
        "assert mesh and client.open_mesh(chips, 2, 2) == mesh and client.open_mesh(chips) != mesh",
        "client.report_buffer_alloc(mesh, 1, 4096)",
        "meet()",
    ) as program:
        program.arrive()
        [process] = seen_in(journals)

    assert used(process) == {(index, "dram"): 4096 for index in range(4)}
    assert sorted((mesh.rows, mesh.columns) for mesh in process.meshes) == [(1, 4), (2, 2)]


def test_leaving_a_client_gives_back_what_its_targets_hold(journals: Path) -> None:
    with a_program(
        journals,
        "with ttmem.Client() as client:",
        "    chip = client.open_device(5, index=0)",
        "    client.report_buffer_alloc(chip, 1, 4096)",
        "meet()",
    ) as program:
        program.arrive()
        [process] = seen_in(journals)

    assert used(process) == {(0, "dram"): 0}
    assert process.findings == ()


def test_a_client_turned_on_in_code_turns_off_again(journals: Path) -> None:
    said = output_of(
        {**os.environ, "TTMEM": "0"},
        f"with ttmem.Client(enabled=True, directory={str(journals)!r}) as client:",
        "    print(ttmem.is_enabled(), client.open_device(5) > 0)",
        "print(ttmem.is_enabled(), ttmem.open_device(6))",
    )

    assert said == "True True\nFalse 0\n"
    assert len(list(journals.iterdir())) == 1


def test_a_client_can_say_where_the_journal_goes(journals: Path) -> None:
    elsewhere = journals / "elsewhere"
    elsewhere.mkdir(mode=0o700)

    output_of(tracked(journals), f"ttmem.Client(directory={str(elsewhere)!r}).open_device(5)")

    assert len(list(elsewhere.iterdir())) == 1
    assert [path.name for path in journals.iterdir()] == ["elsewhere"]


def test_phases_keep_their_peaks_as_blocks_and_as_decorators(journals: Path) -> None:
    with a_program(
        journals,
        "import asyncio",
        "chip = ttmem.open_device(5, index=0)",
        "@ttmem.phase('called')",
        "def called(size):",
        "    ttmem.report_free(ttmem.report_buffer_alloc(chip, 1, size))",
        "    return size",
        "@ttmem.phase('awaited')",
        "async def awaited(size):",
        "    await asyncio.sleep(0)",
        "    ttmem.report_free(ttmem.report_buffer_alloc(chip, 1, size))",
        "    return size",
        "with ttmem.phase('outer'):",
        "    assert called(1000) == 1000 and called(3000) == 3000",
        "    assert asyncio.run(awaited(2000)) == 2000",
        "meet()",
    ) as program:
        program.arrive()
        [process] = seen_in(journals)

    peaks = {phase.name: (phase.peak_bytes, phase.run_count) for phase in process.phases}
    assert peaks == {"called": (3000, 2), "awaited": (2000, 1), "outer": (3000, 1)}


def test_a_phase_ends_when_its_block_raises(journals: Path) -> None:
    with a_program(
        journals,
        "chip = ttmem.open_device(5, index=0)",
        "try:",
        "    with ttmem.phase('broken'):",
        "        ttmem.report_buffer_alloc(chip, 1, 1000)",
        "        raise KeyError",
        "except KeyError:",
        "    meet()",
    ) as program:
        program.arrive()
        [process] = seen_in(journals)

    assert [(phase.name, phase.run_count) for phase in process.phases] == [("broken", 1)]


def test_the_label_of_the_environment_names_the_process(journals: Path) -> None:
    with a_program(journals, "ttmem.open_device(5)", "meet()", TTMEM_LABEL="from outside") as program:
        program.arrive()
        [process] = seen_in(journals)

    assert process.label == "from outside"


@pytest.mark.parametrize("size", ["-1", "2**63 - 1", "-2**63"])
def test_a_size_no_device_has_is_a_finding_and_harms_no_sum(journals: Path, size: str) -> None:
    with a_program(
        journals,
        "chip = ttmem.open_device(5, index=0)",
        "ttmem.report_buffer_alloc(chip, 1, 4096)",
        f"handle = ttmem.report_buffer_alloc(chip, 2, {size})",
        "ttmem.report_free(handle)",
        "meet()",
    ) as program:
        program.arrive()
        [process] = seen_in(journals)

    assert used(process) == {(0, "dram"): 4096}
    assert [finding.name for finding in process.findings] == ["clamped"]


def test_without_a_writable_directory_the_program_runs_on_with_one_warning(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    environ = {**os.environ, "TTMEM": "1", "TTMEM_DIR": str(tmp_path / "file")}
    lines = ["chip = ttmem.open_device(5)", "ttmem.report_buffer_alloc(chip, 1, 4096)", "print('done', chip)"]
    command = [sys.executable, "-c", PRELUDE + "\n".join(lines)]

    result = subprocess.run(command, env=environ, check=True, capture_output=True, text=True)

    assert result.stdout == "done 0\n"
    assert len(result.stderr.splitlines()) == 1
    assert "untracked" in result.stderr
