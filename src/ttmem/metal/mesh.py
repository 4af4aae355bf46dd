"""`MeshDevice`: chips opened as one, and everything a program does with them.

from ttmem import metal

with metal.open_mesh("t3000", (2, 4)) as mesh:
    weights = mesh.create_buffer(metal.tensor((4096, 4096), "bfloat8_b"))
    metal.enqueue(mesh, metal.MeshWorkload(metal.Program()))
"""

from collections.abc import Sequence
from types import TracebackType

from ttmem.metal.chips import Board, Chip, DispatchCores, UnknownHardware
from ttmem.metal.chips import board as find_board
from ttmem.metal.chips.numbers import are_whole
from ttmem.metal.dispatch import fast, loading
from ttmem.metal.dispatch.traces import Trace, Traces
from ttmem.metal.memory import Buffer
from ttmem.metal.programs import MeshWorkload, Program, ProgramMisuse
from ttmem.metal.state.host import Host
from ttmem.metal.state.prefetcher_cache import Emptied
from ttmem.metal.system_programs import load_system_programs
from ttmem.metal.truth import Truth, truth_of
from ttmem.tracking import Tracker

__all__ = ["MeshDevice", "open_device", "open_mesh"]

QUEUE_COUNTS = (1, 2)  # that a device may have


class MeshDevice(Host):
    """An open mesh; a chip alone is a mesh of one. Closing it ends everything on it."""

    def __init__(
        self,
        chips: Sequence[Chip],
        shape: tuple[int, int],
        *,
        tracker: Tracker | None = None,
        command_queue_count: int = 1,
        has_fabric: bool | None = None,
        is_hybrid: bool = False,
    ) -> None:
        super().__init__(chips, shape, tracker=tracker, command_queue_count=command_queue_count, is_hybrid=is_hybrid)
        self.traces = Traces(self)
        if has_fabric is None:
            has_fabric = len(chips) > 1
        self.system_programs = load_system_programs(
            self, has_fabric=has_fabric, command_queue_count=command_queue_count
        )

    def begin_trace(self, queue: int = 0) -> int:
        """From here on enqueues are recorded, not run; the id of the trace."""
        return self.traces.begin(queue)

    def end_trace(self, trace: int) -> Trace:
        """Stores what was recorded."""
        return self.traces.end(trace)

    def replay_trace(self, trace: int) -> None:
        """Runs what was recorded."""
        self.traces.replay(trace)

    def release_trace(self, trace: int) -> None:
        """Gives its memory back."""
        self.traces.release(trace)

    def read(self, buffer: Buffer, queue: int = 0) -> None:
        """Reads a buffer back to the host, which takes the memory that the prefetcher caches binaries in."""
        if self.queues and buffer.is_allocated:
            self.queue(queue).empty_prefetcher(Emptied.READ)

    def truth(self) -> Truth:
        """What is true now, by the model's own arithmetic."""
        return truth_of(self, self.traces)

    def release_program(self, program: Program) -> None:
        if program.target is not None and program.owner is not self:
            raise ProgramMisuse(f"program {program.id} was not launched by itself here; destroy the workload it is of")
        loading.unload(self, program)

    def release_workload(self, workload: MeshWorkload) -> None:
        fast.release_workload(self, workload)

    def close(self) -> None:
        """Ends programs as their destructors do, then the device with all buffers that are still there."""
        if not self.is_open:
            return
        for program in self.system_programs:
            loading.unload(self, program)
        self.program_cache.clear()
        for workload in list(self.workloads.values()):
            workload.destroy()
        for program in list(self.programs.values()):
            loading.unload(self, program)
        self.end()

    def __repr__(self) -> str:
        rows, columns = self.shape
        state = "" if self.is_open else ", closed"
        return f"MeshDevice({self.id}, {self.chips[0].board} {rows}x{columns}, {self.dispatch.value} dispatch{state})"

    def __enter__(self) -> "MeshDevice":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_device(
    board: str = "n150",
    *,
    index: int = 0,
    tracker: Tracker | None = None,
    dispatch: DispatchCores | None = None,
    l1_small_bytes: int = 0,
    trace_region_bytes: int = 0,
    command_queue_count: int = 1,
    has_fabric: bool | None = None,
    is_hybrid: bool = False,
) -> MeshDevice:
    """Opens one chip of a board."""
    return open_mesh(
        board,
        (1, 1),
        chip_offset=index,
        tracker=tracker,
        dispatch=dispatch,
        l1_small_bytes=l1_small_bytes,
        trace_region_bytes=trace_region_bytes,
        command_queue_count=command_queue_count,
        has_fabric=has_fabric,
        is_hybrid=is_hybrid,
    )


def open_mesh(
    board: str,
    shape: tuple[int, int] | None = None,
    *,
    chip_offset: int = 0,
    tracker: Tracker | None = None,
    dispatch: DispatchCores | None = None,
    l1_small_bytes: int = 0,
    trace_region_bytes: int = 0,
    command_queue_count: int = 1,
    has_fabric: bool | None = None,
    is_hybrid: bool = False,
) -> MeshDevice:
    """Opens chips as one mesh: all of a board, or rows and columns of it from a chip on.

    A mesh larger than the board takes further boards of that kind. Without a word about it there is a fabric as soon
    as there is more than one chip. `is_hybrid` is the runtime's allocator mode HYBRID: buffers may be allocated by
    core (`Allocation.PER_CORE`).
    """
    kind = find_board(board)
    used = kind.default_dispatch if dispatch is None else dispatch
    shape = kind.shape if shape is None else shape
    _refuse_misuse(used, command_queue_count, tracker)
    chips = [
        kind.chip(index, dispatch=used, l1_small_bytes=l1_small_bytes, trace_region_bytes=trace_region_bytes)
        for index in _indices(kind, shape, chip_offset)
    ]
    return MeshDevice(
        chips,
        shape,
        tracker=tracker,
        command_queue_count=command_queue_count,
        has_fabric=has_fabric,
        is_hybrid=is_hybrid,
    )


def _refuse_misuse(dispatch: object, command_queue_count: object, tracker: object) -> None:
    """What could not be opened, before anything is."""
    if not isinstance(dispatch, DispatchCores):
        names = ", ".join(f"DispatchCores.{one.name}" for one in DispatchCores)
        raise UnknownHardware(f"no cores to dispatch with: {dispatch!r}; there are {names}")
    if not are_whole(command_queue_count, least=1) or command_queue_count not in QUEUE_COUNTS:
        raise UnknownHardware(f"{command_queue_count!r} command queues; a device has 1 or 2")
    if not isinstance(tracker, Tracker | None):
        raise ProgramMisuse(
            f"no tracker: {tracker!r}; use ttmem.GraphTracker(), a ttmem.tracking.Tracker of your own, or None to "
            "report nothing"
        )


def _indices(kind: Board, shape: tuple[int, int], offset: int) -> list[int]:
    """The chips of a mesh: a rectangle of the board if it is one, else one chip after the other."""
    if not (isinstance(shape, Sequence) and len(shape) == 2 and are_whole(*shape, least=1) and are_whole(offset)):
        raise UnknownHardware(
            f"no mesh of {shape!r} chips from chip {offset!r}; a shape is rows and columns, like {kind.shape}, and "
            "chips are counted from 0"
        )
    rows, columns = shape
    first_row, first_column = divmod(offset, kind.shape[1])
    if first_row + rows <= kind.shape[0] and first_column + columns <= kind.shape[1]:
        return [
            row * kind.shape[1] + column
            for row in range(first_row, first_row + rows)
            for column in range(first_column, first_column + columns)
        ]
    return list(range(offset, offset + rows * columns))
