"""What the kernel's driver says of a chip that no process opens: sensors, clocks, names, and who has it open.

None is what the driver does not have; it is never 0.
"""

from ttmem.snapshot.values import Answer, Count, Hex, Number, Struct, TimeNs

__all__ = ["ChipTelemetry", "Sensor", "Telemetry"]


class Sensor(Struct, frozen=True):
    """One reading of hwmon, in its base unit: degrees Celsius, volts, amperes, watts, turns per minute."""

    value: float
    limit: float | None = None
    label: str = ""


class ChipTelemetry(Struct, frozen=True):
    """One chip of the driver."""

    node: Count  # N of /dev/tenstorrent/N
    pci_bus_id: str | None
    card_type: str | None
    serial: str | None
    asic_id: Hex | None  # what the driver calls the chip; not always the unique id by which the runtime knows it
    firmware: str | None
    arch: str | None
    temperature: Sensor | None = None
    power: Sensor | None = None
    current: Sensor | None = None
    voltage: Sensor | None = None
    fan: Sensor | None = None
    aiclk_mhz: Number | None = None
    axiclk_mhz: Number | None = None
    arcclk_mhz: Number | None = None
    heartbeat: Number | None = None
    heartbeat_still_seconds: Count | None = None  # for how long it has stood still; None while it moves, or if unknown
    thermal_trip_count: Number | None = None
    pids: tuple[Count, ...] | None = None  # who has it open, but for ourselves; None if the driver does not say
    commands: tuple[str, ...] = ()  # of those, in their order; empty texts where that may not be seen
    notes: tuple[str, ...] = ()  # what the driver said that makes no sense

    @property
    def dev_node(self) -> str:
        return f"/dev/tenstorrent/{self.node}"


class Telemetry(Answer, frozen=True, kw_only=True):
    """What the driver says of all its chips; beside the figures of memory, joined by a chip's id."""

    time_ns: TimeNs
    chips: tuple[ChipTelemetry, ...]
