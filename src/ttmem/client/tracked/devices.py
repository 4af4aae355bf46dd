"""The devices a tracker heard of, and the target each of them is reported on.

A device is one target for all its chips, a chip alone like a mesh of one. A journal has room for 255 targets and never
forgets one, so a device that is opened again takes the target of those before it; two that are open at once on the
same chips, in whatever tracker, have different ones, or closing one would end what the other holds.

   field       changed by the thread that has the turn
   _by_id      read by any thread: one that finds a device there may use it
   _users      how many open devices lie on a chip
   _claimed    targets that open devices are reported on
"""

from collections import Counter
from itertools import count

from ttmem import _native
from ttmem.client import claims
from ttmem.client.claims import turn
from ttmem.client.reporter import Client
from ttmem.client.tracked.kernels import Kernels
from ttmem.client.tracked.programs import CircularBuffers, Programs
from ttmem.devices import Pool
from ttmem.tracking import TrackedChip, TrackedDevice

__all__ = ["OpenDevice", "OpenDevices"]

_MESH_ID_BITS = (1 << 63) - 1
_close = _native.client.close_target


class OpenDevice:
    """One open device, and what is alive on it besides buffers."""

    __slots__ = ("chips", "circular_buffers", "is_reported", "kernels", "programs", "target", "traces")

    def __init__(self, target: int, chips: list[int]) -> None:
        self.target = target
        self.chips = chips  # their targets
        self.is_reported = False  # its runtime said that it opened it, and will say that it closed it
        self.begin()

    def begin(self) -> None:
        """Nothing is alive on it."""
        self.kernels = Kernels(self.target)
        self.circular_buffers = CircularBuffers(self.target)
        self.programs = Programs(self.target)
        self.traces: dict[int, int] = {}  # handles of those in plain DRAM, by buffer


class OpenDevices:
    """Opens and closes targets; when its client closes, so do they."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._by_id: dict[int, OpenDevice] = {}
        self._users: Counter[int] = Counter()
        self._claimed: set[int] = set()
        self.find = self._by_id.get  # by the runtime's id of a device
        claims.holders.add(self)

    def open(self, device: TrackedDevice, *, is_reported: bool) -> OpenDevice | None:
        """The device, opened if it was not; None while tracking is off."""
        with turn():
            opened = self._by_id.get(device.id) or self._opened(device)
            if opened is not None:
                opened.is_reported |= is_reported
            return opened

    def close(self, device_id: int) -> None:
        """Everything on it ends, and so do parts of it that were never opened by themselves."""
        with turn():
            opened = self._by_id.pop(device_id, None)
            if opened is None:
                return
            self._end(opened)
            for part_id, part in list(self._by_id.items()):
                if opened.is_reported and not part.is_reported and set(part.chips) <= set(opened.chips):
                    self._end(self._by_id.pop(part_id))

    def close_all(self) -> None:
        """Closes what is still open."""
        for device_id in list(self._by_id):
            self.close(device_id)

    def has_claimed(self, target: int) -> bool:
        return target in self._claimed

    def is_on(self, chip: int) -> bool:
        return self._users[chip] > 0

    def forget(self) -> None:
        """Tracking was turned off: nothing is open any more; what is heard of later is opened again."""
        with turn():
            self._by_id.clear()
            self._users.clear()
            self._claimed.clear()

    def begin_in_child(self) -> None:
        """A forked child has the devices of its parent open, and nothing on them."""
        for opened in list(self._by_id.values()):
            opened.begin()

    def _end(self, opened: OpenDevice) -> None:
        _close(opened.target)
        self._claimed.discard(opened.target)
        self._users.subtract(opened.chips)
        for chip in opened.chips:
            if not claims.is_in_use(chip):
                _close(chip)

    def _opened(self, device: TrackedDevice) -> OpenDevice | None:
        chips = [self._open_chip(chip) for chip in device.chips]
        if not chips:
            raise ValueError(f"device {device.id} has no chips, expected at least one")
        if not all(chips):
            return None
        target = self._free_target(device, chips)
        if not target:
            return None
        self._users.update(chips)
        self._claimed.add(target)
        opened = self._by_id[device.id] = OpenDevice(target, chips)
        return opened

    def _open_chip(self, chip: TrackedChip) -> int:
        return _native.client.open_device(
            chip.unique_id,
            chip.index,
            chip.arch,
            chip.board,
            chip.grid,
            (chip.dram_bank_count, chip.l1_bank_count),
            tuple(0 if pool is Pool.UNKNOWN else int(chip.capacity_bytes(pool)) for pool in Pool),
            chip.kernel_ring_bytes,
        )

    def _free_target(self, device: TrackedDevice, chips: list[int]) -> int:
        """The first mesh over these chips that no other open device has."""
        rows, columns = device.shape
        for number in count():
            mesh_id = hash((number, rows, columns, *(chip.unique_id for chip in device.chips))) & _MESH_ID_BITS
            target = _native.client.open_mesh(mesh_id, rows, columns, tuple(chips))
            if not claims.is_claimed(target):
                return target
        return 0
