"""What the ledger should say, worked out a second time with nothing but dicts.

Written from the rules of the product (one entry per process, target, kind and id; a mesh stands for all its chips; a
re-allocation replaces; a close ends all and excuses later frees; ...), not from the native core. Every figure is
summed afresh from what is alive, so no rule can be broken by a forgotten update. Slow, and meant to be obvious.

Devices are named by their unique id, or ("unknown", process, target) where nobody opened the target.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ttmem.devices import BinaryStatus, BufferType, Kind, Pool

SIZE_MOST = 1 << 42
POOL_OF_BUFFER = {
    BufferType.DRAM: Pool.DRAM,
    BufferType.L1: Pool.L1,
    BufferType.SYSTEM_MEMORY: Pool.HOST,
    BufferType.L1_SMALL: Pool.L1_SMALL,
    BufferType.TRACE: Pool.TRACE,
}
POOL_OF_KERNEL = {Kind.KERNEL_FABRIC: Pool.ETH, Kind.KERNEL_DISPATCH: Pool.DISPATCH}
KERNELS = (Kind.KERNEL_APPLICATION, Kind.KERNEL_FABRIC, Kind.KERNEL_DISPATCH)
CB_KINDS = (Kind.CIRCULAR_BUFFER, Kind.DATAFLOW_BUFFER, Kind.SCRATCHPAD)

DeviceName = Any
Key = tuple[int, int | Kind, int]  # target, kind, id


def clamped(size: int) -> int:
    """What is left of a size that no memory has: nothing of a negative one, else the most."""
    if 0 <= size <= SIZE_MOST:
        return size
    return 0 if size < 0 else SIZE_MOST


@dataclass(eq=False)
class Life:
    """One allocation, from its making to its end."""

    target: int
    kind: int | Kind
    id: int
    pool: int | Pool
    reserved: int
    requested: int = 0
    is_view: bool = False
    is_estimated: bool = False
    address: int = 0
    status: int | BinaryStatus = BinaryStatus.NOT_SENT
    launches: int = 0
    ended: str = ""  # "", freed, replaced, closed, excused

    @property
    def key(self) -> Key:
        return (self.target, self.kind, self.id)

    @property
    def is_allocation(self) -> bool:
        """A program without memory of its own is none."""
        return self.kind != Kind.PROGRAM_BINARY or self.reserved != 0


@dataclass
class Target:
    """A chip or a mesh that was opened."""

    chips: tuple[int, ...]
    mesh: tuple[int, int, int] | None = None  # id, rows, columns
    is_open: bool = True


@dataclass
class OpenPhase:
    name: str
    peaks: Counter[tuple[int, int | Pool]] = field(default_factory=Counter)  # by target and pool


class OracleProcess:
    """Everything one process said."""

    def __init__(self, name: str, oracle: "Oracle") -> None:
        self.name = name
        self.is_alive = True
        self.targets: dict[int, Target] = {}
        self.lives: list[Life] = []
        self.by_handle: dict[int, Life] = {}
        self.findings: Counter[str] = Counter()
        self.launches: Counter[int] = Counter()
        self.open_phases: dict[int, OpenPhase] = {}
        self.phase_peaks: dict[tuple[str, int, int | Pool], tuple[int, int]] = {}  # name, target, pool: peak, runs
        self.out_of_memory: list[tuple[DeviceName, int, int, int, int]] = []
        self.clashes: list[tuple[DeviceName, int | None, int, int]] = []
        self.peaks: Counter[tuple[DeviceName, int | Pool]] = Counter()
        self.alive_at_peak: dict[tuple[DeviceName, int | Pool], list[Life]] = {}
        self._oracle = oracle

    # ---- what is there

    @property
    def live(self) -> dict[Key, Life]:
        return {life.key: life for life in self.lives if not life.ended}

    def devices_of(self, target: int) -> tuple[DeviceName, ...]:
        if target in self.targets:
            return self.targets[target].chips
        return (("unknown", self.name, target),)

    def held(self) -> Iterator[tuple[DeviceName, Life]]:
        """Every living allocation, once for each chip it lies on."""
        for life in self.live.values():
            for device in self.devices_of(life.target):
                yield device, life

    def used_by_target(self) -> Counter[tuple[int, int | Pool]]:
        used: Counter[tuple[int, int | Pool]] = Counter()
        for life in self.live.values():
            used[life.target, life.pool] += life.reserved
        return used

    def awaited_frees(self, target: int | None = None) -> int:
        """How many allocations a close has ended whose own free may still come without being a mistake."""
        return sum(life.ended == "closed" and target in (None, life.target) for life in self.lives)

    # ---- targets

    def open_device(self, target: int, unique_id: int) -> None:
        self.targets[target] = Target((unique_id,))
        self._oracle.measure()

    def open_mesh(self, target: int, mesh: tuple[int, int, int], chips: Iterable[int]) -> None:
        places = dict.fromkeys(device for chip in chips for device in self.devices_of(chip))
        self.targets[target] = Target(tuple(places), mesh)
        self._oracle.measure()

    def close(self, target: int) -> None:
        if target in self.targets:
            self.targets[target].is_open = False
        for life in self.live.values():
            if life.target == target:
                life.ended = "closed"
        self._oracle.measure()

    # ---- allocations

    def buffer(
        self,
        target: int,
        id: int,
        reserved: int,
        requested: int = 0,
        *,
        type: int = 0,
        is_view: bool = False,
        address: int = 0,
    ) -> Life:
        self._note_sizes(reserved, requested)
        reserved, requested = clamped(reserved), clamped(requested)
        pool = POOL_OF_BUFFER.get(type, Pool.UNKNOWN)  # type: ignore[call-overload]
        life = Life(
            target, Kind.BUFFER, id, pool, reserved or requested, requested or reserved, is_view, address=address
        )
        return self._make(life)

    def circular_buffer(
        self,
        target: int,
        id: int,
        size_per_core: int,
        cores: int,
        *,
        kind: int | Kind = Kind.CIRCULAR_BUFFER,
        is_view: bool = False,
    ) -> Life:
        self._note_sizes(size_per_core, clamped(size_per_core) * cores)
        charge = clamped(clamped(size_per_core) * cores)
        known = kind if kind in CB_KINDS else Kind.UNKNOWN
        return self._make(Life(target, known, id, Pool.CB, charge, charge, is_view))

    def kernel(
        self,
        target: int,
        id: int,
        kind: int | Kind,
        binary: int,
        cores: int,
        *,
        exact: int = 0,
        by_rule: int = 0,
        pool: int | Pool = 0,
    ) -> Life:
        """Exact bytes where known, else the rule binary x cores, marked as an estimate."""
        product = 0 if clamped(by_rule) else clamped(binary) * cores
        self._note_sizes(binary, exact, by_rule, product)
        rule = clamped(by_rule) or clamped(product)
        charge = clamped(exact) or rule
        known = kind if kind in KERNELS else Kind.KERNEL_UNKNOWN
        place = pool or POOL_OF_KERNEL.get(known, Pool.KERNEL)  # type: ignore[arg-type]
        return self._make(Life(target, known, id, place, charge, charge, is_estimated=not clamped(exact)))

    def _make(self, life: Life) -> Life:
        if life.is_view:
            life.reserved = 0
        before = self.live.get(life.key)
        if before:
            before.ended = "replaced"
            self._note_second_life(before, life)
        self.lives.append(life)
        self._oracle.measure()
        return life

    def _note_second_life(self, before: Life, life: Life) -> None:
        if life.kind in (*KERNELS, Kind.KERNEL_UNKNOWN):
            self.findings["shrunk_kernel"] += life.reserved < before.reserved
        elif life.kind != Kind.PROGRAM_BINARY:
            self.findings["replaced"] += 1

    def _note_sizes(self, *sizes: int) -> None:
        self.findings["clamped"] += any(clamped(size) != size for size in sizes)

    # ---- frees

    def free(self, handle: int) -> None:
        life = self.by_handle.get(handle)
        if life is None:
            self.findings["unknown_free"] += 1
        else:
            self._end(life)

    def free_id(self, target: int, kind: int | Kind, id: int) -> None:
        of_key = [life for life in self.lives if life.key == (target, kind, id)]
        awaited = [life for life in of_key if life.ended in ("", "closed")]
        if of_key:
            self._end((awaited or of_key)[-1])
        elif any((life.kind, life.id) == (kind, id) for life in self.live.values()):
            self.findings["wrong_target_free"] += 1
        else:
            self.findings["unknown_free"] += 1

    def _end(self, life: Life) -> None:
        if life.ended == "closed":
            life.ended = "excused"
        elif life.ended:
            self.findings["double_free"] += 1
        else:
            life.ended = "freed"
            self._oracle.measure()

    # ---- programs

    def status(self, target: int, program: int, status: int, dram_bytes: int = 0) -> None:
        self._note_sizes(dram_bytes)
        life = self._program(target, program, clamped(dram_bytes))
        life.status = status

    def launch(self, target: int, program: int) -> None:
        self.launches[target] += 1
        if program:
            self._program(target, program).launches += 1

    def _program(self, target: int, program: int, dram_bytes: int = 0) -> Life:
        there = self.live.get((target, Kind.PROGRAM_BINARY, program))
        if there and dram_bytes in (0, there.reserved):
            return there
        life = Life(target, Kind.PROGRAM_BINARY, program, Pool.DRAM, dram_bytes, dram_bytes)
        if there:  # its size became known: the same program with the same history
            life.status, life.launches = there.status, there.launches
        return self._make(life)

    # ---- phases and the rest

    def begin_phase(self, number: int, name: str) -> None:
        self.open_phases[number] = OpenPhase(name, self.used_by_target())

    def end_phase(self, number: int) -> None:
        phase = self.open_phases.pop(number, None)
        for (target, pool), peak in phase.peaks.items() if phase else ():
            if peak:
                place = (phase.name, target, pool) if phase else ("", 0, 0)
                highest, runs = self.phase_peaks.get(place, (0, 0))
                self.phase_peaks[place] = (max(highest, peak), runs + 1)

    def no_memory(self, target: int, pool: int, requested: int, free: int, largest: int) -> None:
        self._note_sizes(requested, free, largest)
        figures = (clamped(requested), clamped(free), clamped(largest))
        self.out_of_memory += [(device, pool, *figures) for device in self.devices_of(target)]

    def clash(self, target: int, program: int, cb_end: int, buffer: int) -> None:
        """An address that no device has is unknown, not cut."""
        places = [address if address < 1 << 48 else 0 for address in (cb_end, buffer)]
        self.clashes += [(device, program or None, places[0], places[1]) for device in self.devices_of(target)]


class Oracle:
    """All processes, and the chips they share."""

    def __init__(self) -> None:
        self.processes: dict[str, OracleProcess] = {}
        self.peaks: Counter[tuple[DeviceName, int | Pool]] = Counter()

    def start(self, name: str) -> OracleProcess:
        self.processes[name] = OracleProcess(name, self)
        return self.processes[name]

    def end(self, name: str) -> None:
        """The process died: it holds nothing any more, and its last figures stay readable."""
        self.processes[name].is_alive = False

    @property
    def living(self) -> list[OracleProcess]:
        return [process for process in self.processes.values() if process.is_alive]

    def measure(self) -> None:
        """Raises every peak that the present state exceeds."""
        together: Counter[tuple[DeviceName, int | Pool]] = Counter()
        for process in self.living:
            used: Counter[tuple[DeviceName, int | Pool]] = Counter()
            for device, life in process.held():
                used[device, life.pool] += life.reserved
            for place in used:
                if used[place] > process.peaks[place]:
                    process.peaks[place] = used[place]
                    process.alive_at_peak[place] = [
                        life for device, life in process.held() if (device, life.pool) == place
                    ]
            for phase in process.open_phases.values():
                phase.peaks |= process.used_by_target()
            together += used
        self.peaks |= together
