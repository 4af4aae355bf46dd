"""One run of pytest with `--ttmem`: each test is measured, limits are judged, figures are printed and compared.

With xdist every worker measures its own tests; the process that leads them reports, and writes the baseline.
"""

import gc
import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

import ttmem
from ttmem.budgets.baseline import Figures, read_baseline, write_baseline
from ttmem.budgets.limits import CORE, MEASURED_POOLS, Increase, MemoryLimit, limits_of, parsed_limits, warmups_of
from ttmem.budgets.measuring import MemoryMeter, MeteredSample
from ttmem.budgets.texts import Excess, failure_text, increase_line, summary_lines
from ttmem.switches import is_off

__all__ = ["MeasuredSession"]

_PROPERTY = "ttmem"  # of a test's report: its figures
_SEEN, _TROUBLE, _MISSING = "ttmem_has_seen_device", "ttmem_trouble", "ttmem_missing"
_HOOK, _RUNTIME = "libttmem_hook", "libtt_metal"
_BEGAN = pytest.StashKey[MeteredSample | None]()


class MeasuredSession:
    """Hooks of pytest. A limit that was written wrongly is a UsageError, at the beginning where that can be seen."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._meter = MemoryMeter(os.environ.get("TTMEM_RUN", "").rpartition(",")[2])
        self._limits = {
            **parsed_limits(config.getini("ttmem_limits"), "ttmem_limits"),
            **parsed_limits(config.getoption("ttmem_limit"), "--ttmem-limit"),
        }
        path = config.getoption("ttmem_baseline")
        ini = config.getini("ttmem_baseline")
        self._path = Path(path) if path else config.rootpath / ini if ini else None
        self._is_updated = bool(config.getoption("ttmem_update_baseline"))
        self._baseline = None if self._path is None or self._is_updated else read_baseline(self._path)
        increase = config.getoption("ttmem_fail_on_increase") or config.getini("ttmem_fail_on_increase")
        if self._path is None and (increase or self._is_updated):
            raise pytest.UsageError("--ttmem-baseline FILE is missing: it names what to compare with")
        self._increase = Increase.parsed(increase) if increase else None
        self._figures: dict[str, Figures] = {}
        self._has_seen_device = False
        self._trouble = ""  # what went wrong
        self._missing = ""  # why nothing was reported, if nothing was
        if not is_off(os.environ.get("TTMEM", "")):
            ttmem.enable()
            if not is_off(os.environ.get("TTMEM_SITES", "")):
                ttmem.record_sites()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, None, None]:
        item.stash[_BEGAN] = self._meter.sample()
        yield

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        limits, warmups = self._asked_of(item)
        before_leaks = self._warmed_up(item, warmups)
        yield
        if before_leaks is not None:
            gc.collect()
        began, ended = item.stash[_BEGAN], self._meter.sample()
        if began is None or ended is None:
            return
        highest = _together(before_leaks, ended)
        found = self._leaks(before_leaks, ended) if before_leaks is not None else []
        found += self._excesses(limits, highest, began, ended)
        increases = self._told(item, highest)
        if found or increases:
            pytest.fail(failure_text(found, increases), pytrace=False)

    def _asked_of(self, item: pytest.Item) -> tuple[dict[str, MemoryLimit], int | None]:
        """Its limits, and how often it runs before leaks are looked for. A marker that was written wrongly fails it."""
        try:
            return limits_of(item, self._limits), warmups_of(item)
        except pytest.UsageError as error:
            pytest.fail(str(error), pytrace=False)

    def _warmed_up(self, item: pytest.Item, warmups: int | None) -> MeteredSample | None:
        """Runs a test that must not leak so often, and remembers what is held then."""
        if warmups is None or item.stash[_BEGAN] is None:
            return None
        for _ in range(warmups):
            item.runtest()
        gc.collect()
        return self._meter.sample()

    def _leaks(self, before: MeteredSample, after: MeteredSample) -> list[Excess]:
        found = []
        for (chip, pool), size_bytes in after.held.items():
            left_bytes = size_bytes - before.held.get((chip, pool), 0)
            if pool in MEASURED_POOLS and left_bytes > 0:
                word, holders = self._meter.alive_since(before._replace(numbers=after.numbers), chip, pool)
                found.append(Excess("left behind", word, pool, left_bytes, None, holders))
        return found

    def _excesses(
        self,
        limits: dict[str, MemoryLimit],
        highest: dict[tuple[int, str], int],
        began: MeteredSample,
        ended: MeteredSample,
    ) -> list[Excess]:
        """Of each pool that was over its limit the chip that was most."""
        found = []
        times = (began.at_ns, ended.at_ns)
        for pool, limit in limits.items():
            if pool == CORE:
                core = self._meter.fullest_core(*times)
                chip, size_bytes = (core.chip, core.size_bytes) if core is not None else (0, 0)
            else:
                sizes = {chip: size for (chip, its), size in highest.items() if its == pool}
                chip = max(sizes, key=lambda one: sizes[one], default=0)
                size_bytes = sizes.get(chip, 0)
            if size_bytes > limit.size_bytes:
                word, holders = self._meter.holders(chip, pool, *times)
                found.append(Excess("highest", word, pool, size_bytes, limit, holders))
        return found

    def _told(self, item: pytest.Item, highest: dict[tuple[int, str], int]) -> list[str]:
        """Puts the figures into the report of the test; what grew by more than is allowed."""
        figures = {
            pool: max((size for (_, its), size in highest.items() if its == pool), default=0) for pool in MEASURED_POOLS
        }
        figures = {pool: size for pool, size in figures.items() if size}
        item.user_properties[:] = [one for one in item.user_properties if one[0] != _PROPERTY]
        item.user_properties.append((_PROPERTY, figures))
        before = (self._baseline or {}).get(item.nodeid)
        if before is None or self._increase is None:
            return []
        return [
            increase_line(pool, before.get(pool, 0), size)
            for pool, size in figures.items()
            if size > self._increase.most(before.get(pool, 0))
        ]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            for name, figures in report.user_properties:
                if name == _PROPERTY and isinstance(figures, dict):
                    self._figures[report.nodeid] = figures

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Of xdist: a worker has ended."""
        output = getattr(node, "workeroutput", {})
        self._has_seen_device |= bool(output.get(_SEEN))
        self._trouble = self._trouble or str(output.get(_TROUBLE, ""))
        self._missing = self._missing or str(output.get(_MISSING, ""))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._has_seen_device |= self._meter.has_seen_device
        if self._meter.trouble:
            self._trouble = self._trouble or f"no recorder: {self._meter.trouble}"
        self._missing = self._missing or _missing_piece()
        output = getattr(self._config, "workeroutput", None)
        if output is not None:
            output |= {_SEEN: self._has_seen_device, _TROUBLE: self._trouble, _MISSING: self._missing}
        elif self._path is not None and self._baseline is None and self._has_seen_device:
            try:
                write_baseline(self._path, self._figures)
            except OSError as error:
                self._trouble = f"{self._path} cannot be written: {error.strerror}"

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        lines = summary_lines(self._figures, self._baseline)
        if self._path is not None and self._baseline is None and self._has_seen_device and not self._trouble:
            lines.append(f"baseline written: {self._path}")
        if not self._has_seen_device:
            missing = self._trouble or self._missing or "no test opened a device through ttnn or the ttmem client"
            lines.append(f"no device memory was reported: {missing}")
        elif self._trouble:
            lines.append(self._trouble)
        terminalreporter.section("device memory")
        for line in lines:
            terminalreporter.write_line(line)

    def pytest_unconfigure(self) -> None:
        self._meter.close()


def _together(earlier: MeteredSample | None, later: MeteredSample) -> dict[tuple[int, str], int]:
    """The highest of two samples that follow each other."""
    found = dict(later.highest)
    for name, size_bytes in (earlier.highest if earlier is not None else {}).items():
        found[name] = max(size_bytes, found.get(name, 0))
    return found


def _missing_piece() -> str:
    """What this process lacks to report, in one sentence."""
    if is_off(os.environ.get("TTMEM", "")):
        return f"TTMEM={os.environ.get('TTMEM')} turns tracking off: unset it"
    maps = Path("/proc/self/maps").read_text(errors="replace")
    if ("ttnn" in sys.modules or _RUNTIME in maps) and _HOOK not in maps:
        return "ttnn runs without the hook: start pytest as `ttmem run -- pytest --ttmem`"
    return ""
