"""What the host keeps so that it need not be made again: compiled kernels, and the workloads of operations.

Neither is device memory. But a cached workload keeps what it has on the device.
"""

from collections.abc import Callable, Hashable
from weakref import WeakSet

from ttmem.metal.programs.kernels import Kernel
from ttmem.metal.programs.mesh_workload import MeshWorkload
from ttmem.metal.programs.refusals import ProgramMisuse
from ttmem.metal.state.reports import Reports
from ttmem.tracking import Cache, CacheOutcome

__all__ = ["JitCache", "ProgramCache", "clear_kernel_cache"]


class KernelCache:
    """Every image that this process compiled, for whatever mesh, by the build it is for; it outlives all meshes."""

    def __init__(self) -> None:
        self.held_bytes = 0
        self.listeners: WeakSet[Reports] = WeakSet()  # of the meshes that are open; some are never closed
        self._images: set[tuple[Hashable, int]] = set()

    @property
    def entry_count(self) -> int:
        return len(self._images)

    def add(self, build: Hashable, kernel: Kernel) -> bool:
        """Whether it was there before."""
        key = (build, kernel.image)
        if key in self._images:
            return True
        self._images.add(key)
        self.held_bytes += kernel.packed_bytes
        return False

    def clear(self) -> None:
        """Forgets all images, and notifies every mesh that is open."""
        held_bytes = self.held_bytes
        has_held = bool(self._images)
        self._images.clear()
        self.held_bytes = 0
        for reports in list(self.listeners) if has_held else ():
            reports.cache(Cache.JIT, CacheOutcome.EMPTIED, size_bytes=held_bytes)


_compiled = KernelCache()


def clear_kernel_cache() -> None:
    """Forgets what this process compiled (`ClearKernelCache`); programs that are compiled stay so."""
    _compiled.clear()


class JitCache:
    """What one mesh asks of the kernels that its process compiled; on the host, so they cost no device memory."""

    def __init__(self, reports: Reports, build: Hashable) -> None:
        """`build`: what an image is compiled for. Kernels for another one are other images."""
        self._build = build
        self._reports = reports
        _compiled.listeners.add(reports)

    @property
    def entry_count(self) -> int:
        return _compiled.entry_count

    @property
    def held_bytes(self) -> int:
        return _compiled.held_bytes

    def compile(self, kernel: Kernel) -> bool:
        """Whether it was compiled before, for any mesh; if not, it is now."""
        is_hit = _compiled.add(self._build, kernel)
        self._reports.cache(
            Cache.JIT,
            CacheOutcome.HIT if is_hit else CacheOutcome.MISS,
            size_bytes=kernel.packed_bytes,
            entry_count=self.entry_count,
            held_bytes=self.held_bytes,
        )
        return is_hit

    def close(self) -> None:
        """The mesh asks no more; what it had compiled stays with the process."""
        _compiled.listeners.discard(self._reports)


class ProgramCache:
    """Workloads by key. Enabled when a device is opened; it can be set to forbid misses.

    It lives on the host, has no bound and forgets nothing by itself: it keeps the DRAM payload and the circular buffers
    of every operation alive until it is cleared.
    """

    def __init__(self, reports: Reports, payload_page_bytes: int) -> None:
        self.is_enabled = True
        self.allows_misses = True
        self.held_bytes = 0  # payloads in DRAM, on one chip
        self._workloads: dict[Hashable, MeshWorkload] = {}
        self._reports = reports
        self._page_bytes = payload_page_bytes

    def __contains__(self, key: Hashable) -> bool:
        return key in self._workloads

    @property
    def entry_count(self) -> int:
        return len(self._workloads)

    def get(self, key: Hashable, make: Callable[[], MeshWorkload]) -> MeshWorkload:
        """The workload of an operation, made by `make` if it never ran."""
        found = self._workloads.get(key) if self.is_enabled else None
        if found is None and not self.allows_misses:
            raise ProgramMisuse("Device operation not found in program cache, and misses are not allowed")
        workload = make() if found is None else found
        size_bytes = self._payload_bytes(workload) if found is None else workload.payload_bytes
        if found is None and self.is_enabled:
            self._workloads[key] = workload
            self.held_bytes += size_bytes
        self._reports.cache(
            Cache.PROGRAM,
            CacheOutcome.MISS if found is None else CacheOutcome.HIT,
            size_bytes=size_bytes,
            entry_count=self.entry_count,
            held_bytes=self.held_bytes,
        )
        return workload

    def clear(self) -> None:
        """Destroys every workload: payloads, kernels and circular buffers go."""
        workloads, held_bytes = list(self._workloads.values()), self.held_bytes
        self._workloads.clear()
        self.held_bytes = 0
        for workload in workloads:
            workload.destroy()
        if workloads:
            self._reports.cache(Cache.PROGRAM, CacheOutcome.EMPTIED, size_bytes=held_bytes)

    def _payload_bytes(self, workload: MeshWorkload) -> int:
        return max(program.payload_bytes(self._page_bytes) for program in workload.programs.values())
