"""What the runtime refused: allocations for which there was no memory, and launches whose circular buffers would have
reached into a buffer. As figures, as ledger's rows, and as JSON documents."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ttmem.devices import Device, Pool
from ttmem.snapshot.fields import Fields, time_text

__all__ = ["Clash", "OutOfMemory", "clashes_from_rows", "out_of_memory_from_rows", "read_clash", "read_out_of_memory"]

Rows = Iterable[Sequence[Any]]
_POOLS = {pool.word: pool for pool in Pool}


class OutOfMemory(NamedTuple):
    """An allocation the runtime refused."""

    device: Device
    pool: Pool
    requested_bytes: int
    free_bytes: int
    largest_free_bytes: int
    time_ns: int

    def document(self) -> dict[str, Any]:
        return {
            "time": time_text(self.time_ns),
            "pool": self.pool.word,
            "requested": self.requested_bytes,
            "free": self.free_bytes,
            "largest_free": self.largest_free_bytes,
        }


class Clash(NamedTuple):
    """A program whose circular buffers would have reached into an L1 buffer."""

    device: Device
    program: int | None
    cb_end_address: int
    buffer_address: int
    time_ns: int

    @property
    def overlap_bytes(self) -> int:
        """By how much, on each core."""
        return max(0, self.cb_end_address - self.buffer_address)

    def document(self) -> dict[str, Any]:
        return {
            "time": time_text(self.time_ns),
            "program": self.program,
            "cb_end": self.cb_end_address,
            "buffer": self.buffer_address,
            "overlap": self.overlap_bytes,
        }


def out_of_memory_from_rows(rows: Rows, devices: Mapping[int, Device]) -> tuple[OutOfMemory, ...]:
    return tuple(OutOfMemory(devices[device], Pool(pool), *figures) for device, pool, *figures in rows)


def clashes_from_rows(rows: Rows, devices: Mapping[int, Device]) -> tuple[Clash, ...]:
    return tuple(Clash(devices[device], *figures) for device, *figures in rows)


def read_out_of_memory(row: Fields, named: Callable[[Fields], Device]) -> OutOfMemory:
    return OutOfMemory(
        device=named(row),
        pool=_POOLS[row.word("pool", tuple(_POOLS))],
        requested_bytes=row.integer("requested"),
        free_bytes=row.integer("free"),
        largest_free_bytes=row.integer("largest_free"),
        time_ns=row.time_ns("time"),
    )


def read_clash(row: Fields, named: Callable[[Fields], Device]) -> Clash:
    return Clash(
        device=named(row),
        program=row.maybe_integer("program"),
        cb_end_address=row.integer("cb_end"),
        buffer_address=row.integer("buffer"),
        time_ns=row.time_ns("time"),
    )
