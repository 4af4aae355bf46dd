"""Courses and chips of the driver, made up, for tests of what is drawn of them."""

from typing import Any

from tests.support.simulated.overviews import SECOND_NS, an_overview
from ttmem.devices import Pool
from ttmem.snapshot import Snapshot, TimeNs
from ttmem.snapshot.history import History, Mark, Series
from ttmem.snapshot.telemetry import ChipTelemetry, Sensor
from ttmem.snapshot.values import replace

__all__ = ["a_busy_history", "a_telemetry", "some_chips"]


def a_busy_history(overview: Snapshot, seconds: int = 60) -> History:
    """Every pool of every chip in a saw of its own, a gap at the beginning, and something of all that can happen."""
    count, step = min(300, seconds), max(1, seconds // 300)
    series = tuple(
        Series(
            usage.device.number,
            usage.device.uuid,
            pool.pool,
            pool.capacity_bytes,
            tuple(None if at < 5 else pool.used_bytes * (at % (7 + usage.device.number)) // 9 for at in range(count)),
        )
        for usage in overview.devices
        for pool in usage.pools
    )
    end_ns = overview.time_ns

    def before(tenths: int) -> TimeNs:
        return TimeNs(end_ns - seconds * SECOND_NS * tenths // 10)

    marks = (
        Mark(before(9), "process_began", "llama-70b", 4001),
        Mark(before(8), "phase_began", "prefill", 4001),
        Mark(before(5), "phase_ended", "prefill", 4001),
        Mark(before(4), "phase_began", "décode", 4001),
        Mark(before(3), "out_of_memory", "llama-70b", 4001, 0, Pool.L1, 64 << 20),
        Mark(before(2), "clash", "résnet", 4002, 0, Pool.CB),
        Mark(before(1), "process_ended", "résnet", 4002),
    )
    return History(end_ns=end_ns, interval_ns=TimeNs(step * SECOND_NS), series=series, marks=marks)


def a_telemetry(node: int = 0, **changes: Any) -> ChipTelemetry:
    """A card of which the driver tells everything."""
    chip = ChipTelemetry(
        node=node,
        pci_bus_id=f"0000:{node + 1:02x}:00.0",
        card_type="p150a",
        serial=f"{0x100_0403_3191_4100 + node:016X}",
        asic_id=an_overview(node + 1).devices[node].device.unique_id,
        firmware="19.6.0.0",
        arch="blackhole",
        temperature=Sensor(40.0 + node, 75.0),
        power=Sensor(30.0 + node, 150.0),
        current=Sensor(41.0, 240.0),
        voltage=Sensor(0.72, 0.9),
        fan=Sensor(1870.0),
        aiclk_mhz=1350,
        axiclk_mhz=900,
        arcclk_mhz=800,
        heartbeat=1000 + node,
        thermal_trip_count=0,
        pids=(4001, 5000 + node),
        commands=("python serve.py", "tt-smi"),
    )
    return replace(chip, **changes)


def some_chips(count: int) -> tuple[ChipTelemetry, ...]:
    return tuple(a_telemetry(node) for node in range(count))
