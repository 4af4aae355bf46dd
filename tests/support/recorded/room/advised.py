"""Records a workload, asks the recording for advice, and opens the devices again with what it says:

    python -m tests.support.recorded.room.advised NAME ROUNDS

For each setting the workload is played with the advised size, which must do, and with one allocation step less, which
must not.
In a process of its own, since a journal never forgets a chip. Prints the settings that were tried.
"""

import os
import sys
from pathlib import Path

from ttmem import GraphTracker
from ttmem.collector import Collector
from ttmem.figures.room import RoomRun, advice_report
from ttmem.metal import MeshDevice
from ttmem.metal.chips import Chip
from ttmem.metal.chips import board as find_board
from ttmem.metal.workloads import WORKLOADS, Player
from ttmem.metal.workloads.catalogue import Workload
from ttmem.recording import Meta, Recording, RecordingWriter
from ttmem.sources import Places


def record(workload: Workload, round_count: int, directory: Path) -> Recording:
    collector = Collector(Places(uid=os.geteuid(), directory=str(directory)))
    writer = RecordingWriter(directory / "story.ttmem", collector.ledger, meta=Meta())
    with GraphTracker() as tracker:
        mesh = workload.open(tracker=tracker)
        collector.tick()
        refusal = played(workload, mesh, round_count, collector)
    assert not refusal, refusal
    collector.tick()
    writer.close()
    return Recording(directory / "story.ttmem")


def played(workload: Workload, mesh: MeshDevice, round_count: int, collector: Collector | None = None) -> str:
    """Why the runtime refused to go on, if it did."""
    player = Player(mesh)
    for number, _ in enumerate(player.play(workload.steps(mesh.chips[0]))):
        if collector is not None and number % 50 == 0:
            collector.tick()
        if player.round_count >= round_count:
            break
    if collector is not None:
        collector.wait_settled()
    mesh.close()
    return player.refusal


def reopened(workload: Workload, setting: str, size: int) -> MeshDevice:
    """The same devices with another size of one thing."""
    kind = find_board(workload.board)
    silicon = kind.architecture()
    chips = [
        kind.chip(
            index,
            silicon=silicon.with_worker_l1(size) if setting == "worker_l1_size" else silicon,
            l1_small_bytes=size if setting == "l1_small_size" else workload.l1_small_bytes,
            trace_region_bytes=size if setting == "trace_region_size" else workload.trace_region_bytes,
        )
        for index in range(workload.chip_count)
    ]
    return MeshDevice(chips, workload.shape, command_queue_count=workload.command_queue_count)


def step_of(setting: str, chip: Chip) -> int:
    """By which a setting changes anything."""
    if setting == "trace_region_size":
        return chip.architecture.trace_page_bytes_max * chip.dram_bank_count
    return chip.architecture.dram_alignment


def main(name: str, rounds: str) -> None:
    workload, round_count = WORKLOADS[name], int(rounds)
    recording = record(workload, round_count, Path(os.environ["TTMEM_DIR"]))
    tried = []
    for advice in advice_report(RoomRun(recording)).advice:
        if advice.setting == "kv_blocks" or not advice.needed:
            continue
        assert advice.certainty == "measured", advice
        mesh = reopened(workload, advice.setting, advice.needed)
        less = advice.needed - step_of(advice.setting, mesh.chips[0])
        assert played(workload, mesh, round_count) == "", advice
        assert played(workload, reopened(workload, advice.setting, less), round_count) != "", advice
        tried.append(advice.setting)
    print(*tried)


if __name__ == "__main__":
    main(*sys.argv[1:])
