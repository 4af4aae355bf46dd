"""What is true of a mesh by the model's own arithmetic: the judge of every figure that trackers and ledgers give."""

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ttmem.devices import Kind, Pool
from ttmem.metal.dispatch.traces import Traces
from ttmem.metal.state.accounts import Account
from ttmem.metal.state.footprint import Taken, planned, resident
from ttmem.metal.state.host import Host
from ttmem.metal.state.ring import Occupancy
from ttmem.tracking import Cache, CacheOutcome, CoreType, KernelType, Stall

__all__ = ["ChipTruth", "Truth", "truth_of"]

_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipTruth:
    """One chip; what is zero is left out of the tables."""

    unique_id: int
    index: int
    used_bytes: Mapping[Pool, int]  # reserved; kernels exactly; circular buffers added up over programs
    counts: Mapping[Kind, int]
    view_count: int
    kernel_type_bytes: Mapping[KernelType, int]
    core_type_bytes: Mapping[CoreType, int]
    cb_planned: Taken
    cb_resident: Taken
    launch_count: int
    distinct_image_count: int
    duplicate_image_count: int
    duplicate_image_bytes: int  # of payload

    @property
    def cb_planned_bytes(self) -> int:
        return self.cb_planned.chip_bytes

    @property
    def cb_resident_bytes(self) -> int:
        return self.cb_resident.chip_bytes

    @property
    def cb_worst_core_bytes(self) -> int:
        """The fullest core, by what ran there last."""
        return self.cb_resident.worst_core_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """A mesh: its chips, and what exists once for all of them."""

    chips: tuple[ChipTruth, ...]
    rings: Mapping[CoreType, Occupancy]  # of the queue that launched last
    ring_launch_counts: Mapping[CoreType, int]  # launches that took room in a ring
    stall_counts: Mapping[Stall, int]
    cache_counts: Mapping[tuple[Cache, CacheOutcome], int]
    refusal_count: int  # how often memory ran out
    clash_count: int
    estimated_pools: frozenset[Pool] = frozenset()  # hold what the model can only estimate
    estimated_caches: frozenset[Cache] = frozenset()

    def __getitem__(self, place: int) -> ChipTruth:
        return self.chips[place]


def truth_of(host: Host, traces: Traces) -> Truth:
    """Adds up the books of all places a chip belongs to; chips on which the same is written are worked out once."""
    images: Counter[tuple[Cache, CacheOutcome]] = Counter()
    for account in host.accounts.values():
        for outcome, count in account.image_counts.items():
            images[outcome] += count
    queue = host.last_queue
    return Truth(
        chips=_chips(host),
        rings={one: queue.ring.occupancy(one) for one in queue.ring.core_types} if queue else {},
        ring_launch_counts=dict(host.reports.ring_launch_counts),
        stall_counts=dict(host.reports.stall_counts),
        cache_counts=dict(host.reports.cache_counts + images),
        refusal_count=host.refusal_count,
        clash_count=host.clash_count,
        estimated_pools=traces.estimated_pools,
        estimated_caches=traces.estimated_caches,
    )


def _chips(host: Host) -> tuple[ChipTruth, ...]:
    known: dict[tuple[int, ...], tuple[Taken, Taken]] = {}
    alike: dict[tuple[tuple[int, ...], tuple[int, ...]], dict[str, Any]] = {}
    numbers: dict[tuple[object, ...], int] = {}
    written = {id(one): numbers.setdefault(one.written(), len(numbers)) for one in host.accounts.values()}
    chips = []
    for chip, accounts in zip(host.chips, host.chip_accounts, strict=True):
        with_buffers = [account.footprint for account in accounts if account.footprint.regions]
        places = tuple(map(id, with_buffers))
        if places not in known:
            known[places] = planned(with_buffers), resident(with_buffers)
        key = places, tuple([written[id(account)] for account in accounts])
        if key not in alike:
            alike[key] = _figures(accounts, *known[places])
        chips.append(ChipTruth(unique_id=chip.unique_id, index=chip.index, **alike[key]))
    return tuple(chips)


def _figures(accounts: list[Account], cb_planned: Taken, cb_resident: Taken) -> dict[str, Any]:
    return {
        "used_bytes": _added([account.used_bytes for account in accounts]),
        "counts": _added([account.counts for account in accounts]),
        "view_count": sum(account.view_count for account in accounts),
        "kernel_type_bytes": _added([account.kernel_type_bytes for account in accounts]),
        "core_type_bytes": _added([account.core_type_bytes for account in accounts]),
        "cb_planned": cb_planned,
        "cb_resident": cb_resident,
        "launch_count": sum(account.launch_count for account in accounts),
        "distinct_image_count": sum(len(account.image_copies) for account in accounts),
        "duplicate_image_count": sum(
            sum(account.image_copies.values()) - len(account.image_copies) for account in accounts
        ),
        "duplicate_image_bytes": sum(account.duplicate_image_bytes for account in accounts),
    }


def _added(tables: list[Counter[_Key]]) -> dict[_Key, int]:
    first, *others = tables or [Counter()]
    added = dict(first)
    for table in others:
        for key, value in table.items():
            added[key] = added.get(key, 0) + value
    return {key: value for key, value in added.items() if value}
