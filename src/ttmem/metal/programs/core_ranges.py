"""Sets of cores on one chip, by their logical places.

A set is held as one whole number with a bit for each core, so that unions and overlaps cost nothing, as the rectangles
that tt-metal's `CoreRangeSet` would merge it into, and as the rectangles it was put together from: a `CoreRangeSet`
keeps those unless asked to merge.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from ttmem.metal.chips.numbers import are_whole
from ttmem.metal.programs.refusals import ProgramMisuse

__all__ = ["CoreRange", "CoreRanges"]

# Places per row of the bit map: wider than any chip's grid, and than its count of ethernet channels.
ROW_BITS = 32


@dataclass(frozen=True, slots=True, order=True)
class CoreRange:
    """A rectangle of cores, both corners included."""

    first_x: int
    first_y: int
    last_x: int
    last_y: int

    def __post_init__(self) -> None:
        is_whole = are_whole(self.first_x, self.first_y, self.last_x, self.last_y)
        if not (is_whole and self.first_x <= self.last_x < ROW_BITS and self.first_y <= self.last_y):
            raise ProgramMisuse(
                f"no rectangle of cores: {self}; name its first and its last core, column and row from 0 on, columns "
                f"below {ROW_BITS}"
            )

    @property
    def core_count(self) -> int:
        return (self.last_x - self.first_x + 1) * (self.last_y - self.first_y + 1)

    @property
    def mask(self) -> int:
        """One bit for each of its cores."""
        row = ((1 << (self.last_x - self.first_x + 1)) - 1) << self.first_x
        return sum(row << (y * ROW_BITS) for y in range(self.first_y, self.last_y + 1))

    def overlaps(self, other: "CoreRange") -> bool:
        """Whether any core is in both."""
        return (
            self.first_x <= other.last_x
            and other.first_x <= self.last_x
            and self.first_y <= other.last_y
            and other.first_y <= self.last_y
        )

    def __str__(self) -> str:
        return f"{self.first_x},{self.first_y}-{self.last_x},{self.last_y}"

    @property
    def runtime_text(self) -> str:
        """As the runtime's messages write it."""
        return f"[{self.first_x}-{self.first_y} - {self.last_x}-{self.last_y}]"


class CoreRanges:
    """Cores of one chip; equal sets are equal however they were put together."""

    def __init__(self, ranges: Iterable[CoreRange]) -> None:
        self._given = tuple(ranges)
        mask = 0
        for one in self._given:
            mask |= one.mask
        self.mask = mask

    @classmethod
    def grid(cls, width: int, height: int) -> "CoreRanges":
        """All cores from the corner 0,0."""
        if not are_whole(width, height, least=1):
            raise ProgramMisuse(f"a grid of {width}x{height} cores; take at least one column and one row")
        return cls([CoreRange(0, 0, width - 1, height - 1)])

    @classmethod
    def at(cls, *cores: tuple[int, int]) -> "CoreRanges":
        """Single cores."""
        made = cls(CoreRange(x, y, x, y) for x, y in cores)
        made._given = ()
        return made

    @classmethod
    def first(cls, core_count: int, grid: tuple[int, int]) -> "CoreRanges":
        """`core_count` cores of a grid, row by row, as tt-metal's `num_cores_to_corerangeset` hands them out."""
        width, height = grid
        if not are_whole(core_count, least=1) or core_count > width * height:
            raise ProgramMisuse(f"{core_count} cores of a grid of {width}x{height}; take 1 to {width * height}")
        return cls.at(*((place % width, place // width) for place in range(core_count)))

    @classmethod
    def parse(cls, text: str) -> "CoreRanges":
        """Reads what `str` writes."""
        corners = [part.replace("-", ",").split(",") for part in text.split(";") if part]
        if not all(len(four) == 4 and all(map(str.isdecimal, four)) for four in corners):
            raise ProgramMisuse(f"no rectangles of cores: {text!r}; write them like 0,0-7,7;0,8-3,8")
        return cls(CoreRange(*(int(number) for number in four)) for four in corners)

    @cached_property  # benchmarks/promises/metal.py: the model's own pace
    def ranges(self) -> tuple[CoreRange, ...]:
        """Rectangles: the runs of each row, joined with an equal run in the row above (`CoreRangeSet::merge`)."""
        done: list[CoreRange] = []
        growing: dict[tuple[int, int], int] = {}
        rows = (self.mask.bit_length() + ROW_BITS - 1) // ROW_BITS
        for y in range(rows + 1):
            runs = list(_runs((self.mask >> (y * ROW_BITS)) & ((1 << ROW_BITS) - 1)))
            ended = [run for run in growing if run not in runs]
            done += [CoreRange(run[0], growing.pop(run), run[1], y - 1) for run in ended]
            for run in runs:
                growing.setdefault(run, y)
        return tuple(sorted(done, key=lambda one: (one.first_y, one.first_x)))

    @cached_property  # benchmarks/promises/metal.py: the model's own pace
    def pieces(self) -> tuple[CoreRange, ...]:
        """The rectangles it was put together from, in that order; `ranges` if there are none or some overlap."""
        is_apart = sum(one.core_count for one in self._given) == self.core_count
        return self._given if is_apart else self.ranges

    @property
    def in_order(self) -> Iterator[tuple[int, int]]:
        """Its cores as the runtime goes through them: piece after piece, each row by row."""
        for piece in self.pieces:
            for y in range(piece.first_y, piece.last_y + 1):
                for x in range(piece.first_x, piece.last_x + 1):
                    yield x, y

    @property
    def runtime_text(self) -> str:
        """As the runtime's messages write it."""
        return f"{{{', '.join(piece.runtime_text for piece in self.pieces)}}}"

    @cached_property  # benchmarks/promises/metal.py: the model's own pace
    def core_count(self) -> int:
        return self.mask.bit_count()

    def __contains__(self, core: tuple[int, int]) -> bool:
        return bool(self.mask >> (core[1] * ROW_BITS + core[0]) & 1)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        mask, place = self.mask, 0
        while mask:
            step = (mask & -mask).bit_length() - 1
            place += step
            yield place % ROW_BITS, place // ROW_BITS
            mask >>= step + 1
            place += 1

    def __or__(self, other: "CoreRanges") -> "CoreRanges":
        union = CoreRanges(())
        union.mask = self.mask | other.mask
        return union

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CoreRanges) and self.mask == other.mask

    def __hash__(self) -> int:
        return hash(self.mask)

    @cached_property  # benchmarks/promises/metal.py: the model's own pace
    def _text(self) -> str:
        return ";".join(map(str, self.ranges))

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"CoreRanges({self})"


def _runs(row: int) -> Iterator[tuple[int, int]]:
    """Runs of set bits, as first and last place."""
    place = 0
    while row:
        step = (row & -row).bit_length() - 1
        row >>= step
        place += step
        length = (~row & (row + 1)).bit_length() - 1
        yield place, place + length - 1
        row >>= length
        place += length
