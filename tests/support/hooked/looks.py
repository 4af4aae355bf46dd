"""What a collector knows of one process at one instant, in the words of the tests: chips by unique id, types named."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ttmem.devices import BinaryStatus, Kind, Pool
from ttmem.tracking import CoreType, FoundBy

Rows = dict[str, Any]
CIRCULAR = (Kind.CIRCULAR_BUFFER, Kind.DATAFLOW_BUFFER, Kind.SCRATCHPAD)
_VIEW = 1


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Told:
    """One thing that is alive, as it was told."""

    kind: Kind
    pool: Pool
    id: int
    chips: tuple[int, ...]
    reserved_bytes: int
    requested_bytes: int
    address: int
    per_bank_bytes: int  # of a buffer in each bank; of a circular buffer on each core; of a kernel one binary
    core_count: int
    program: int | None  # the runtime's number; None unknown
    core_type: CoreType
    found_by: FoundBy
    name: str
    packed_bytes: tuple[int, ...]  # of a kernel's binaries, one for each processor
    is_view: bool
    parts: tuple[tuple[int, int, str], ...]  # of a buffer that is allocated by core: address, core count, core set
    operation: str  # that asked for it, or whose program it is; empty unknown
    tensor: str


class Owner(NamedTuple):
    """A mesh that holds memory; one chip opened by itself has no rows and columns."""

    rows: int
    columns: int
    chips: tuple[int, ...]


class Look:
    """Everything told by one process; see `Told`, and the tables of `_native.testing.flat_rows`."""

    def __init__(self, rows: Rows, allocations: Sequence[tuple[Any, ...]], key: int) -> None:
        self._rows = rows
        self._key = key
        self._chips = {row["number"]: row["unique_id"] for row in rows["devices"]}
        self.alive = sorted(self._told(row) for row in allocations)
        [self.process] = [row for row in rows["processes"] if row["key"] == key]

    def _told(self, row: tuple[Any, ...]) -> Told:
        on, kind, identity, pool, flags, reserved, requested, address, per_bank, cores = row[:10]
        return Told(
            kind=Kind.numbered(kind),
            pool=Pool.numbered(pool),
            id=identity,
            chips=tuple(self._chips[number] for number in on),
            reserved_bytes=reserved,
            requested_bytes=requested,
            address=address,
            per_bank_bytes=per_bank,
            core_count=cores,
            program=row[17],
            core_type=CoreType.numbered(row[18]),
            found_by=FoundBy.numbered(row[19]),
            operation=row[-5],
            tensor=row[-4],
            name=row[-2],
            packed_bytes=row[-3],
            parts=row[-1],
            is_view=bool(flags & _VIEW),
        )

    @property
    def findings(self) -> dict[str, int]:
        return {name: count for name, count in self.process["findings"].items() if count}

    def of(self, *kinds: Kind) -> list[Told]:
        return [told for told in self.alive if told.kind in kinds]

    @property
    def buffers(self) -> list[Told]:
        return self.of(Kind.BUFFER)

    @property
    def circular(self) -> list[Told]:
        """Circular buffers, dataflow buffers and scratchpads, by address."""
        return sorted(self.of(*CIRCULAR), key=lambda told: (told.program, told.address))

    @property
    def kernels(self) -> list[Told]:
        return [told for told in self.alive if told.kind.is_kernel]

    def per_bank(self, pool: Pool) -> int:
        return sum(told.per_bank_bytes for told in self.buffers if told.pool is pool)

    def used(self, chip: int, pool: Pool) -> int:
        """By the pools of the process, which count apart from the list."""
        rows = self._table("process_pools")
        return sum(row[2] for row in rows if self._chips[row[0]] == chip and row[1] == pool)

    def device(self, chip: int) -> Rows:
        [row] = [row for row in self._rows["devices"] if row["unique_id"] == chip and row["known"]]
        return dict(row)

    @property
    def open_chips(self) -> list[int]:
        return sorted(row["unique_id"] for row in self._rows["devices"] if row["open_count"])

    @property
    def meshes(self) -> list[tuple[int, int, int, tuple[int, ...]]]:
        """Number, rows, columns, chips in their order."""
        return [
            (number, rows, columns, tuple(self._chips[chip] for chip in chips))
            for number, rows, columns, chips in self._table("meshes")
        ]

    @property
    def overlaps(self) -> list[tuple[Pool, int, int, tuple[int, ...], Owner, Owner]]:
        """What two meshes hold at once: pool, lowest address, bytes of all banks, on which chips, and both of them."""
        return [
            (Pool.numbered(pool), address, size_bytes, self._named(chips), self._owner(*first), self._owner(*second))
            for pool, address, size_bytes, chips, first, second in self.process["overlaps"]
        ]

    def _named(self, numbers: Iterable[int]) -> tuple[int, ...]:
        return tuple(self._chips[number] for number in numbers)

    def _owner(self, rows: int, columns: int, chips: Iterable[int]) -> Owner:
        return Owner(rows, columns, self._named(chips))

    def launches(self, chip: int) -> int:
        return sum(count for number, count in self._table("launches") if self._chips[number] == chip)

    def programs(self, chip: int) -> dict[int | None, tuple[BinaryStatus, int]]:
        """Of each program the status of its binaries, and how often it was launched."""
        return {
            program: (BinaryStatus.numbered(status), launches)
            for number, program, status, launches, _, _ in self._table("programs")
            if self._chips[number] == chip
        }

    def operations(self, chip: int) -> dict[int | None, str]:
        """Of each program whose it is; empty unknown."""
        rows = self._table("programs")
        return {program: operation for number, program, *_, operation in rows if self._chips[number] == chip}

    def planned_bytes(self, chip: int) -> int:
        """What circular buffers of all programs take of the chip: on each core the union of their places."""
        return sum(row[1] for row in self._table("footprints") if self._chips[row[0]] == chip)

    def ring(self, chip: int, core_type: CoreType) -> dict[str, int]:
        found = [row[2:] for row in self._table("rings") if self._chips[row[0]] == chip and row[1] == core_type]
        names = ("live", "retired", "entries", "launches", "total")
        return dict(zip(names, found[0], strict=True)) if found else dict.fromkeys(names, 0)

    def refusals_since(self, earlier: "Look") -> list[tuple[int, Pool, int, int, int]]:
        """Chip, pool, and in bytes what was asked for, what was free, the largest free block; of the newest ones."""
        return [
            (self._chips[number], Pool.numbered(pool), *figures)
            for number, pool, *figures in self._new("out_of_memory", earlier)
        ]

    def clashes_since(self, earlier: "Look") -> list[tuple[int, int | None, int, int]]:
        """Chip, program, where its circular buffers end, and the buffer that lies below that."""
        return [(self._chips[number], *figures) for number, *figures in self._new("clashes", earlier)]

    def clash_count(self, chip: int) -> int:
        return sum(count for number, count in self._table("clash_counts") if self._chips[number] == chip)

    def _new(self, name: str, earlier: "Look") -> list[tuple[Any, ...]]:
        """Rows of a table that only keeps the newest, without their times, which are estimates."""
        now, then = (Counter(row[:-1] for row in look._table(name)) for look in (self, earlier))
        return list((now - then).elements())

    def _table(self, name: str) -> list[tuple[Any, ...]]:
        return [tuple(row[1:]) for row in self._rows[name] if row[0] == self._key]


def places(buffers: Iterable[Told]) -> Counter[tuple[int, str]]:
    """(address, type) as the runtime lists them."""
    return Counter((told.address, told.pool.name) for told in buffers)
