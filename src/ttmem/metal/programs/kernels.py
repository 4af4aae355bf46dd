"""Kernels: the binaries one piece of source was compiled to, and the cores they are loaded on.

A data movement, ethernet or DRAM kernel is one binary for one processor; a compute kernel is three. Sizes are packed
sizes, text and initialised data together (`Kernel::get_binary_packed_size`): what is really loaded.
"""

import hashlib
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

from ttmem.metal.chips.numbers import are_whole, rounded_up
from ttmem.metal.programs.core_ranges import CoreRanges
from ttmem.metal.programs.refusals import ProgramMisuse
from ttmem.tracking import CoreType

__all__ = ["CODE_ALIGNMENT", "Kernel", "Processor", "rounded_up"]

# Binaries, arguments and tables in a slot of the kernel ring begin at multiples of L1's alignment.
CODE_ALIGNMENT = 16


class Processor(Enum):
    """Whose code it is: the two data movers of a Tensix core, its three compute threads, those of other cores."""

    BRISC = 0
    NCRISC = 1
    TRISC = 2  # and 3 and 4: one kernel for all three
    ERISC = 10
    ERISC_1 = 11
    DRISC = 20

    @property
    def binary_count(self) -> int:
        return 3 if self is Processor.TRISC else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One kernel handle of a program."""

    name: str
    cores: CoreRanges
    binaries: tuple[int, ...]  # packed bytes of each
    processor: Processor = Processor.BRISC
    core_type: CoreType = CoreType.TENSIX
    source_path: str = ""
    runtime_arg_count: int = 0  # of the core that has most
    common_arg_count: int = 0
    variant: str = ""  # compile-time arguments and defines: other code under the same name
    size_bytes: int = field(init=False)  # on one core
    image: int = field(init=False)  # equal for equal binaries

    def __post_init__(self) -> None:
        if len(self.binaries) != self.processor.binary_count or not are_whole(*self.binaries, least=1):
            raise ProgramMisuse(
                f"kernel {self.name}: {self.processor.name} takes {self.processor.binary_count} binaries, "
                f"each of whole bytes, at least one; got {list(self.binaries)}"
            )
        if not isinstance(self.cores, CoreRanges) or not self.cores.mask:
            raise ProgramMisuse(
                f"kernel {self.name}: no cores to run on: {self.cores!r}; use CoreRanges, like CoreRanges.grid"
            )
        object.__setattr__(self, "size_bytes", sum(rounded_up(size, CODE_ALIGNMENT) for size in self.binaries))
        object.__setattr__(self, "image", _image(self.name, self.variant, self.processor, self.binaries))

    @property
    def core_count(self) -> int:
        return self.cores.core_count

    @property
    def packed_bytes(self) -> int:
        """Its binaries as they lie in the files."""
        return sum(self.binaries)

    @property
    def code_bytes(self) -> int:
        """What its cores receive, all together."""
        return self.size_bytes * self.cores.core_count

    def payload_bytes(self, page_bytes: int) -> int:
        """In DRAM: every binary begins a page."""
        return sum(rounded_up(size, page_bytes) for size in self.binaries)


@lru_cache(maxsize=4096)  # benchmarks/promises/metal.py: the model's own pace
def _image(name: str, variant: str, processor: Processor, binaries: tuple[int, ...]) -> int:
    text = f"{name}\0{variant}\0{processor.name}\0{binaries}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") or 1
