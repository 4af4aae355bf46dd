"""What a driver could tell of the chips of the made-up snapshots, as if it had been read."""

from typing import Any

from ttmem.snapshot.telemetry import ChipTelemetry, Sensor

__all__ = ["a_driver_chip", "some_driver_chips"]


def a_driver_chip(node: int = 0, **changes: Any) -> ChipTelemetry:
    """Chip 0 of the made-up snapshots, or the ones after it."""
    told: dict[str, Any] = {
        "node": node,
        "pci_bus_id": f"0000:{node + 1:02x}:00.0",
        "card_type": "n300",
        "serial": f"010001451170306{node}",
        "asic_id": 0x0100_0145_1170_3060 + node,
        "firmware": "19.6.0.0",
        "arch": "wormhole",
        "temperature": Sensor(48.25, 75.0, "asic1_temp"),
        "power": Sensor(30.0, 85.0, "power1"),
        "current": Sensor(41.0, 160.0, "current1"),
        "voltage": Sensor(0.85, 0.95, "vcore1"),
        "fan": None,
        "aiclk_mhz": 1000,
        "axiclk_mhz": 900,
        "arcclk_mhz": 540,
        "heartbeat": 1234,
        "thermal_trip_count": None,
        "pids": (4001, 4002),
    }
    return ChipTelemetry(**{**told, **changes})


def some_driver_chips() -> tuple[ChipTelemetry, ...]:
    """Of a card with two chips the one on the bus, and a chip nobody speaks of."""
    return (a_driver_chip(0), a_driver_chip(7, card_type="p150a", arch="blackhole", pids=(), fan=Sensor(1870.0)))
