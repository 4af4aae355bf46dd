"""The kernels of one target: each is charged once, however many dispatch paths report it and however often it runs.

first load                                 charged
the same load again                        nothing
again, with a type less surely found       nothing
again, with another size                   that size holds now; a smaller one is a finding of the ledger
again, as another type                     moved there
unload                                     given back
"""

from operator import index
from typing import NamedTuple

from ttmem import _native
from ttmem.client.claims import turn
from ttmem.client.reports import report_cache, report_free, report_kernel_load, report_kernel_unload
from ttmem.client.tracked.kernel_types import kernel_kind, kernel_pool, kernel_type_of
from ttmem.devices import Cache, CacheOutcome, FoundBy, Kind
from ttmem.tracking import KernelFacts

__all__ = ["KernelLoad", "Kernels"]

# Plain numbers: the hot calls take them faster than members of an enum.
_IMAGE = int(Cache.IMAGE)
_HIT, _MISS, _EVICTED = int(CacheOutcome.HIT), int(CacheOutcome.MISS), int(CacheOutcome.EVICTED)

_NO_FACTS = KernelFacts()
_NO_TRUST = len(FoundBy)
_ID_MOST = (1 << 64) - 1


class KernelLoad(NamedTuple):
    """One load as it was reported."""

    size_bytes: int
    kernel_type: int
    core_count: int
    facts: KernelFacts | None

    @property
    def known(self) -> KernelFacts:
        """Its facts, or none."""
        return self.facts or _NO_FACTS

    @property
    def total_bytes(self) -> int:
        """On all cores: exact if the runtime said so, else binary size x cores."""
        exact = self.known.exact_bytes
        return self.size_bytes * self.core_count if exact is None else exact


class Loaded(NamedTuple):
    """A kernel that is charged."""

    load: KernelLoad
    kind: Kind
    found_by: FoundBy
    image: int
    handle: int


class Kernels:
    """What is loaded on one target, by the runtime's ids of kernels."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._loaded: dict[int, Loaded] = {}
        self._images = Images(target)

    def load(self, kernel_id: int, load: KernelLoad) -> int | None:
        """Charges a kernel; its type, or None if there was nothing to charge."""
        with turn():
            return self._load(_folded(kernel_id), load)

    def _load(self, kernel_id: int, load: KernelLoad) -> int | None:
        before = self._loaded.get(kernel_id)
        if before is not None and before.load == load:
            return None  # both dispatch paths report it
        known = load.known
        kernel_type, found_by = kernel_type_of(load.kernel_type, load.size_bytes, known)
        is_less_sure = before is not None and _trust(found_by) > _trust(before.found_by)
        if before is not None and is_less_sure and _size(load) == _size(before.load):
            return None
        kind, pool = kernel_kind(kernel_type), kernel_pool(kernel_type, known.core_type)
        # What is no number raises here: then the former stays.
        words = _words(kernel_id, kind, load, pool.number, found_by)
        image, payload_bytes = index(known.image), index(known.payload_bytes)
        if before is not None:
            self._images.remove(before.image)
            if before.kind != kind:
                report_free(before.handle)
        handle = report_kernel_load(self._target, *words)
        self._loaded[kernel_id] = Loaded(load, kind, found_by, image, handle)
        self._images.add(image, payload_bytes)
        return kernel_type

    def unload(self, kernel_id: int) -> int:
        """Gives a kernel back; its program, or 0 if that was never reported."""
        with turn():
            return self._unload(_folded(kernel_id))

    def _unload(self, kernel_id: int) -> int:
        loaded = self._loaded.pop(kernel_id, None)
        if loaded is None:  # the ledger says what kind of mistake that was
            report_kernel_unload(self._target, kernel_id)
            return 0
        report_free(loaded.handle)
        self._images.remove(loaded.image)
        return loaded.load.known.program


class Images:
    """Equal binaries of several kernels: the images that are alive on one target, and what sharing them would save.

    The runtime stores every kernel of every program for itself (`populate_dispatch_data`), also if two of them compiled
    to the same image. A load of an image that is there already is a hit of the cache that could be, any other a miss,
    and every unload evicts one copy. An image has the size that was reported first, so that the sums come out even.
    """

    def __init__(self, target: int) -> None:
        self._target = target
        self._alive: dict[int, tuple[int, int]] = {}  # how many copies, and the size of one
        self._held_bytes = 0
        self._shared_bytes = 0

    def add(self, image: int, size_bytes: int) -> None:
        """One more kernel has this image; 0 is no image."""
        if not image:
            return
        copies, size_bytes = self._alive.get(image, (0, size_bytes))
        self._alive[image] = copies + 1, size_bytes
        if copies:
            self._shared_bytes += size_bytes
        else:
            self._held_bytes += size_bytes
        self._report(_HIT if copies else _MISS, size_bytes)

    def remove(self, image: int) -> None:
        """One kernel less has it."""
        if image not in self._alive:
            return
        copies, size_bytes = self._alive.pop(image)
        if copies > 1:
            self._alive[image] = copies - 1, size_bytes
            self._shared_bytes -= size_bytes
        else:
            self._held_bytes -= size_bytes
        self._report(_EVICTED, size_bytes)

    def _report(self, outcome: int, size_bytes: int) -> None:
        counts = len(self._alive), self._held_bytes, self._shared_bytes
        report_cache(self._target, _IMAGE, outcome, size_bytes, *counts)


def _words(kernel_id: int, kind: Kind, load: KernelLoad, pool: int, found_by: FoundBy) -> tuple[int, ...]:
    """What is reported of a kernel, after its target."""
    known = load.known
    return (
        index(kernel_id),
        kind.number,
        index(load.size_bytes),
        index(load.core_count),
        index(known.exact_bytes or 0),
        index(known.binary_times_cores_bytes or 0),
        index(known.program),
        pool,
        _native.client.intern(_site_text(known)) if known.name or known.packed_bytes else 0,
        index(known.core_type),
        found_by.number,
    )


def _site_text(known: KernelFacts) -> str:
    """A kernel's name, and behind a zero byte what native/src/journal/kernel_name.hpp says."""
    name = known.name.partition("\0")[0]
    sizes = ",".join(str(index(size)) for size in known.packed_bytes)
    return f"{name}\0{sizes}" if sizes else name


def _folded(kernel_id: int) -> int:
    """As a journal can hold it: 64 bits. Wider ones, which it would all take for one, stay apart."""
    return kernel_id if kernel_id <= _ID_MOST else kernel_id % _ID_MOST


def _trust(found_by: FoundBy) -> int:
    """Lower is better; what was not found is the worst."""
    return found_by.number or _NO_TRUST


def _size(load: KernelLoad) -> tuple[int, int, int]:
    return load.size_bytes, load.core_count, load.total_bytes
