"""The model's own books: what is alive on each place (a mesh, or some of its chips), kept up to date by simple sums.

Nothing here knows of trackers: these sums are what a tracker's figures are compared with.
"""

from collections import Counter

from ttmem.devices import BufferType, Kind, Pool
from ttmem.metal.memory import Buffer
from ttmem.metal.programs.kernels import Kernel
from ttmem.metal.programs.layout import ProgramLayout
from ttmem.metal.programs.program import Program
from ttmem.metal.state.footprint import CoreFootprint
from ttmem.tracking import Cache, CacheOutcome, CoreType, KernelType

__all__ = ["POOLS", "Account", "kernel_pool"]

POOLS = {
    BufferType.DRAM: Pool.DRAM,
    BufferType.L1: Pool.L1,
    BufferType.L1_SMALL: Pool.L1_SMALL,
    BufferType.TRACE: Pool.TRACE,
}
KERNEL_KINDS = {
    KernelType.APPLICATION: Kind.KERNEL_APPLICATION,
    KernelType.FABRIC: Kind.KERNEL_FABRIC,
    KernelType.DISPATCH: Kind.KERNEL_DISPATCH,
}
ETHERNET = frozenset({CoreType.ACTIVE_ETH, CoreType.IDLE_ETH})


def kernel_pool(kernel_type: KernelType, core_type: CoreType) -> Pool:
    """Whose cores hold the code: dispatch cores are not shared, ethernet cores have an L1 of their own."""
    if kernel_type is KernelType.DISPATCH:
        return Pool.DISPATCH
    return Pool.ETH if core_type in ETHERNET else Pool.KERNEL


def _kind_of(buffer: Buffer) -> Kind:
    if buffer.program:
        return Kind.PROGRAM_BINARY
    return Kind.TRACE_BUFFER if buffer.holds_trace and buffer.buffer_type is BufferType.DRAM else Kind.BUFFER


class Account:
    """Everything alive on one place; bytes are those of each of its chips."""

    def __init__(self, payload_page_bytes: int) -> None:
        self.used_bytes: Counter[Pool] = Counter()
        self.counts: Counter[Kind] = Counter()
        self.kernel_type_bytes: Counter[KernelType] = Counter()
        self.core_type_bytes: Counter[CoreType] = Counter()
        self.image_copies: Counter[int] = Counter()
        self.image_counts: Counter[tuple[Cache, CacheOutcome]] = Counter()
        self.duplicate_image_bytes = 0  # of payload: what keeping every image once would save
        self.view_count = 0
        self.launch_count = 0
        self.footprint = CoreFootprint()
        self.change_count = 0  # of all but the footprint; who adds up often need not read what has not changed
        self._page_bytes = payload_page_bytes
        self._written: tuple[object, ...] = ()
        self._written_at = -1
        self._listed: dict[int, list[tuple[Kind, int, bool]]] = {}  # circular buffers by program

    def add_buffer(self, buffer: Buffer, sign: int = 1) -> None:
        """A buffer was allocated; freed, with -1."""
        self.change_count += 1
        self.used_bytes[POOLS[buffer.buffer_type]] += sign * buffer.reserved_bytes
        self.counts[_kind_of(buffer)] += sign

    def lay_out(self, program: Program, layout: ProgramLayout) -> None:
        """The circular buffers of a program have addresses, or new ones."""
        self._unlist(program)
        buffers = program.circular_buffers
        listed = [(buffer.kind, buffer.core_bytes, buffer.is_global) for buffer in buffers]
        if listed:
            self._listed[program.id] = listed
            self._list(listed, 1)
        self.footprint.lay_out(program.id, layout)

    def release(self, program: Program) -> None:
        """They are gone."""
        self._unlist(program)
        self.footprint.release(program.id)

    def load(self, program: Program, sign: int = 1) -> None:
        """The kernels of a program were loaded; unloaded, with -1."""
        self.change_count += 1
        for kernel in program.kernels:
            size_bytes = sign * kernel.code_bytes
            self.used_bytes[kernel_pool(program.kernel_type, kernel.core_type)] += size_bytes
            self.kernel_type_bytes[program.kernel_type] += size_bytes
            self.core_type_bytes[kernel.core_type] += size_bytes
            self.counts[KERNEL_KINDS[program.kernel_type]] += sign
            self._count_image(kernel, sign)

    def launch(self, program: int, turn: int) -> None:
        """A program ran."""
        self.change_count += 1
        self.launch_count += 1
        self.footprint.launch(program, turn)

    def written(self) -> tuple[object, ...]:
        """All that it says, but for the footprint: what is written alike adds up alike."""
        if self._written_at != self.change_count:
            copies = self.image_copies
            said: list[object] = [self.view_count, self.launch_count, self.duplicate_image_bytes]
            said += [len(copies), sum(copies.values())]
            for table in (self.used_bytes, self.counts, self.kernel_type_bytes, self.core_type_bytes):
                said += [tuple(map(id, table)), *table.values()]  # words are one of a kind, and dear to hash
            self._written, self._written_at = tuple(said), self.change_count
        return self._written

    def _unlist(self, program: Program) -> None:
        self._list(self._listed.pop(program.id, []), -1)

    def _list(self, listed: list[tuple[Kind, int, bool]], sign: int) -> None:
        self.change_count += 1
        for kind, core_bytes, is_view in listed:
            self.counts[kind] += sign
            self.used_bytes[Pool.CB] += sign * core_bytes
            self.view_count += sign * is_view

    def _count_image(self, kernel: Kernel, sign: int) -> None:
        payload_bytes = kernel.payload_bytes(self._page_bytes)
        copies = self.image_copies[kernel.image]
        is_shared = copies > 0 if sign > 0 else copies > 1
        if is_shared:
            self.duplicate_image_bytes += sign * payload_bytes
        if sign > 0:
            outcome = CacheOutcome.HIT if is_shared else CacheOutcome.MISS
        else:
            outcome = CacheOutcome.EVICTED
        self.image_counts[Cache.IMAGE, outcome] += 1
        self.image_copies[kernel.image] = copies + sign
        if copies + sign == 0:
            del self.image_copies[kernel.image]
