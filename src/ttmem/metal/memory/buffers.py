"""A buffer that lies on a device, from its allocation until it is freed."""

from collections.abc import Callable, Sequence
from itertools import count

from ttmem.devices import BufferLayout, BufferType
from ttmem.metal.memory.allocator import Placement
from ttmem.metal.memory.specs import BufferSpec, Core
from ttmem.tracking import BufferDescription, CorePart, TrackedDevice

__all__ = ["Buffer"]

_unique_ids = count(1)


class Buffer:
    """A buffer and where it lies; `release` is called once, when it is freed.

    Sizes are those on one chip; a mesh holds one such buffer on each of its chips, at the same address. One that is
    allocated by core lies at address 0, as the runtime has it, and has `core_parts`: of each chip, which cores have it
    at which address.
    """

    __slots__ = (
        "_release",
        "core_parts",
        "device",
        "holds_trace",
        "is_allocated",
        "operation",
        "placement",
        "program",
        "spec",
        "unique_id",
    )

    def __init__(
        self,
        spec: BufferSpec,
        placement: Placement,
        device: TrackedDevice,
        *,
        program: int = 0,
        holds_trace: bool = False,
        core_parts: Sequence[Sequence[CorePart]] = (),
        operation: str = "",
        release: Callable[["Buffer"], None] | None = None,
    ) -> None:
        self.unique_id = next(_unique_ids)
        self.spec = spec
        self.placement = placement
        self.device = device
        self.program = program
        self.holds_trace = holds_trace
        self.core_parts = core_parts
        self.operation = operation
        self.is_allocated = True
        self._release = release

    @property
    def address(self) -> int:
        return self.placement.address

    def address_on(self, core: Core, chip: int = 0) -> int | None:
        """Where it lies on a core, by the place of its chip in the mesh; None if it is allocated on other cores."""
        cores = self.placement.cores
        if not cores:
            return self.address
        return self.placement.core_addresses[chip][cores.index(core)] if core in cores else None

    @property
    def requested_bytes(self) -> int:
        return self.spec.size_bytes

    @property
    def per_bank_bytes(self) -> int:
        """What a bank stores; allocated by core, what each of its cores gives up."""
        return self.placement.block_bytes if self.placement.cores else self.placement.per_bank_bytes

    @property
    def reserved_bytes(self) -> int:
        return self.placement.reserved_bytes

    @property
    def buffer_type(self) -> BufferType:
        return self.spec.buffer_type

    @property
    def description(self) -> BufferDescription | None:
        """What it holds, if that is a tensor."""
        spec = self.spec
        if not spec.tensor:
            return None
        return BufferDescription(spec.tensor, self.operation, BufferLayout.numbered(spec.layout + 1), spec.page_bytes)

    def deallocate(self) -> None:
        """Free it; once freed, nothing happens any more (Buffer::deallocate does the same)."""
        if self.is_allocated:
            self.is_allocated = False
            if self._release is not None:
                self._release(self)

    def __repr__(self) -> str:
        state = "" if self.is_allocated else ", freed"
        return (
            f"Buffer({self.unique_id}, {self.buffer_type.name} at {self.address}, {self.requested_bytes} bytes{state})"
        )
