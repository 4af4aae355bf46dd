"""Figures as the stock runtime's counters give them, made up: for tests of what follows from them."""

from typing import Any

from tests.support.simulated.figures import MIB, NOON_NS, a_device, a_process, a_snapshot
from ttmem.collector.runtime_counters import RuntimeCounters
from ttmem.devices import Pool
from ttmem.snapshot import Finding, Foreign, ReadChip, Readings, ReadProcess, Snapshot

CHIP = 0x0100_0145_1170_3060  # the first of `a_device`
SECOND_NS = 1_000_000_000
QUIET = NOON_NS + SECOND_NS  # long after the last event of `a_process`
EMPTY = dict.fromkeys((Pool.DRAM, Pool.L1, Pool.L1_SMALL, Pool.TRACE, Pool.CB), 0)


def a_reading(pid: int, *, last_update_ns: int | None = NOON_NS, **sizes: int) -> ReadProcess:
    used = {**EMPTY, **{Pool[name.upper()]: size for name, size in sizes.items()}}
    return ReadProcess(
        pid=pid,
        uid=1001,
        command=f"python plain_{pid}.py",
        container=None,
        start_time_ns=NOON_NS - 60 * SECOND_NS,
        last_update_ns=last_update_ns,
        used=used,
    )


def a_chip(*processes: ReadProcess, unique_id: int | None = CHIP, beyond: int = 0, stale: int = 0) -> ReadChip:
    """A chip with these processes; `beyond`: DRAM that none of them accounts for."""
    used = {pool: sum(process.used[pool] for process in processes) for pool in EMPTY}
    return ReadChip(
        unique_id=unique_id,
        name=f"tt_device_{unique_id}",
        device_index=2,
        path=f"/dev/shm/tt_device_{unique_id}_memory",
        used={**used, Pool.DRAM: used[Pool.DRAM] + beyond},
        stale={**EMPTY, Pool.DRAM: stale},
        processes=processes,
    )


def readings_of(*chips: ReadChip, time_ns: int = QUIET, **more: Any) -> Readings:
    return Readings(time_ns=time_ns, places=("/dev/shm",), chips=chips, **more)


class Canned:
    """A reader that has read already."""

    def read(self) -> Readings:
        return Readings()


def a_read_snapshot() -> Snapshot:
    """Two programs that do not report, one of them unknown, beside one that does and allocates on two threads."""
    counted = a_snapshot(
        devices=[a_device(0)],
        processes=[a_process(1)],
        device_pools=[(0, 0, 9 * MIB, 8 * MIB, 4, 9 * MIB, NOON_NS, NOON_NS, False)],
        process_pools=[(1, 0, 0, 9 * MIB, 8 * MIB, 4, 9 * MIB, NOON_NS, False)],
        launches=[(1, 0, 12)],
    )
    chips = (
        a_chip(a_reading(4001, dram=6 * MIB), a_reading(77, dram=2 * MIB, l1=512, cb=786_432)),
        a_chip(a_reading(77, dram=2 * MIB, l1=4096, cb=786_432), unique_id=CHIP + 1, beyond=100, stale=MIB),
        a_chip(a_reading(78, last_update_ns=None), unique_id=CHIP + 2),
    )
    path = "/dev/shm/tt_device_6_memory"
    readings = readings_of(
        *chips,
        foreign=(Foreign(path, 1002, "1002", "counters"), Foreign(path.replace("6", "7"), 1002, "1002", "counters")),
        findings=(Finding("region_ignored", 1, path="/dev/shm/tt_device_5_memory", text="is a link; ignored"),),
    )
    return RuntimeCounters(Canned(), user_of=str).joined(counted, readings)
