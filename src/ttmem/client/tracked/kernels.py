"""The kernels of one target: each is charged once, however many dispatch paths tell of it and however often it runs.

first load                                 charged
the same load again                        nothing
again, with a type less surely found       nothing
again, with another size                   that size holds now; a smaller one is a finding of the ledger
again, as another type                     moved there
unload                                     given back
"""

from typing import NamedTuple

from ttmem import _native
from ttmem.client.reports import report_free, report_kernel_load, report_kernel_unload
from ttmem.client.tracked.images import Images
from ttmem.client.tracked.kernel_types import kernel_kind, kernel_pool, kernel_type_of
from ttmem.client.tracked.turns import turn
from ttmem.devices import Kind
from ttmem.tracking import FoundBy, KernelFacts

__all__ = ["KernelLoad", "Kernels"]

_NO_FACTS = KernelFacts()
_NO_TRUST = max(FoundBy) + 1


class KernelLoad(NamedTuple):
    """One load as it was told."""

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
        """On all cores: exact if the runtime said so, else by the seeds' rule."""
        exact = self.known.exact_bytes
        return self.size_bytes * self.core_count if exact is None else exact


class Loaded(NamedTuple):
    """A kernel that is charged."""

    load: KernelLoad
    kind: Kind
    found_by: FoundBy
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
            return self._load(kernel_id, load)

    def _load(self, kernel_id: int, load: KernelLoad) -> int | None:
        before = self._loaded.get(kernel_id)
        if before is not None and before.load == load:
            return None  # both dispatch paths tell of it
        known = load.known
        kernel_type, found_by = kernel_type_of(load.kernel_type, load.size_bytes, known)
        if before is not None:
            if _trust(found_by) > _trust(before.found_by) and _size(load) == _size(before.load):
                return None
            self._images.remove(before.load.known.image, before.load.known.payload_bytes)
        kind = kernel_kind(kernel_type)
        if before is not None and before.kind != kind:
            report_free(before.handle)
        handle = self._report(kernel_id, kind, load, int(kernel_pool(kernel_type, known.core_type)), found_by)
        self._loaded[kernel_id] = Loaded(load, kind, found_by, handle)
        self._images.add(known.image, known.payload_bytes)
        return kernel_type

    def unload(self, kernel_id: int) -> int:
        """Gives a kernel back; its program, or 0 if that was never told."""
        with turn():
            return self._unload(kernel_id)

    def _unload(self, kernel_id: int) -> int:
        loaded = self._loaded.pop(kernel_id, None)
        if loaded is None:  # the ledger tells what kind of mistake that was
            report_kernel_unload(self._target, kernel_id)
            return 0
        report_free(loaded.handle)
        known = loaded.load.known
        self._images.remove(known.image, known.payload_bytes)
        return known.program

    def _report(self, kernel_id: int, kind: Kind, load: KernelLoad, pool: int, found_by: FoundBy) -> int:
        known = load.known
        return report_kernel_load(
            self._target,
            kernel_id,
            int(kind),
            load.size_bytes,
            load.core_count,
            known.exact_bytes or 0,
            known.seed_rule_bytes or 0,
            known.program,
            pool,
            _native.client.intern(known.name) if known.name else 0,
            int(known.core_type),
            int(found_by),
        )


def _trust(found_by: FoundBy) -> int:
    """Lower is better; what nobody found is the worst."""
    return found_by or _NO_TRUST


def _size(load: KernelLoad) -> tuple[int, int, int]:
    return load.size_bytes, load.core_count, load.total_bytes
