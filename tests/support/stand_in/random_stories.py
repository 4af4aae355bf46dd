"""Stories at random for the stand-in, and what must be alive at their end by their own account."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random

from tests.support.stand_in.host import CHIP
from tests.support.stand_in.stories import a_matmul, an_add
from ttmem.devices import Pool

PAGE_BYTES = 2048
KERNELS_EACH, PARTS_EACH = 3, 3  # of an addition or a product


@dataclass(slots=True)
class Story:
    """Tells orders, and keeps what they made: buffers and launched programs by their numbers."""

    rng: Random
    meshes: dict[int, tuple[int, ...]] = field(default_factory=dict)
    buffers: dict[int, tuple[int, Pool]] = field(default_factory=dict)  # mesh, pool
    programs: dict[int, tuple[int, int]] = field(default_factory=dict)  # mesh, launches
    forgotten: set[int] = field(default_factory=set)  # buffers of closed meshes, which their holders still free
    late: set[int] = field(default_factory=set)  # programs of closed meshes
    _last: int = 0

    def orders(self, count: int) -> Iterator[str]:
        yield from self._open()
        acts = (self._open, self._close, self._imagine, self._refuse, self._late_end)
        for _ in range(count):
            act = self.rng.choice([*acts, *[self._allocate] * 5, *[self._free] * 4, *[self._launch] * 4, self._clear])
            yield from act()

    def _number(self) -> int:
        self._last += 1
        return self._last

    def _some(self, of: Mapping[int, object]) -> int | None:
        return self.rng.choice(sorted(of)) if of else None

    def _open(self) -> Iterator[str]:
        free = [chip for chip in range(8) if all(chip not in chips for chips in self.meshes.values())]
        if len(free) < 2:
            return
        chips = tuple(self.rng.sample(free, self.rng.choice([1, 2])))
        mesh = 2 * self._number() + 1
        self.meshes[mesh] = chips
        yield f"open {mesh} 1 {' '.join(map(str, chips))}"

    def _close(self) -> Iterator[str]:
        mesh = self._some(self.meshes)
        if mesh is None or self.rng.random() < 0.5:
            return
        del self.meshes[mesh]
        self.forgotten |= {number for number, (on, _) in self.buffers.items() if on == mesh}
        self.late |= {number for number, (on, _) in self.programs.items() if on == mesh}
        self.buffers = {number: of for number, of in self.buffers.items() if of[0] != mesh}
        self.programs = {number: of for number, of in self.programs.items() if of[0] != mesh}
        yield f"close {mesh}"

    def _allocate(self) -> Iterator[str]:
        mesh = self._some(self.meshes)
        if mesh is None:
            return
        number, pool = self._number(), self.rng.choice([Pool.DRAM, Pool.L1])
        self.buffers[number] = (mesh, pool)
        yield f"buffer {number} {mesh} {pool.name} {PAGE_BYTES * self.rng.randrange(1, 200)} {PAGE_BYTES}"

    def _imagine(self) -> Iterator[str]:
        for order in self._allocate():
            number = int(order.split()[1])
            del self.buffers[number]
            yield from ("capture on", order, "capture off", f"free {number}")

    def _refuse(self) -> Iterator[str]:
        mesh = self._some(self.meshes)
        if mesh is not None:
            yield f"buffer {self._number()} {mesh} L1 {1 << 40} {PAGE_BYTES}"

    def _free(self) -> Iterator[str]:
        number = self._some(self.buffers)
        if number is not None:
            del self.buffers[number]
            yield f"free {number}"

    def _launch(self) -> Iterator[str]:
        mesh, known = self._some(self.meshes), self._some(self.programs)
        if known is not None and self.rng.random() < 0.6:
            on, launches = self.programs[known]
            self.programs[known] = (on, launches + 1)
            yield f"enqueue {known}"
        elif mesh is not None:
            number = self._number()
            self.programs[number] = (mesh, 1)
            kind = self.rng.choice([an_add, a_matmul])
            yield from kind(number, workload=number, mesh=mesh, binaries=self._number())
            yield f"enqueue {number}"

    def _clear(self) -> Iterator[str]:
        number = self._some(self.programs)
        if number is not None:
            del self.programs[number]
            yield f"clear {number}"

    def _late_end(self) -> Iterator[str]:
        if self.forgotten:
            yield f"free {self.forgotten.pop()}"
        if self.late:
            yield f"clear {self.late.pop()}"

    def chips_of(self, mesh: int) -> tuple[int, ...]:
        return tuple(CHIP + chip for chip in self.meshes[mesh])
