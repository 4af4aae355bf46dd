"""The stock runtime at work on a made-up machine, in a process of its own that speaks lines of JSON.

runtime = Runtime.started(stock, directory, "n300")
with runtime.opened((1, 2)) as device:
    answers = runtime.steps(steps)

Everything it writes stays in `directory`: its cache, its logs, and a tree of links to the package in which only the
compiler is another one.
"""

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.ttnn.clusters import CLUSTERS
from tests.support.ttnn.stock import Stock
from ttmem.metal.chips import DispatchCores

ROOT = Path(__file__).parents[3]
COMPILER = Path(__file__).with_name("stand_in_compiler.py")
DRIVER = "tests.support.ttnn.driver"
# The runtime's words for who dispatches; None: whoever it likes, which for slow dispatch is nobody.
CORE_TYPES = {None: None, DispatchCores.TENSIX: "WORKER", DispatchCores.ETHERNET: "ETH", DispatchCores.SLOW: None}
Step = dict[str, Any]


@dataclass(frozen=True, slots=True)
class OpenedDevice:
    """What the runtime says of a mesh it opened; a view is banks, then per bank size, allocated, free, largest free."""

    chips: int
    grid: tuple[int, int]
    first_cb_address: int
    views: dict[str, list[int]]


class Runtime:
    """One running process of the stock runtime."""

    def __init__(self, process: "subprocess.Popen[str]", log: Path, chips: Sequence[int]) -> None:
        self.chips = chips  # their unique ids, in the order of the description
        self._process = process
        self._log = log
        self._is_open = False

    @classmethod
    def started(
        cls,
        stock: Stock,
        directory: Path,
        board: str,
        *,
        is_slow: bool = False,
        driver: str = DRIVER,
        settings: Mapping[str, str] | None = None,
    ) -> "Runtime":
        """`settings` go into its environment, beside or instead of those it gets in any case."""
        log = directory / "runtime.log"
        environment, chips = _environment(stock, directory, board, is_slow=is_slow)
        with log.open("w", encoding="utf-8") as words:
            process = subprocess.Popen(
                [str(stock.python), "-m", driver],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=words,
                text=True,
                cwd=directory,
                env=environment | dict(settings or {}),
            )
        return cls(process, log, chips)

    @contextmanager
    def opened(
        self,
        mesh: tuple[int, int] = (1, 1),
        *,
        l1_small: int = 0,
        trace: int = 0,
        dispatch: str | None = None,
        worker_l1: int = 0,
    ) -> Iterator[OpenedDevice]:
        """A mesh of the machine, and nothing on it yet; closed at the end with whatever is still there."""
        options = {"l1_small": l1_small, "trace": trace, "dispatch": dispatch, "worker_l1": worker_l1}
        self._is_open = True
        said = self.ask({"do": "open", "mesh": mesh, **options})
        grid = (said["grid"][0], said["grid"][1])
        yield OpenedDevice(said["chips"], grid, said["first_cb_address"], said["views"])
        self.ask({"do": "close"})
        self._is_open = False  # a test that fails in between leaves a runtime that nobody should use any more

    @property
    def is_idle(self) -> bool:
        """Whether it is fit for another test."""
        return self._process.poll() is None and not self._is_open

    @property
    def pid(self) -> int:
        return self._process.pid

    def stop(self) -> None:
        """Nothing of it outlives its process, except counters in shared memory if it was told to keep them."""
        self._process.kill()
        self._process.communicate()
        for chip in self.chips:
            counters_of(chip).unlink(missing_ok=True)

    def steps(self, steps: Sequence[Step]) -> list[dict[str, Any]]:
        answers: list[dict[str, Any]] = self.ask({"do": "steps", "steps": steps})
        return answers

    def blocks(self) -> dict[str, list[list[int]]]:
        """Of each memory the stretches of a bank: where they begin, their size, and 1 if they are taken."""
        tables: dict[str, list[list[int]]] = self.ask({"do": "blocks"})
        return tables

    def operation(self, name: str, side: int, mode: str = "NORMAL") -> dict[str, Any]:
        """One operation on square matrices in DRAM: what it lays out in L1, or why it is refused."""
        answer: dict[str, Any] = self.ask({"do": "operation", "name": name, "side": side, "mode": mode})
        return answer

    def program(self, buffers: Sequence[dict[str, Any]], *, grid: tuple[int, int]) -> dict[str, Any]:
        """A program with these circular buffers: where they lie, or why it is refused."""
        last_core = [grid[0] - 1, grid[1] - 1]
        answer: dict[str, Any] = self.ask({"do": "program", "buffers": buffers, "last_core": last_core})
        return answer

    def ask(self, request: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            status = self._process.wait()
            raise AssertionError(f"the stock runtime ended with status {status}; its last words:\n{self._last_words()}")
        return json.loads(line)

    def _last_words(self) -> str:
        return "\n".join(self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-40:])


StartedRuntime = Callable[..., Runtime]  # of a board, as the fixture `runtime_of` gives it


def counters_of(chip: int) -> Path:
    """The file in which the runtime counts what is allocated on a chip."""
    return Path("/dev/shm") / f"tt_device_{chip}_memory"


def has_compiler() -> bool:
    """Whether operations can run, for which kernels are compiled."""
    return shutil.which("riscv64-unknown-elf-gcc") is not None


def _environment(stock: Stock, directory: Path, board: str, *, is_slow: bool) -> tuple[dict[str, str], Sequence[int]]:
    """It, and the unique ids of the chips, which are nobody else's."""
    description = directory / "cluster.yaml"
    first_chip = random.SystemRandom().randrange(1 << 40)
    description.write_text(CLUSTERS[board].text(first_chip), encoding="utf-8")
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("TT_", "TTMEM", "PYTEST"))}
    settings = {
        "HOME": str(directory),
        "TMPDIR": str(directory),
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMPI_MCA_btl": "self",  # else MPI leaves segments in shared memory
        "TT_METAL_DISABLE_BACKTRACE": "1",  # the stack of a refusal takes seconds to read
        "TT_METAL_CACHE": str(directory / "cache"),
        "TT_METAL_MOCK_CLUSTER_DESC_PATH": str(description),
        "TT_METAL_RUNTIME_ROOT": str(_tree(stock, directory / "root")),
        "TT_METAL_SHM_TRACKING_DISABLED": "1",
        "TT_LOGGER_LEVEL": "off",
    }
    chips = range(first_chip, first_chip + len(CLUSTERS[board].places))
    return ours | settings | ({"TT_METAL_SLOW_DISPATCH_MODE": "1"} if is_slow else {}), chips


def _tree(stock: Stock, root: Path) -> Path:
    """The package as links, with a compiler that the wheel does not carry."""
    compiler = root / "runtime" / "sfpi" / "compiler" / "bin" / "riscv-tt-elf-g++"
    compiler.parent.mkdir(parents=True)
    for part in (*stock.package.iterdir(), *(stock.package / "runtime").iterdir()):
        place = root / part.relative_to(stock.package)
        if not place.exists():
            place.symlink_to(part)
    compiler.write_text(f"#!/bin/sh\nexec '{sys.executable}' -IS '{COMPILER}' '{_version(stock)}' \"$@\"\n")
    compiler.chmod(0o755)
    return root


def _version(stock: Stock) -> str:
    """What the compiler of the wheel would say: with it the wheel's own firmware is found, and not compiled."""
    lines = (stock.package / "tt_metal" / "sfpi-version").read_text(encoding="utf-8").splitlines()
    said = dict(line.replace("'", "").split("=", 1) for line in lines if "=" in line)
    return f"riscv-tt-elf-g++ (tenstorrent/sfpi:{said['sfpi_version']}[{said['sfpi_build']}]) 15.1.0"
