"""Circular buffers against L1 buffers: the model refuses until everything that is named has gone, and then runs."""

import pytest

from tests.support.metal.operations import a_kernel
from tests.support.metal.refused_memory import KIB, NOW, PID, RefusingChip, site
from ttmem.analysis import Explanation, explain
from ttmem.devices import BufferType
from ttmem.metal import (
    Allocation,
    Buffer,
    BufferSpec,
    CircularBufferClash,
    CoreRanges,
    MeshDevice,
    MeshWorkload,
    Program,
    enqueue,
    open_device,
    open_mesh,
)
from ttmem.snapshot import TimeNs
from ttmem.snapshot.incidents import HeldEntry, Incident, IncidentCopy


class Clashing:
    """A device of the model with named buffers, and a program whose circular buffers are refused there."""

    def __init__(self, device: MeshDevice, program: Program, cores: str) -> None:
        self.device, self.program, self.cores = device, program, cores
        self.workload = MeshWorkload(program)
        self.buffers: dict[str, Buffer] = {}

    def hold(self, name: str, spec: BufferSpec) -> None:
        self.buffers[name] = self.device.create_buffer(spec)

    def is_refused(self) -> bool:
        try:
            enqueue(self.device, self.workload)
        except CircularBufferClash:
            return True
        return False

    def explained(self) -> Explanation:
        with pytest.raises(CircularBufferClash) as refused:
            enqueue(self.device, self.workload)
        clash = refused.value
        incident = Incident(
            number=2,
            kind="clash",
            memory="l1",
            time_ns=NOW,
            device_ids=("0x0000000000000001",),
            is_mesh=False,
            program=clash.program,
            operation="ttnn.matmul",
            cores=self.cores,
            cb_end_address=clash.region_end,
            lowest_buffer_address=clash.lowest_l1_address,
            space_begin_address=self.device.architecture.l1_unreserved_base,
            entry_count=len(self.buffers),
            launches_since=0,
            operations_since=3,
            text=str(clash),
        )
        entries = [
            entry for number, (name, buffer) in enumerate(self.buffers.items()) for entry in held(name, buffer, number)
        ]
        return explain(
            IncidentCopy(incident=incident, pid=PID, entries=tuple(entries), sequence_before=9, sequence_after=9)
        )


def held(name: str, buffer: Buffer, number: int) -> list[HeldEntry]:
    parts = buffer.core_parts[0] if buffer.core_parts else [None]
    return [
        HeldEntry(
            kind="buffer",
            memory="l1",
            id=name,
            address=buffer.address if part is None else part.address,
            reserved_bytes=buffer.reserved_bytes,
            requested_bytes=buffer.requested_bytes,
            per_bank_bytes=buffer.per_bank_bytes,
            cores=None if part is None else str(part.cores),
            is_per_core=part is not None,
            time_ns=TimeNs(NOW - 1000),
            sequence=number,
            site=site(f"model.py:{number} {name}"),
        )
        for part in parts
    ]


def a_matmul(cores: str, cb_bytes: int) -> Program:
    ranges = CoreRanges.parse(cores)
    program = Program()
    program.add_kernel(a_kernel(cores=ranges))
    program.add_circular_buffer(ranges, cb_bytes)
    return program


def lockstep(device: MeshDevice, core_bytes: int) -> BufferSpec:
    return BufferSpec(core_bytes * device.chips[0].l1_bank_count, core_bytes, BufferType.L1)


def on_cores(cores: str, core_bytes: int) -> BufferSpec:
    return RefusingChip(is_hybrid=True).on_cores(cores, core_bytes, Allocation.PER_CORE)


def expect_only_these_help(clashing: Clashing, names: list[str]) -> None:
    """Each of them is in the way until it goes; with the last of them the program runs."""
    for name in names:
        assert clashing.is_refused()
        clashing.buffers[name].deallocate()
    assert not clashing.is_refused()


def test_a_clash_by_one_page_names_the_lowest_buffer_and_the_missing_bytes() -> None:
    with open_device("n150") as device:
        base = device.architecture.l1_unreserved_base
        clashing = Clashing(device, a_matmul("0,0-7,7", 600 * KIB), "0,0-7,7")
        clashing.hold("weights", lockstep(device, 300 * KIB))
        rest = 1_499_136 - 300 * KIB - base - 600 * KIB + 2048  # one page of 2 KiB too much
        clashing.hold("hidden", lockstep(device, rest // 32 * 32))

        found = clashing.explained()

        assert found.clash is not None
        assert found.clash.end_address == base + 600 * KIB
        assert found.clash.missing_bytes == 2048
        assert [entry.id for entry in found.clash.in_the_way] == ["hidden"]
        assert found.floor is not None
        assert (found.floor.headroom_bytes, found.floor.entry and found.floor.entry.id) == (-2048, "hidden")
        [line] = found.lines
        assert [(stretch.use, stretch.size_bytes) for stretch in line.stretches] == [
            ("circular", 600 * KIB - 2048),
            ("clash", 2048),
            ("held", line.end_address - line.begin_address - 600 * KIB),
        ]
        expect_only_these_help(clashing, ["hidden"])


def test_a_leak_in_the_way_is_named_buffer_by_buffer() -> None:
    with open_device("n150") as device:
        clashing = Clashing(device, a_matmul("0,0-3,3", 700 * KIB), "0,0-3,3")
        for token in range(9):
            clashing.hold(f"hidden{token}", lockstep(device, 112 * KIB))

        found = clashing.explained()

        assert found.clash is not None
        names = [entry.id for entry in found.clash.in_the_way]
        assert names == ["hidden8", "hidden7", "hidden6", "hidden5"]  # lowest first
        assert found.clash.missing_bytes == found.clash.end_address - min(  # type: ignore[operator]
            clashing.buffers[name].address for name in names
        )
        expect_only_these_help(clashing, names)


def test_a_semaphore_of_four_bytes_pins_the_floor() -> None:
    with open_device("n150") as device:
        clashing = Clashing(device, a_matmul("0,0-7,7", 800 * KIB), "0,0-7,7")
        clashing.hold("large", lockstep(device, 700 * KIB))
        clashing.hold("semaphore", lockstep(device, 4))
        clashing.buffers.pop("large").deallocate()

        found = clashing.explained()

        assert found.clash is not None
        assert [entry.id for entry in found.clash.in_the_way] == ["semaphore"]
        assert found.floor is not None
        assert found.floor.entry is not None
        assert found.floor.entry.id == "semaphore"
        expect_only_these_help(clashing, ["semaphore"])


def test_on_two_cores_only_what_lies_there_is_in_the_way() -> None:
    with open_mesh("n150", (1, 1), is_hybrid=True) as device:
        clashing = Clashing(device, a_matmul("0,0-1,0", 900 * KIB), "0,0-1,0")
        clashing.hold("elsewhere", on_cores("5,5-5,5", 1000 * KIB))
        clashing.hold("first", on_cores("0,0-0,0", 600 * KIB))
        clashing.hold("second", on_cores("1,0-1,0", 700 * KIB))

        found = clashing.explained()

        assert found.clash is not None
        assert [entry.id for entry in found.clash.in_the_way] == ["second", "first"]
        assert found.clash.missing_bytes == found.clash.end_address - (1_499_136 - 700 * KIB)  # type: ignore[operator]
        expect_only_these_help(clashing, ["second", "first"])


def test_headroom_is_counted_on_the_cores_of_each_program() -> None:
    """A program on other cores than the low buffer has more room; the tightest decides."""
    chip = RefusingChip(is_hybrid=True)
    chip.hold("low", chip.on_cores("0,0-0,0", 900 * KIB), "moe.py:8 low")
    chip.hold("weights", chip.l1(300 * KIB), "model.py:12 load")

    def circular(program: int, cores: str, size_bytes: int) -> HeldEntry:
        return HeldEntry(
            kind="circular_buffer",
            memory="cb",
            id=str(program),
            address=105_824,
            reserved_bytes=size_bytes,
            requested_bytes=size_bytes,
            per_bank_bytes=size_bytes,
            program=program,
            cores=cores,
            time_ns=NOW,
            sequence=50 + program,
        )

    low = chip.held["low"].placement.core_addresses[0][0]
    weights = chip.held["weights"].placement.address
    asked = chip.refused(chip.l1(600 * KIB))
    extra = [circular(12, "1,0-7,7", 90 * KIB), circular(13, "0,0-0,0", 50 * KIB)]

    found = explain(chip.copy(asked.incident, extra))

    assert found.floor is not None
    ends = {12: 105_824 + 90 * KIB, 13: 105_824 + 50 * KIB}
    assert found.floor.headroom_bytes == min(weights - ends[12], min(low, weights) - ends[13])
    assert found.floor.highest is not None
    assert found.floor.refused == ()
    named = {holder.kind for holder in (*found.holders, *found.by_kind)}
    assert named == {"buffer"}  # circular buffers are not what the allocator hands out, and programs share them
