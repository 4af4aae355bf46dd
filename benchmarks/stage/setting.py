"""What a benchmark gets to work with: the built programs, a directory of its own, and how much time to take."""

import os
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Setting:
    """`is_quick`: a smoke run; the same code with fewer repeats, for figures of no worth."""

    programs: Path
    directory: Path
    is_quick: bool

    def repeats(self, whole: int, quick: int = 1) -> int:
        return quick if self.is_quick else whole

    def environment(self, **settings: str) -> dict[str, str]:
        """The environment of a child: tracking on, journals in this setting's directory."""
        own = {"TTMEM": "1", "TTMEM_DIR": str(self.directory), "TTMEM_BENCH_ROOT": str(self.directory)}
        quick = {"TTMEM_BENCH_QUICK": "1"} if self.is_quick else {}
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TTMEM", "TT_ALLOC"))}
        return kept | own | quick | settings

    @contextmanager
    def fresh_directory(self) -> Iterator["Setting"]:
        """The same setting with a new directory, removed at the end."""
        with private_directory(self.directory) as directory:
            yield Setting(self.programs, directory, self.is_quick)


@contextmanager
def private_directory(below: Path) -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix="ttmem-bench-", dir=below))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def shared_memory_root() -> Path:
    """Where journals would be by default; the ordinary temporary directory where there is no shared memory."""
    root = Path("/dev/shm")
    return root if os.access(root, os.W_OK) else Path(tempfile.gettempdir())


def quantile(samples: list[float], part: float) -> float:
    ordered = sorted(samples)
    return ordered[round(part * (len(ordered) - 1))]


def median_of(count: int, measure: Callable[[], float]) -> float:
    return statistics.median(measure() for _ in range(count))
