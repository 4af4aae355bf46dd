"""A process of the stock runtime with the hook preloaded, and a collector that sees it from outside.

hooked = Hooked.started(stock, directory, "n150")
with hooked.opened() as device:
    hooked.ask({"do": "run", ...})
    look = hooked.look()                    what the collector knows once it has read everything

`is_hooked=False` starts the same without the hook, to compare with.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.hooked.looks import Look
from tests.support.journals.watching import Watch
from tests.support.timing.waiting import wait_until
from tests.support.ttnn.runtime import OpenedDevice, Runtime
from tests.support.ttnn.stock import Stock
from ttmem.doctor import hook

DRIVER = "tests.support.hooked.driver"


def hook_path() -> Path:
    """The library to preload, in the installed package."""
    path = hook.hook_path(os.environ)
    assert path is not None, "the hook was not built"
    return Path(path)


class Hooked:
    """The process, the directory of its journal, and whoever watches that."""

    def __init__(self, runtime: Runtime, journals: Path) -> None:
        self.runtime = runtime
        self.journals = journals
        self.watch = Watch(journals)

    @classmethod
    def started(
        cls,
        stock: Stock,
        directory: Path,
        board: str,
        *,
        is_slow: bool = False,
        is_hooked: bool = True,
        has_counters: bool = False,
        is_hybrid: bool = False,
        beside: str = "",
    ) -> "Hooked":
        """`has_counters`: with the runtime's own counters in shared memory; `is_hybrid`: with allocation by core;
        `beside`: another library that is preloaded."""
        journals = directory / "journals"
        journals.mkdir()
        settings = {"TTMEM_DIR": str(journals)}
        if is_hooked:
            preloaded = f"{hook_path()} {beside}".strip()
            settings |= {"TTMEM": "1", "TTMEM_SITES": "1", "LD_PRELOAD": preloaded}  # as `ttmem run` has it
        if has_counters:
            settings["TT_METAL_SHM_TRACKING_DISABLED"] = "0"
        if is_hybrid:
            settings["TT_METAL_ALLOCATOR_MODE_HYBRID"] = "1"
        runtime = Runtime.started(stock, directory, board, is_slow=is_slow, driver=DRIVER, settings=settings)
        return cls(runtime, journals)

    def stop(self) -> None:
        self.watch.collector.stop()
        self.runtime.stop()

    @property
    def pid(self) -> int:
        return self.runtime.pid

    def ask(self, request: dict[str, Any]) -> Any:
        return self.runtime.ask(request)

    @contextmanager
    def opened(self, mesh: tuple[int, int] = (1, 1), **options: Any) -> Iterator[OpenedDevice]:
        with self.runtime.opened(mesh, **options) as device:
            yield device

    def look(self) -> Look:
        """What the collector knows of the process when nothing is left to be read; it must be waiting for us."""
        wait_until(self._has_read_all)
        row = self.watch.process(self.pid)
        return Look(self.watch.rows(), self.watch.allocations(row["key"]), row["key"])

    def _has_read_all(self) -> bool:
        return self.watch.collector.tick() == 0 and not self._is_settling()

    def _is_settling(self) -> bool:
        return any(row["reason"] == "settling" for row in self.watch.rows()["processes"])


StartedHooked = Callable[..., Hooked]  # of a board, as the fixture `hooked_of` gives it
