"""Traces: a stretch of launches recorded once, stored on the device, and replayed without the host.

    begin -- enqueues are recorded, not run -- end: planned and stored -- replay, any number of times -- release

The stored stream holds commands and arguments, never binaries; those stay with their workloads. How long the stream is
follows from the shapes of the commands as far as they are known, so its size is an estimate.
"""

import itertools
from dataclasses import dataclass

from ttmem.devices import Pool
from ttmem.metal.dispatch.trace_planner import TraceNode, TracePlan, plan_trace
from ttmem.metal.dispatch.trace_stream import stream_bytes
from ttmem.metal.memory import Buffer, BufferSpec
from ttmem.metal.programs import MeshWorkload, ProgramMisuse
from ttmem.metal.state.accounts import POOLS
from ttmem.metal.state.host import Capture, Host
from ttmem.metal.state.prefetcher_cache import CacheAnswer, Contents
from ttmem.metal.state.queue import ring_places
from ttmem.metal.state.trace_storage import TraceRegionFull, TraceStorage
from ttmem.tracking import Cache, CacheOutcome, CoreType, Refusal, RefusalKind

__all__ = ["Trace", "Traces"]

_trace_ids = itertools.count()


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace on the device."""

    id: int
    queue: int
    workloads: tuple[MeshWorkload, ...]
    plan: TracePlan
    fetches: tuple[CacheAnswer, ...]  # of the prefetcher's cache during a replay, for every program that is sent
    stream_bytes: int
    buffer: Buffer


class Traces:
    """The traces of one mesh."""

    def __init__(self, host: Host) -> None:
        chip = host.chips[0]
        self._host = host
        self._storage = TraceStorage(
            region_bytes=chip.trace_region_bytes, bank_count=chip.dram_bank_count, mesh_id=host.id
        )
        self._traces: dict[int, Trace] = {}
        self._put_aside: Contents | None = None
        self._has_replayed_estimate = False

    def __getitem__(self, trace: int) -> Trace:
        if trace not in self._traces:
            raise ProgramMisuse(f"no trace {trace} on device {self._host.id}")
        return self._traces[trace]

    def __len__(self) -> int:
        return len(self._traces)

    @property
    def estimated_pools(self) -> frozenset[Pool]:
        """Where streams lie whose length is an estimate."""
        alive = [trace for trace in self._traces.values() if trace.buffer.unique_id in self._host.buffers]
        return frozenset(POOLS[trace.buffer.buffer_type] for trace in alive if trace.plan.is_estimate)

    @property
    def estimated_caches(self) -> frozenset[Cache]:
        """Whose answers followed a plan that is an estimate."""
        return frozenset([Cache.TRACE] if self._has_replayed_estimate else [])

    def begin(self, queue: int) -> int:
        """From here on enqueues of a queue are recorded; the trace's id."""
        host = self._host
        host.refuse_if_closed()
        if not host.queues:
            raise ProgramMisuse("slow dispatch has no commands that could be recorded")
        if host.capture is not None:
            raise ProgramMisuse(f"trace {host.capture.trace} is still being captured")
        prefetcher = host.queue(queue).prefetcher
        self._put_aside = prefetcher.put_aside()
        host.capture = Capture(next(_trace_ids), queue)
        host.reports.tracker.track_trace_began(host.capture.trace, host)
        return host.capture.trace

    def end(self, trace: int) -> Trace:
        """Lays the recorded launches out and stores them; refused, the recording is lost and nothing else."""
        capture = self._finished(trace)
        try:
            stored = self._planned_and_stored(trace, capture)
        except BaseException:
            self._host.reports.tracker.track_trace_released(trace, self._host)
            raise
        self._traces[trace] = stored
        self._host.reports.tracker.track_trace_captured(trace, stored.buffer.reserved_bytes, self._host)
        return stored

    def _planned_and_stored(self, trace: int, capture: Capture) -> Trace:
        workloads = tuple(capture.workloads)
        try:
            _refuse_destroyed(trace, workloads)
            plan = self._plan(workloads)
            fetches = self._fetches(capture.queue, workloads, plan)
        finally:
            if self._put_aside is not None:
                self._host.queues[capture.queue].prefetcher.bring_back(self._put_aside)
        length_bytes = stream_bytes(workloads, [planned.send_binary for planned in plan.nodes])
        buffer = self._store(capture, length_bytes)
        return Trace(trace, capture.queue, workloads, plan, fetches, length_bytes, buffer)

    def replay(self, trace: int) -> None:
        """Runs all its launches again; binaries that are still in the ring are not sent."""
        host = self._host
        host.refuse_if_closed()
        found = self[trace]
        _refuse_destroyed(trace, found.workloads)
        host.reports.tracker.track_trace_replayed(trace, host)
        self._has_replayed_estimate |= found.plan.is_estimate
        for workload, planned in zip(found.workloads, found.plan.nodes, strict=True):
            if planned.node.binary_bytes:
                host.reports.cache(
                    Cache.TRACE,
                    CacheOutcome.MISS if planned.send_binary else CacheOutcome.HIT,
                    size_bytes=planned.node.binary_bytes,
                )
            for program in workload.programs.values():
                host.count_launch(program.id, program.place)
        host.last_queue = host.queue(found.queue)
        host.last_queue.replay(sum(planned.node.worker_count for planned in found.plan.nodes))

    def release(self, trace: int) -> None:
        """Frees what it takes on the device."""
        found = self[trace]
        del self._traces[trace]
        self._storage.release(trace)
        self._host.reports.tracker.track_trace_released(trace, self._host)
        found.buffer.deallocate()

    def _finished(self, trace: int) -> Capture:
        host = self._host
        capture = host.capture
        if capture is None or capture.trace != trace:
            raise ProgramMisuse(f"trace {trace} is not being captured")
        host.capture = None
        return capture

    def _plan(self, workloads: tuple[MeshWorkload, ...]) -> TracePlan:
        return plan_trace(
            [self._node(workload) for workload in workloads],
            ring_places(self._host.architecture),
            is_ethernet_code_fixed=not self._host.architecture.rings[CoreType.ACTIVE_ETH].has_code,
        )

    def _fetches(self, queue: int, workloads: tuple[MeshWorkload, ...], plan: TracePlan) -> tuple[CacheAnswer, ...]:
        """What each replay finds in the prefetcher's cache, which is empty when it begins; by program, not workload."""
        prefetcher = self._host.queues[queue].prefetcher
        page_bytes = self._host.architecture.payload_page_bytes
        return tuple(
            prefetcher.ask(program.id, program.payload_bytes(page_bytes))
            for workload, planned in zip(workloads, plan.nodes, strict=True)
            if planned.send_binary
            for program in workload.programs.values()
        )

    def _node(self, workload: MeshWorkload) -> TraceNode:
        offsets = next(iter(workload.programs.values())).offsets or {}
        tensix, ethernet = offsets.get(CoreType.TENSIX), offsets.get(CoreType.ACTIVE_ETH)
        return TraceNode(
            program=workload.id,
            config_bytes=tensix.slot_bytes - tensix.kernel_text_bytes if tensix else 0,
            binary_bytes=tensix.kernel_text_bytes if tensix else 0,
            worker_count=self._host.workers_of(self._host.requests[workload.id]),
            ethernet_bytes=ethernet.slot_bytes if ethernet else 0,
            has_ethernet_kernels=ethernet is not None,
        )

    def _store(self, capture: Capture, length_bytes: int) -> Buffer:
        try:
            stored = self._storage.store(capture.trace, length_bytes)
        except TraceRegionFull as refusal:
            self._report_full(refusal)
            raise
        try:
            spec = BufferSpec(stored.padded_bytes, stored.page_bytes, stored.buffer_type)
            buffer = self._host.create_buffer(spec, is_bottom_up=stored.is_bottom_up, holds_trace=True)
        except BaseException:
            self._storage.release(capture.trace)
            raise
        try:
            self._storage.check(capture.trace, buffer.address, capture.dram)
        except BaseException:
            self._storage.release(capture.trace)
            buffer.deallocate()
            raise
        return buffer

    def _report_full(self, refusal: TraceRegionFull) -> None:
        free_bytes = refusal.region_bytes - self._storage.used_bytes
        reported = Refusal(
            RefusalKind.OUT_OF_MEMORY,
            Pool.TRACE,
            requested_bytes=refusal.requested_bytes,
            free_bytes=free_bytes,
            largest_free_bytes=free_bytes,
            text=str(refusal),
        )
        self._host.report_refusal(reported)


def _refuse_destroyed(trace: int, workloads: tuple[MeshWorkload, ...]) -> None:
    gone = [workload.id for workload in workloads if workload.is_destroyed]
    if gone:
        raise ProgramMisuse(f"trace {trace} runs workloads that are destroyed: {gone}")
