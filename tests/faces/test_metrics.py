"""The page of /metrics as it is stored, and the page of the docs about it: every metric described as it is served.

After a wanted change: UPDATE_GOLDEN=1 ./run test tests/faces, then read the difference.
"""

import os
import re
from pathlib import Path

import pytest

from tests.support.faces.scraped import CLASSIC, NOTHING, OPEN_METRICS, a_lifetime, rows_of, text_of
from tests.support.simulated.figures import a_busy_snapshot
from tests.support.simulated.overviews import a_device_usage, an_overview
from tests.support.simulated.read_figures import a_read_snapshot
from ttmem.cli.serve import serve
from ttmem.daemon.metrics.catalogue import FAMILIES
from ttmem.daemon.metrics.exporter import Extras
from ttmem.daemon.metrics.families import Family, Page
from ttmem.devices import Pool
from ttmem.snapshot import CacheUsage, ProcessUsage, replace
from ttmem.tracking import Cache

GOLDEN = Path(__file__).parent / "golden"
PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
DESCRIBED = re.findall(r"^\| `(tt\w+)` \| (\w+) \| (\w*) *\| ([^|]*)\| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)
FORBIDDEN_PORTS = ("9090", "9400", "8000", "5555", "8080", "8081")


def with_freed(process: ProcessUsage) -> ProcessUsage:
    """The same process, which has given something back."""
    held = (replace(one, pools=tuple(replace(pool, freed_bytes=4096) for pool in one.pools)) for one in process.devices)
    return replace(process, devices=tuple(held))


def everything() -> list[Page]:
    """Pages that have every metric between them."""
    busy = a_busy_snapshot()
    busy = replace(busy, processes=tuple(with_freed(process) for process in busy.processes))
    usage = a_device_usage(0)
    pools = tuple(replace(pool, largest_free_bytes=77) if pool.pool is Pool.L1 else pool for pool in usage.pools)
    caches = (CacheUsage(Cache.JIT, 9, 1, 0, 0, 0, 4, 4096, 0),)
    activity = replace(usage.activity, caches=caches)
    core = {"planned_core_bytes": 1_000_000, "fullest_core_bytes": 700_000, "headroom_bytes": 4096}
    chip = replace(usage, pools=pools, activity=activity, core_bytes=1_463_968, **core)
    read = a_read_snapshot()
    return [
        rows_of(busy, a_lifetime(0, 1), Extras(processes=busy.live, has_aliases=True)),
        rows_of(an_overview(0, 2, devices=(chip,)), a_lifetime(0)),
        rows_of(read, NOTHING, Extras(processes=read.live)),
    ]


@pytest.mark.parametrize(("name", "content_type"), [("metrics", CLASSIC), ("metrics-open", OPEN_METRICS)])
def test_the_page_looks_as_it_did(name: str, content_type: str) -> None:
    path = GOLDEN / f"{name}.txt"
    busy = a_busy_snapshot()
    text = text_of(rows_of(busy, a_lifetime(0), Extras(processes=busy.live, has_aliases=True)), content_type)
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")

    assert text == path.read_text(encoding="utf-8")


def test_every_metric_is_described_as_it_is_and_no_other() -> None:
    def shown(family: Family) -> tuple[str, str, str, tuple[str, ...]]:
        return family.name, family.type, family.unit, family.labels

    described = [
        (name, kind, unit, tuple(re.findall(r"`(\w+)`", labels))) for name, kind, unit, labels, *_ in DESCRIBED
    ]

    assert described == [shown(family) for family in FAMILIES]


def test_every_metric_is_served_where_there_is_something_to_tell() -> None:
    assert {family.name for rows in everything() for family, _ in rows} == {family.name for family in FAMILIES}


def test_flags_and_ports_of_the_pages_are_real() -> None:
    flags = {flag for option in serve.params for flag in option.opts}
    how_to = (Path(__file__).parents[2] / "docs" / "how-to" / "prometheus.md").read_text(encoding="utf-8")
    ports = set(re.findall(r"--listen 127\.0\.0\.1:(\d+)", how_to))

    assert set(re.findall(r"(--metrics-\w+|--listen)", PAGE + how_to)) <= flags
    assert ports
    assert ports.isdisjoint(FORBIDDEN_PORTS)
