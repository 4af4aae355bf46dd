"""How the programs of a captured trace share the kernel ring: what lies where, and which binaries are not sent again.

At the end of a capture the whole list is known, so it is laid out at once. Arguments (never used twice) and binaries
used for the last time go to the top of the ring, binaries that come again to the bottom. Only Tensix binaries can be
found again; ethernet cores get theirs with every launch. Waits are for earlier programs whose bytes are written over,
and for a free launch message. No capture can be run without hardware, so the figures of a plan are an estimate.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ttmem.metal.state.layout.shelf import Placed, Shelf, ShelfRegion
from ttmem.metal.state.ring import MULTICAST_SLOTS
from ttmem.tracking import CoreType

__all__ = ["PlannedNode", "ProgramTooLarge", "TraceNode", "TracePlan", "plan_trace"]


class ProgramTooLarge(Exception):
    """A program that the whole ring cannot hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceNode:
    """One launch of a capture, as far as the ring is concerned."""

    program: int
    config_bytes: int  # Tensix: all that lies before the binaries
    binary_bytes: int  # Tensix
    worker_count: int
    ethernet_bytes: int = 0  # active ethernet: the whole slot
    has_ethernet_kernels: bool = False
    sub_device: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedNode:
    """Where a launch lies on every core. `sync_count`: workers to wait for, counted from the start of the replay."""

    node: TraceNode
    config_address: int
    binary_address: int
    ethernet_address: int
    send_binary: bool
    wait_for: int | None  # the node that must be done
    sync_count: int | None
    is_stalled_first: bool  # it waits before its arguments are written, not only before its binaries


@dataclass(frozen=True, slots=True)
class TracePlan:
    """The layout of a whole trace."""

    nodes: tuple[PlannedNode, ...]
    is_estimate: bool = True  # which bytes a replay finds again is the plan of a model; read by `Traces`

    @property
    def hit_count(self) -> int:
        """Launches that find their binaries in the ring."""
        return sum(1 for planned in self.nodes if planned.node.binary_bytes and not planned.send_binary)

    @property
    def miss_count(self) -> int:
        """Launches whose binaries are sent."""
        return sum(1 for planned in self.nodes if planned.send_binary)

    @property
    def saved_bytes(self) -> int:
        """Binaries not sent again, on one core."""
        return sum(planned.node.binary_bytes for planned in self.nodes if not planned.send_binary)


def plan_trace(
    nodes: Sequence[TraceNode],
    rings: Mapping[CoreType, tuple[int, int]],
    *,
    is_ethernet_code_fixed: bool = True,
) -> TracePlan:
    """Lays out a capture over `rings` (base and size per core type); each sub-device has them for itself.

    `is_ethernet_code_fixed`: ethernet binaries lie at a fixed address outside the ring, as on Wormhole.
    """
    coming = next_uses(nodes)
    planned: list[PlannedNode | None] = [None] * len(nodes)
    for sub_device in sorted({node.sub_device for node in nodes}):
        planner = _Planner(coming, rings, is_ethernet_code_fixed)
        for index, node in enumerate(nodes):
            if node.sub_device == sub_device:
                planned[index] = planner.plan(index, node)
    return TracePlan(tuple(node for node in planned if node is not None))


def next_uses(nodes: Sequence[TraceNode]) -> list[int | None]:
    """For every node the next one of the same program."""
    found: list[int | None] = [None] * len(nodes)
    coming: dict[int, int] = {}
    for index in range(len(nodes) - 1, -1, -1):
        found[index] = coming.get(nodes[index].program)
        coming[nodes[index].program] = index
    return found


class _Planner:
    """SimpleTraceAllocator::allocate_trace_programs_on_subdevice, node by node."""

    def __init__(
        self,
        next_uses: Sequence[int | None],
        rings: Mapping[CoreType, tuple[int, int]],
        is_ethernet_code_fixed: bool,
    ) -> None:
        self._next_uses = next_uses
        self._base, tensix_bytes = rings[CoreType.TENSIX]
        self._ethernet_base, ethernet_bytes = rings.get(CoreType.ACTIVE_ETH, (0, 0))
        self._tensix = Shelf(tensix_bytes)
        self._ethernet = Shelf(ethernet_bytes)
        self._is_ethernet_code_fixed = is_ethernet_code_fixed
        self._last_ethernet: int | None = None
        self._window: deque[int] = deque(maxlen=MULTICAST_SLOTS)
        self._finished: dict[int, int] = {}  # workers that are done when a node is
        self._launched_count = 0
        self._waited_for: int | None = None

    def plan(self, index: int, node: TraceNode) -> PlannedNode:
        config, binary, is_found = self._place_tensix(index, node)
        ethernet = self._place(self._ethernet, index, node.program, node.ethernet_bytes)
        binary_wait = binary.wait_for
        if node.has_ethernet_kernels and self._is_ethernet_code_fixed:
            binary_wait = _later(binary_wait, self._last_ethernet)
            self._last_ethernet = index
        if len(self._window) == MULTICAST_SLOTS:
            binary_wait = _later(binary_wait, self._window[0])
        self._launched_count += node.worker_count
        self._finished[index] = self._launched_count
        is_first_launch = not self._window
        self._window.append(index)
        wait_for, is_stalled_first = self._wait(_later(config.wait_for, ethernet.wait_for), binary_wait)
        return PlannedNode(
            node=node,
            config_address=self._base + config.address,
            binary_address=self._base + binary.address,
            ethernet_address=self._ethernet_base + ethernet.address,
            send_binary=node.has_ethernet_kernels or not is_found,
            wait_for=wait_for,
            # The first one waits for whatever ran before the replay.
            sync_count=self._finished[wait_for] if wait_for is not None else (0 if is_first_launch else None),
            is_stalled_first=is_stalled_first or is_first_launch,
        )

    def _place_tensix(self, index: int, node: TraceNode) -> tuple[Placed, Placed, bool]:
        """Places of arguments and binaries, and whether the binaries are there already."""
        config = self._place(self._tensix, index, node.program, node.config_bytes)
        if not node.binary_bytes:
            return config, Placed(0), True
        there = self._tensix.binary_of(node.program)
        if there is not None:
            self._tensix.use(there, index, self._next_uses[index])
            return config, Placed(there.address), True
        binary = self._place_binary(index, node)
        if binary is not None:
            return config, binary, False
        self._tensix.clear()  # what is left is in pieces: start over, after all before
        config = self._place(self._tensix, index, node.program, node.config_bytes)
        binary = self._place_binary(index, node)
        if binary is None:
            raise ProgramTooLarge(
                f"program {node.program}: {node.config_bytes} + {node.binary_bytes} bytes "
                f"do not fit a ring of {self._tensix.size_bytes}"
            )
        before = self._window[-1] if self._window else None
        return Placed(config.address, before), Placed(binary.address, before), False

    def _place_binary(self, index: int, node: TraceNode) -> Placed | None:
        next_use = self._next_uses[index]
        wanted = ShelfRegion(0, node.binary_bytes, node.program, is_binary=True, user=index, next_use=next_use)
        return self._tensix.place(wanted, is_top_down=next_use is None)

    def _place(self, shelf: Shelf, index: int, program: int, size_bytes: int) -> Placed:
        placed = shelf.place(ShelfRegion(0, size_bytes, program, is_binary=False, user=index), is_top_down=True)
        if placed is None:
            raise ProgramTooLarge(f"program {program}: {size_bytes} bytes do not fit a ring of {shelf.size_bytes}")
        return placed

    def _wait(self, config_wait: int | None, binary_wait: int | None) -> tuple[int | None, bool]:
        """Which launch to wait for, if none as late was waited for already; and whether before the arguments."""
        needs_first = _is_later(config_wait, self._waited_for)
        if not needs_first and not _is_later(binary_wait, self._waited_for):
            return None, False
        self._waited_for = _later(config_wait, binary_wait)
        return self._waited_for, needs_first


def _is_later(node: int | None, other: int | None) -> bool:
    return node is not None and (other is None or node > other)


def _later(node: int | None, other: int | None) -> int | None:
    return node if other is None or (node is not None and node > other) else other
