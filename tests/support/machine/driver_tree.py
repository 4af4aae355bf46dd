"""Trees as the kernel's driver lays them out in sysfs and procfs, written from its own names, for chips nobody has."""

import os
import shutil
from pathlib import Path

__all__ = ["DriverTree"]

_SENSORS: dict[str, dict[str, tuple[str, int, int | None]]] = {
    "blackhole": {
        "temp1": ("asic_temp", 48_250, 75_000),
        "in0": ("vcore", 720, 900),
        "curr1": ("current", 41_000, 240_000),
        "power1": ("power", 30_000_000, 150_000_000),
        "fan1": ("fan_rpm", 1_870, None),
    },
    "wormhole": {
        "temp1": ("asic1_temp", 52_500, 75_000),
        "in0": ("vcore1", 850, 950),
        "curr1": ("current1", 62_000, 160_000),
        "power1": ("power1", 53_000_000, 85_000_000),
    },
}
_CARDS = {"blackhole": "p150a", "wormhole": "n150"}


class DriverTree:
    """Below `root`: sys/class/tenstorrent, sys/devices with hwmon, sys/class/hwmon, proc/driver/tenstorrent."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.classes = root / "sys/class/tenstorrent"

    @property
    def environ(self) -> dict[str, str]:
        return {"TTMEM_SYSFS_ROOT": str(self.root)}

    def chip(self, node: int, arch: str = "blackhole", /, **attributes: str | None) -> Path:
        """Adds a chip; attributes by their names without tt_, None to leave one out. Returns its directory."""
        bus_id = f"0000:{node + 1:02x}:00.0"
        device = self.root / "sys/devices/pci0000:00" / bus_id
        directory = device / "tenstorrent" / f"tenstorrent!{node}"
        given: dict[str, str | None] = {
            "aiclk": "1350",
            "axiclk": "900",
            "arcclk": "800",
            "serial": f"{0x100_0403_3191_4100 + node:016X}",
            "card_type": _CARDS[arch],
            "asic_id": f"{0xA1B2_C3D4_0000_0000 + node:016X}",
            "heartbeat": str(1_000 + node),
            "fw_bundle_ver": "19.6.0.0",
            "therm_trip_count": "0" if arch == "blackhole" else None,
            **attributes,
        }
        for name, value in given.items():
            if value is not None:
                _write(directory / f"tt_{name}", value)
        os.symlink(device, directory / "device")
        self._hwmon(device, node, arch)
        self.classes.mkdir(parents=True, exist_ok=True)
        os.symlink(directory, self.classes / f"tenstorrent!{node}")
        return directory

    def _hwmon(self, device: Path, node: int, arch: str) -> None:
        directory = device / "hwmon" / f"hwmon{node + 3}"
        _write(directory / "name", arch)
        for stem, (label, value, limit) in _SENSORS[arch].items():
            _write(directory / f"{stem}_label", label)
            _write(directory / f"{stem}_input", str(value + node))
            if limit is not None:
                _write(directory / f"{stem}_max", str(limit))
        os.symlink(device, directory / "device")
        link = self.root / "sys/class/hwmon" / directory.name
        link.parent.mkdir(parents=True, exist_ok=True)
        os.symlink(directory, link)

    def hwmon(self, node: int) -> Path:
        return self.classes / f"tenstorrent!{node}" / "device" / "hwmon" / f"hwmon{node + 3}"

    def opened(self, node: int, *pids: int | str) -> None:
        """Says who has a chip open."""
        _write(self.root / f"proc/driver/tenstorrent/{node}/pids", "\n".join(map(str, pids)))

    def reset(self, node: int) -> None:
        """Takes a chip away, as a reset does for a while."""
        link = self.classes / f"tenstorrent!{node}"
        device = (link / "device").resolve()
        link.unlink()
        (self.root / f"sys/class/hwmon/hwmon{node + 3}").unlink()
        shutil.rmtree(device)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n" if text else text)
