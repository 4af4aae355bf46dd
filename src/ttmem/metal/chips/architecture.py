"""What every chip of an architecture has, whatever board it is on, as one build of the runtime lays it out.

Two builds are known: "0.81.1", read out of the public wheel and the one the model is judged by, and "source", worked
out from the headers of a neighbouring commit with profiling compiled in.

    L1 of a worker core                                  a DRAM bank
    0                                                    0
    | firmware, mailboxes                                | barrier, profiler, device print
    kernel_config_base                                   dram_reserved_bytes
    | kernel ring (ring_bytes)                           | DRAM
    l1_unreserved_base = first circular buffer           |
    | circular buffers grow up, L1 buffers grow down     | TRACE
    | L1_SMALL                                           dram_bank_bytes
    l1_bytes
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from importlib import resources
from typing import Any

from ttmem.errors import TtmemError
from ttmem.metal.chips.numbers import rounded_up
from ttmem.tracking import CoreType

__all__ = [
    "BUILDS",
    "DEFAULT_BUILD",
    "Architecture",
    "Axis",
    "DispatchCores",
    "Grid",
    "KernelRing",
    "UnknownHardware",
    "architecture",
    "data",
    "without",
]

Grid = tuple[int, int]  # columns, rows


class DispatchCores(Enum):
    """The cores that run the command queues; SLOW: none, the host writes into every core itself."""

    TENSIX = "tensix"
    ETHERNET = "ethernet"
    SLOW = "slow"


class Axis(Enum):
    """A direction in which a grid of cores is cut: a row is as wide as the grid, a column as high."""

    ROW = "row"
    COLUMN = "column"


def without(grid: Grid, axis: Axis, count: int) -> Grid:
    """What is left of a grid when some of its rows or columns are taken away."""
    columns, rows = grid
    return (columns, rows - count) if axis is Axis.ROW else (columns - count, rows)


class UnknownHardware(TtmemError):
    """Hardware that there is not, or that cannot do what is asked of it; the message names what there is."""


@cache  # a file of the package, read once
def data(name: str) -> dict[str, Any]:
    """One of the tables beside this module."""
    table: dict[str, Any] = json.loads((resources.files(__package__) / f"{name}.json").read_text(encoding="utf-8"))
    return table


BUILDS = tuple(data("builds"))
DEFAULT_BUILD = BUILDS[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRing:
    """Where a type of core keeps what its programs need. One without code holds arguments only."""

    base: int | None  # None: this build's base is not known
    size_bytes: int
    has_code: bool
    code_base: int | None = None  # where code lies that is not in the ring
    code_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """An architecture in one build of the runtime; sizes in bytes, alignments too."""

    name: str
    build: str
    noc_grid: Grid
    tensix_grid: Grid
    harvested_axis: Axis
    dispatch_axis: Axis
    l1_bytes: int
    l1_alignment: int
    dram_alignment: int
    pcie_alignment: int
    dram_channel_count: int
    dram_banks_per_channel: int
    dram_bank_bytes: int
    dram_reserved: Mapping[str, int]
    ethernet_core_count: int
    ethernet_l1_bytes: int
    ethernet_unreserved_base: int
    ethernet_unreserved_end: int
    ethernet_kernels_per_router: int
    dram_core_l1_bytes: int
    processor_count: int
    max_cb_count: int
    ncrisc_iram_bytes: int
    device_print_cache_bytes: int
    rings: Mapping[CoreType, KernelRing]
    # The same on every architecture.
    payload_page_bytes: int
    trace_page_bytes_min: int
    trace_page_bytes_max: int
    ring_entry_count: int
    launch_slot_count: int
    ethernet_launch_slot_count: int
    prefetcher_cache_bytes: Mapping[DispatchCores, int]
    prefetcher_entry_count: Mapping[DispatchCores, int]
    prefetch_queue_entry_count: int
    command_data_bytes: int
    dispatch_buffer_bytes: int
    dispatch_s_buffer_bytes: int
    ethernet_binary_bytes_max: int

    def ring_bytes(self, core_type: CoreType = CoreType.TENSIX) -> int:
        """The ring of one core of that type; 0 if the architecture has no such cores."""
        ring = self.rings.get(core_type)
        return ring.size_bytes if ring else 0

    def ring_base(self, core_type: CoreType = CoreType.TENSIX) -> int | None:
        """Where that ring begins; None if unknown."""
        ring = self.rings.get(core_type)
        return ring.base if ring else None

    @property
    def kernel_config_base(self) -> int:
        """Where the kernel ring of a worker core begins."""
        base = self.rings[CoreType.TENSIX].base
        assert base is not None  # every build knows it
        return base

    @property
    def l1_unreserved_base(self) -> int:
        """Where buffers may begin: the end of the kernel ring, and the first circular buffer."""
        return self.kernel_config_base + self.ring_bytes(CoreType.TENSIX)

    @property
    def l1_bank_bytes(self) -> int:
        """What one worker core has for buffers of all kinds, L1_SMALL included."""
        return self.l1_bytes - self.l1_unreserved_base

    @property
    def dram_reserved_bytes(self) -> int:
        """What the runtime keeps at the bottom of each DRAM bank."""
        return sum(self.dram_reserved.values())

    @property
    def dram_bank_count(self) -> int:
        """The DRAM banks of a chip that has all of them."""
        return self.dram_channel_count * self.dram_banks_per_channel

    def with_worker_l1(self, worker_l1_bytes: int) -> "Architecture":
        """The same with another share of L1 for buffers, as asked for by `worker_l1_size`: the ring gets the rest."""
        most = self.l1_bytes - self.kernel_config_base
        if not 0 <= worker_l1_bytes <= most:
            raise UnknownHardware(f"{self.name}: worker_l1_size {worker_l1_bytes} is not within 0 and {most}")
        base = rounded_up(self.l1_bytes - worker_l1_bytes, self.dram_alignment)
        ring = replace(self.rings[CoreType.TENSIX], size_bytes=base - self.kernel_config_base)
        return replace(self, rings={**self.rings, CoreType.TENSIX: ring})


@cache  # a file of the package, read once
def architecture(arch: str, build: str = DEFAULT_BUILD) -> Architecture:
    """An architecture by the name tt-metal gives it."""
    table, builds = data("architectures"), data("builds")
    if arch not in table:
        raise UnknownHardware(f"no architecture {arch!r}; there are {', '.join(table)}")
    if build not in builds:
        raise UnknownHardware(f"no build {build!r}; there are {', '.join(builds)}")
    fields: dict[str, Any] = {**data("runtime"), **table[arch], "dram_reserved": builds[build][arch]["dram_reserved"]}
    ring_bytes = fields.pop("kernel_ring_bytes")
    fields["rings"] = _rings(fields["rings"], builds[build][arch]["ring_bases"], ring_bytes)
    for name in ("noc_grid", "tensix_grid"):
        fields[name] = tuple(fields[name])
    for name in ("harvested_axis", "dispatch_axis"):
        fields[name] = Axis(fields[name])
    for name in ("prefetcher_cache_bytes", "prefetcher_entry_count"):
        fields[name] = {DispatchCores[cores]: value for cores, value in fields[name].items()}
    return Architecture(name=arch, build=build, **fields)


def _rings(table: dict[str, dict[str, Any]], bases: dict[str, int], tensix_bytes: int) -> dict[CoreType, KernelRing]:
    return {
        CoreType[name]: KernelRing(base=bases.get(name), **{"size_bytes": tensix_bytes, **ring})
        for name, ring in table.items()
    }
