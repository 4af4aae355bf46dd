"""Which chip: how it is named everywhere, and what its openers said it has."""

from ttmem.devices import Pool
from ttmem.snapshot.values import ChipId, Count, Number, Struct

__all__ = ["ChipName", "Device", "place_of"]


class ChipName(Struct, frozen=True):
    """One chip by name. `number` is its place in one snapshot only."""

    number: Number
    unique_id: ChipId
    index: Number | None  # logical index in the process that opened it first; N of `server:N`
    is_known: bool  # by its unique id; else by `name` alone
    name: str

    @property
    def is_server_chip(self) -> bool:
        """Known by its number alone, from the allocation server's protocol; no journal has opened that chip."""
        return not self.is_known and self.index is not None

    @property
    def uuid(self) -> str | None:
        """The chip's own id as it is printed everywhere; None for a device that was never opened."""
        return f"0x{self.unique_id:016x}" if self.is_known else None

    @property
    def names(self) -> dict[str, int | str | None]:
        """As short documents have them."""
        return {"index": self.index, "uuid": self.uuid, "name": self.name or None}


class Device(ChipName, frozen=True):
    """One chip, as the processes that opened it described it."""

    arch: str = ""  # wormhole_b0, blackhole; empty if not reported
    board: str = ""
    grid: tuple[Count, Count] | None = None  # worker cores in x and y
    dram_bank_count: Count | None = None
    l1_bank_count: Count | None = None
    kernel_ring_bytes: Count | None = None  # of each worker core
    capacity_bytes: tuple[Count | None, ...] = (None,) * len(Pool)  # by pool, in the order of their numbers
    open_count: Count = 0  # live processes that have it open

    @classmethod
    def bare(cls, number: int, unique_id: int | None, *, index: int | None, name: str) -> "Device":
        """One of which only the name is known."""
        return cls(number, ChipId(unique_id or 0), index, unique_id is not None, name)

    def capacity(self, pool: Pool) -> int | None:
        """All banks of a pool together, as reported by the chip's opener; None if not reported."""
        return self.capacity_bytes[pool] if pool.number < len(self.capacity_bytes) else None

    def as_name(self) -> ChipName:
        """Only what it is called."""
        return ChipName(self.number, self.unique_id, self.index, self.is_known, self.name)


def place_of(device: ChipName) -> tuple[bool, int, int, str]:
    """The order of chips: by index; what has none comes last."""
    return device.index is None, device.index or 0, device.unique_id, device.name
