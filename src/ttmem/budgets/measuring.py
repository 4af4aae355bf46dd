"""What the processes of a test hold together, chip by chip: a recorder beside them knows it exactly.

The recorder follows this process and all that carry the mark of this run, so sub-processes count and other workers of
the same run do not. It is started at the first test.
"""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ttmem.client.recorder_child import RecorderChild, RecorderGone

__all__ = ["Highest", "HoldingLine", "MemoryMeter", "MeteredSample"]

_MOST_BYTES = "1GiB"


class MeteredSample(NamedTuple):
    """One moment: by chip and pool the highest since the sample before, and what is held."""

    at_ns: int  # CLOCK_MONOTONIC
    wall_ns: int
    highest: dict[tuple[int, str], int]
    held: dict[tuple[int, str], int]
    numbers: dict[int, int]  # of chips, by their ids


class Highest(NamedTuple):
    """The highest that something was, and where."""

    chip: int
    size_bytes: int
    place: str = ""  # the core


class HoldingLine(NamedTuple):
    """One line, and what it held."""

    text: str
    size_bytes: int
    buffer_count: int


class MemoryMeter:
    """Asks the recorder. Without one `trouble` says why, and there are no samples."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self._child: RecorderChild | None = None
        self._directory = ""
        self.trouble = ""
        self.has_seen_device = False

    def sample(self) -> MeteredSample | None:
        """All that was reported before is in it."""
        answer = self._ask("sample")
        if answer is None:
            return None
        chips = [chip for chip in answer["chips"] if chip["chip"] is not None]
        self.has_seen_device |= bool(chips)
        figures = [(chip["chip"], pool, sizes) for chip in chips for pool, sizes in chip["pools"].items()]
        return MeteredSample(
            answer["at_ns"],
            answer["wall_ns"],
            {(chip, pool): sizes[0] for chip, pool, sizes in figures},
            {(chip, pool): sizes[1] for chip, pool, sizes in figures},
            {chip["chip"]: chip["number"] for chip in chips},
        )

    def fullest_core(self, from_ns: int, until_ns: int) -> Highest | None:
        """The fullest core of all chips between two samples."""
        answer = self._ask("cores", from_ns=from_ns, until_ns=until_ns)
        found = [Highest(*row) for row in answer["cores"]] if answer else []
        return max(found, key=lambda one: one.size_bytes, default=None)

    def holders(self, chip: int, pool: str, from_ns: int, until_ns: int) -> tuple[str, list[HoldingLine]]:
        """The chip as it is called, and which lines had a pool at its highest; pool l1_per_core: its fullest core."""
        return _holders(self._ask("holders", chip=chip, pool=pool, from_ns=from_ns, until_ns=until_ns), chip)

    def alive_since(self, sample: MeteredSample, chip: int, pool: str) -> tuple[str, list[HoldingLine]]:
        """The same of what was made since a sample and is still there."""
        answer = self._ask("alive", chip=chip, number=sample.numbers.get(chip, -1), pool=pool, since_ns=sample.wall_ns)
        return _holders(answer, chip)

    def close(self) -> None:
        """Ends the recorder, and drops what it has written."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
        if self._directory:
            shutil.rmtree(self._directory, ignore_errors=True)

    def _ask(self, order: str, **facts: Any) -> dict[str, Any] | None:
        if self.trouble:
            return None
        try:
            if self._child is None:
                self._directory = tempfile.mkdtemp(prefix="ttmem-pytest-")
                options = ("--mark", self._mark, "--max-size", _MOST_BYTES) if self._mark else ()
                self._child = RecorderChild(str(Path(self._directory) / "tests.ttmem"), options)
                self._child.ask("discard")  # also if this process is killed
            answer = self._child.ask(order, **facts)
        except (RecorderGone, OSError) as error:
            self.trouble = str(error)
            return None
        if "chips" not in answer and answer.get("trouble"):
            self.trouble = str(answer["trouble"])
            return None
        return answer


def _holders(answer: dict[str, Any] | None, chip: int) -> tuple[str, list[HoldingLine]]:
    if answer is None:
        return f"{chip:#x}", []
    return answer["word"], [
        HoldingLine(_text(names), size_bytes, count) for *names, size_bytes, count in answer["lines"]
    ]


def _text(names: Sequence[str]) -> str:
    """The line that asked and the one that called it, and the operation."""
    site, operation = names
    words = [" < ".join(map(_frame, site.split("\n"))), f"({operation})" if operation else ""]
    return " ".join(filter(None, words)) or "line not known"


def _frame(text: str) -> str:
    """Without the directories of its file."""
    place, blank, function = text.partition(" ")
    return f"{place.rpartition('/')[2]}{blank}{function}"
