"""One region of the stock runtime's counters, decoded: every figure as it stands there, not judged.

Bytes that are no region are a `RegionDamaged`, whose words say what was expected, what was found and what to do.
"""

from typing import Any, NamedTuple

from ttmem.errors import RegionDamaged
from ttmem.sources.stock_shm.layouts import (
    CHIPS,
    HEAD,
    LAYOUTS,
    POOL_WORDS,
    PROCESSES,
    READY,
    RegionLayout,
    compiled,
    compiled_first,
)

__all__ = ["ChipSlot", "CounterRegion", "CounterSums", "ProcessSlot", "decode_region", "region_version"]

_HEAD = compiled(HEAD)
_CHIP = compiled(CHIPS.parts, CHIPS.stride_bytes)
_PROCESS = compiled(PROCESSES.parts, PROCESSES.stride_bytes)
# What distinguishes used slots from free ones, of all slots at once: most are free.
_CHIP_IDS, _PIDS = compiled_first(CHIPS), compiled_first(PROCESSES)
_SUM_MOST = 1 << 50  # beyond what any chip has
_INIT_STATES = {0: "new", 1: "busy", READY: "ready"}


class CounterSums(NamedTuple):
    """Bytes by pool, in the order of POOL_WORDS."""

    dram: int = 0
    l1: int = 0
    l1_small: int = 0
    trace: int = 0
    cb: int = 0

    def less(self, other: "CounterSums") -> "CounterSums":
        """What is left; never below zero."""
        return CounterSums(*(max(0, mine - theirs) for mine, theirs in zip(self, other, strict=True)))

    def plus(self, other: "CounterSums") -> "CounterSums":
        return CounterSums(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def least(self, other: "CounterSums") -> "CounterSums":
        """At least as much as another, pool by pool."""
        return CounterSums(*map(max, self, other))


class ChipSlot(NamedTuple):
    slot: int
    chip_id: int
    is_remote: bool
    sums: CounterSums


class ProcessSlot(NamedTuple):
    slot: int
    pid: int  # in the pid namespace of the process itself
    name: str
    sums: CounterSums
    last_update_ns: int


class CounterRegion(NamedTuple):
    """All of it."""

    layout: RegionLayout
    size_bytes: int
    active_process_count: int
    last_update_ns: int
    reference_count: int
    board_serial: int
    asic_id: int
    device_id: int
    totals: CounterSums
    chips: tuple[ChipSlot, ...]
    processes: tuple[ProcessSlot, ...]
    init_state: int | None = None  # layout 4 only

    @property
    def is_ready(self) -> bool:
        """False while its maker is still filling it in."""
        return self.init_state is None or self.init_state == READY

    @property
    def init_word(self) -> str:
        return "" if self.init_state is None else _INIT_STATES.get(self.init_state, f"0x{self.init_state:x}")

    @property
    def unnamed_count(self) -> int:
        """Processes that are, or were, attached and have no slot: nothing of theirs was ever counted."""
        return max(0, self.reference_count - len(self.processes))


def region_version(head: bytes) -> int:
    """What the first word says; 0 if there is none."""
    return int.from_bytes(head[:4], "little") if len(head) >= 4 else 0


def decode_region(data: bytes) -> CounterRegion:
    """The region that these bytes are."""
    layout = _layout_of(data)
    head = _named(HEAD, _HEAD.unpack_from(data))
    tail = _named(layout.tail, compiled(layout.tail).unpack_from(data))
    return CounterRegion(
        layout=layout,
        size_bytes=len(data),
        active_process_count=head["active_processes"],
        last_update_ns=head["last_update_ns"],
        reference_count=head["references"],
        board_serial=head["board_serial"],
        asic_id=head["asic_id"],
        device_id=head["device_id"],
        totals=_sums(head),
        chips=_chips(data, layout),
        processes=_checked(_processes(data), _sums(head)),
        init_state=tail.get("init_state"),
    )


def _layout_of(data: bytes) -> RegionLayout:
    version = region_version(data)
    layout = LAYOUTS.get(version)
    if layout is None:
        known = f"{min(LAYOUTS)} to {max(LAYOUTS)}"
        found = f"{len(data)} bytes" if len(data) < 4 else f"version {version}"
        is_newer = version > max(LAYOUTS)
        advice = "a newer runtime needs a newer ttmem" if is_newer else "the runtime makes a new one if it is removed"
        raise RegionDamaged(
            "not a region of the runtime's counters: "
            f"expected version {known} in its first word, found {found}; {advice}"
        )
    if len(data) not in layout.sizes_bytes:
        sizes = " or ".join(f"{size:,}" for size in layout.sizes_bytes)
        found = f"{len(data):,}" if len(data) <= max(layout.sizes_bytes) else "more"  # the rest is not read
        raise RegionDamaged(
            f"a region of layout {version} has {sizes} bytes, this one has {found}; "
            "remove the file when no program runs, the runtime makes a new one"
        )
    return layout


def _checked(processes: tuple[ProcessSlot, ...], totals: CounterSums) -> tuple[ProcessSlot, ...]:
    """Refuses sums that no chip could hold."""
    most = max(max(sums) for sums in (totals, *(process.sums for process in processes)))
    if most > _SUM_MOST:
        raise RegionDamaged(
            f"a region of the runtime's counters with a sum of {most:,} bytes, more than any chip has; "
            "remove the file when no program runs, the runtime makes a new one"
        )
    return processes


def _chips(data: bytes, layout: RegionLayout) -> tuple[ChipSlot, ...]:
    ids = _CHIP_IDS.unpack_from(data, CHIPS.offset_bytes)
    used = (slot for slot, chip_id in enumerate(ids) if chip_id != layout.free_chip)
    rows = ((slot, _CHIP.unpack_from(data, CHIPS.slot_offset_bytes(slot))) for slot in used)
    return tuple(
        ChipSlot(slot, chip_id, bool(is_remote), CounterSums(*sums)) for slot, (chip_id, is_remote, *sums) in rows
    )


def _processes(data: bytes) -> tuple[ProcessSlot, ...]:
    pids = _PIDS.unpack_from(data, PROCESSES.offset_bytes)
    used = (slot for slot, pid in enumerate(pids) if pid > 0)  # 0: free; -1 in layout 4: being given back
    rows = ((slot, _PROCESS.unpack_from(data, PROCESSES.slot_offset_bytes(slot))) for slot in used)
    return tuple(
        ProcessSlot(slot, pid, _text(name), CounterSums(*sums), last_update_ns)
        for slot, (pid, *sums, last_update_ns, name) in rows
    )


def _text(name: bytes) -> str:
    return name.split(b"\0", 1)[0].decode(errors="replace")


def _named(parts: tuple[Any, ...], values: tuple[Any, ...]) -> dict[str, Any]:
    return {part.name: value for part, value in zip(parts, values, strict=True)}


def _sums(values: dict[str, Any]) -> CounterSums:
    return CounterSums(*(values[word] for word in POOL_WORDS))
