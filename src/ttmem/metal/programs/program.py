"""Programs: kernels, the working memory they share on each core, and what both take.

    made -> laid out (circular buffers have addresses) -> finalized (kernels have offsets) -> destroyed

A program belongs to the mesh it was first run on. Running it again changes nothing of what it takes.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Protocol

from ttmem.devices import Kind
from ttmem.metal.memory import Buffer
from ttmem.metal.programs.circular_buffers import CircularBuffer
from ttmem.metal.programs.core_ranges import CoreRanges
from ttmem.metal.programs.kernel_groups import KernelGroup, SlotOffsets, kernel_groups
from ttmem.metal.programs.kernels import Kernel
from ttmem.metal.programs.layout import LowestOn, ProgramLayout, lay_out
from ttmem.metal.programs.refusals import ProgramMisuse
from ttmem.tracking import CoreType, KernelType, TrackedDevice

__all__ = ["HANDLE_BITS", "Program", "ProgramOwner"]

HANDLE_BITS = 12  # of a kernel's id: which kernel of its program
_ids = itertools.count(1)


class ProgramOwner(Protocol):
    """The open mesh that programs are loaded on."""

    def release_program(self, program: "Program") -> None: ...


class Program:
    """One program; `kernel_type` says whose it is, and with it whose its kernels are."""

    def __init__(
        self, kernel_type: KernelType = KernelType.APPLICATION, *, name: str = "", operation: str = ""
    ) -> None:
        self.id = next(_ids)
        self.operation = operation  # whose program it is: "ttnn.matmul"
        self.kernel_type = kernel_type
        self.name = name
        self.kernels: list[Kernel] = []
        self.circular_buffers: list[CircularBuffer] = []
        self.layout: ProgramLayout | None = None
        self.offsets: Mapping[CoreType, SlotOffsets] | None = None  # once finalized
        self.target: TrackedDevice | None = None  # the chips it is loaded on
        self.owner: ProgramOwner | None = None
        self.is_compiled = False
        self.has_circular_buffers = False  # that are laid out and reported
        self.moved_views: set[int] = set()  # global circular buffers that look elsewhere since they were reported
        self._semaphores: Counter[CoreType] = Counter()
        self._groups: tuple[KernelGroup, ...] | None = None

    def __repr__(self) -> str:
        return f"Program({self.id}, {self.name or self.kernel_type.name.lower()}, {len(self.kernels)} kernels)"

    # What it is made of

    def add_kernel(self, kernel: Kernel) -> int:
        """One more kernel; its handle."""
        self._refuse_if_finalized("kernels")
        if len(self.kernels) == 1 << HANDLE_BITS:
            raise ProgramMisuse(f"program {self.id}: {len(self.kernels)} kernels are all that have ids")
        for other in self.kernels:
            is_same_processor = (other.core_type, other.processor) == (kernel.core_type, kernel.processor)
            if is_same_processor and other.cores.mask & kernel.cores.mask:
                raise ProgramMisuse(
                    f"program {self.id}: {kernel.name} and {other.name} are both for the {kernel.processor.name} "
                    f"of some of the cores {kernel.cores}"
                )
        self.kernels.append(kernel)
        self._groups = None
        return len(self.kernels) - 1

    def add_circular_buffer(
        self,
        cores: CoreRanges,
        size_bytes: int,
        *,
        page_bytes: int | None = None,
        index: int | None = None,
        buffer: Buffer | None = None,
        offset_bytes: int = 0,
    ) -> CircularBuffer:
        """A circular buffer on each of some cores: local, or with `buffer` a view of that one."""
        return self._add(
            CircularBuffer(
                id=len(self.circular_buffers),
                kind=Kind.CIRCULAR_BUFFER,
                cores=cores,
                size_bytes=size_bytes,
                page_bytes=size_bytes if page_bytes is None else page_bytes,
                index=self.cb_index_end if index is None else index,
                buffer=buffer,
                offset_bytes=offset_bytes,
            )
        )

    def add_remote_circular_buffer(
        self, cores: CoreRanges, size_bytes: int, *, buffer: Buffer, index: int
    ) -> CircularBuffer:
        """One end of a GlobalCircularBuffer between cores: a view whose settings are counted from the last index."""
        added = self.add_circular_buffer(cores, size_bytes, buffer=buffer, index=index)
        added.is_remote = True
        return added

    def add_dataflow_buffer(
        self, cores: CoreRanges, size_bytes: int, *, page_bytes: int | None = None, buffer: Buffer | None = None
    ) -> CircularBuffer:
        """The same for newer programs, laid out by the same rule; with `buffer` it is borrowed, a view."""
        return self._add(
            CircularBuffer(
                id=len(self.circular_buffers),
                kind=Kind.DATAFLOW_BUFFER,
                cores=cores,
                size_bytes=size_bytes,
                page_bytes=size_bytes if page_bytes is None else page_bytes,
                index=self.dataflow_index_end,
                buffer=buffer,
            )
        )

    def add_scratchpad(self, cores: CoreRanges, size_bytes: int) -> CircularBuffer:
        """Working memory without any order of filling and emptying."""
        return self._add(
            CircularBuffer(
                id=len(self.circular_buffers),
                kind=Kind.SCRATCHPAD,
                cores=cores,
                size_bytes=size_bytes,
                page_bytes=size_bytes,
            )
        )

    def add_semaphore(self, core_type: CoreType = CoreType.TENSIX) -> int:
        """One more semaphore on cores of a type; its id."""
        self._refuse_if_finalized("semaphores")
        self._semaphores[core_type] += 1
        return self._semaphores[core_type] - 1

    def resize(self, circular_buffer: CircularBuffer, size_bytes: int) -> None:
        """Another size: all local addresses are worked out again before the next run."""
        before = circular_buffer.size_bytes
        circular_buffer.size_bytes = size_bytes
        try:
            circular_buffer.check()
        except BaseException:
            circular_buffer.size_bytes = before
            raise
        if circular_buffer.is_global:
            self.moved_views.add(circular_buffer.id)
        else:
            self.layout = None

    def rebind(self, circular_buffer: CircularBuffer, buffer: Buffer, *, offset_bytes: int = 0) -> None:
        """A global one looks at another buffer (`UpdateDynamicCircularBufferAddress`), as a cached program's do."""
        if not circular_buffer.is_global:
            raise ProgramMisuse(f"program {self.id}: circular buffer {circular_buffer.id} is no view of a buffer")
        if not isinstance(buffer, Buffer):
            raise ProgramMisuse(f"program {self.id}: no buffer to look at: {buffer!r}; use what create_buffer returns")
        before, before_bytes = circular_buffer.buffer, circular_buffer.offset_bytes
        if self.target is not None and before is not None and buffer.device is not before.device:
            raise ProgramMisuse(
                f"program {self.id} is loaded on device {before.device.id}, and {buffer!r} is of device "
                f"{buffer.device.id}; create it where the program runs"
            )
        circular_buffer.buffer, circular_buffer.offset_bytes = buffer, offset_bytes
        try:
            circular_buffer.check()
        except BaseException:
            circular_buffer.buffer, circular_buffer.offset_bytes = before, before_bytes
            raise
        address = circular_buffer.view_address(buffer)
        if address != circular_buffer.address:
            circular_buffer.address = address
            self.moved_views.add(circular_buffer.id)

    # What that takes

    @property
    def kernel_groups(self) -> tuple[KernelGroup, ...]:
        """Cores with the same kernels."""
        if self._groups is None:
            self._groups = kernel_groups(self.kernels)
        return self._groups

    @property
    def core_count(self) -> int:
        """All its cores, of all types (`ProgramImpl::logical_cores`)."""
        return sum(group.core_count for group in self.kernel_groups)

    @property
    def code_bytes(self) -> int:
        """What its cores receive on one chip, exactly: every group's code on every core of the group."""
        return sum(group.text_bytes * group.core_count for group in self.kernel_groups)

    def payload_bytes(self, page_bytes: int) -> int:
        """Its binaries in DRAM; each kernel once, however many groups use it."""
        return sum(kernel.payload_bytes(page_bytes) for kernel in self.kernels)

    def kernel_id(self, handle: int) -> int:
        """What a kernel is called in reports."""
        return self.id << HANDLE_BITS | handle

    def semaphore_count(self, core_type: CoreType) -> int:
        return self._semaphores[core_type]

    @property
    def cb_index_end(self) -> int:
        """One more than the highest index of its circular buffers, remote ones apart."""
        return max((one.index + 1 for one in self._of(Kind.CIRCULAR_BUFFER) if not one.is_remote), default=0)

    @property
    def lowest_remote_cb_index(self) -> int | None:
        return min((one.index for one in self.circular_buffers if one.is_remote), default=None)

    @property
    def dataflow_index_end(self) -> int:
        """The same of its dataflow buffers."""
        return max((one.index + 1 for one in self._of(Kind.DATAFLOW_BUFFER)), default=0)

    # What becomes of it

    @property
    def is_finalized(self) -> bool:
        """Its kernels have their offsets; nothing can be added any more."""
        return self.offsets is not None

    def allocate_circular_buffers(
        self,
        *,
        base: int,
        alignment: int,
        l1_bytes: int,
        lowest_l1_address: int | None,
        lowest_on: LowestOn | None = None,
    ) -> bool:
        """Makes sure that local circular buffers have addresses and room; whether they got them just now."""
        layout = self.layout
        if layout is not None:
            layout.check(l1_bytes, lowest_l1_address, lowest_on)
            return False
        layout = lay_out(self.id, self.circular_buffers, base=base, alignment=alignment)
        layout.check(l1_bytes, lowest_l1_address, lowest_on)
        for circular_buffer, address in layout.addresses:
            circular_buffer.address = address
        self.layout = layout
        return True

    @property
    def place(self) -> TrackedDevice:
        """The chips it is loaded on."""
        if self.target is None:
            raise ProgramMisuse(f"program {self.id} is loaded nowhere")
        return self.target

    def destroy(self) -> None:
        """Ends one that was launched by itself: circular buffers and kernels go. Others end with their workload."""
        if self.owner is not None:
            self.owner.release_program(self)

    def forget(self) -> None:
        """It is on no chips any more, and could be loaded again."""
        self.layout = self.offsets = self.target = self.owner = None
        self.has_circular_buffers = False
        self.moved_views.clear()

    def _add(self, added: CircularBuffer) -> CircularBuffer:
        self._refuse_if_finalized("circular buffers")
        if added.kind is Kind.CIRCULAR_BUFFER:
            self._refuse_if_taken(added)
        self.circular_buffers.append(added)
        self.layout = None
        return added

    def _refuse_if_taken(self, added: CircularBuffer) -> None:
        """A core knows its circular buffers by their indices (`ProgramImpl::add_circular_buffer_`)."""
        for other in self._of(Kind.CIRCULAR_BUFFER):
            if other.index == added.index and other.cores.mask & added.cores.mask:
                raise ProgramMisuse(
                    f"program {self.id}: circular buffer index {added.index} is taken on some of the cores "
                    f"{added.cores}; use another, like {self.cb_index_end}"
                )

    def _of(self, kind: Kind) -> Iterator[CircularBuffer]:
        return (one for one in self.circular_buffers if one.kind is kind)

    def _refuse_if_finalized(self, what: str) -> None:
        if self.is_finalized:
            raise ProgramMisuse(f"program {self.id} is finalized: its {what} can no longer be added to")
