"""Pages of /metrics in tests: made from made-up figures, and read back as Prometheus would."""

from collections.abc import Iterable

from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_families
from prometheus_client.parser import text_string_to_metric_families as classic_families

from tests.support.simulated.figures import NOON_NS
from ttmem.collector.rows.sums import overview_of
from ttmem.daemon.metrics.exporter import Extras, chosen_format, page_of
from ttmem.daemon.metrics.families import ChipLifetime, Intake, Lifetime, Page
from ttmem.daemon.metrics.service import Service
from ttmem.devices import Pool
from ttmem.snapshot import Snapshot
from ttmem.tracking import Cache, CacheOutcome, Stall

Labels = frozenset[tuple[str, str]]
Samples = dict[tuple[str, Labels], float]
SECOND_NS = 1_000_000_000
SERVICE = Service("1.2.3", NOON_NS - 60 * SECOND_NS, dropped_line_count=3)
CLASSIC = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
NOTHING = Lifetime({}, Intake(), Intake())


def a_lifetime(*numbers: int) -> Lifetime:
    """Chips on which a little of everything happened."""
    happened = ChipLifetime(
        launches=12_345,
        clashes=1,
        allocations=tuple(100 + pool.number for pool in Pool),
        frees=tuple(50 + pool.number for pool in Pool),
        refusals=tuple(int(pool in (Pool.L1, Pool.CB)) for pool in Pool),
        stalls=tuple(17 * (stall is Stall.SPACE) for stall in Stall),
        caches=tuple(tuple(9 * (cache is Cache.JIT and outcome < 3) for outcome in CacheOutcome) for cache in Cache),
    )
    journals = Intake(events=90_000, lost=12, skipped=3, untabled=1, processes=4, last_ns=NOON_NS - 2 * SECOND_NS)
    return Lifetime(dict.fromkeys(numbers, happened), journals, Intake())


def rows_of(snapshot: Snapshot, lifetime: Lifetime = NOTHING, extras: Extras | None = None) -> Page:
    return page_of(overview_of(snapshot), lifetime, SERVICE, extras or Extras(), now_ns=NOON_NS + SECOND_NS // 4)


def text_of(page: Page, accept: str = CLASSIC) -> str:
    write, _ = chosen_format(accept)
    return write(page).decode()


def samples_of(text: str) -> Samples:
    """Every sample of a page, read by the library's parser for its format. A sample that stands twice is a fault."""
    is_open = text.endswith("# EOF\n")
    families: Iterable[object] = (open_families if is_open else classic_families)(text)
    found: Samples = {}
    for family in families:
        for sample in family.samples:  # type: ignore[attr-defined]
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in found, f"{key} stands twice"
            found[key] = float(sample.value)
    return found


def scraped(rows: Page) -> Samples:
    """What Prometheus takes from a page; both formats say the same."""
    classic, opened = samples_of(text_of(rows)), samples_of(text_of(rows, OPEN_METRICS))
    assert classic == opened
    return classic


def value(samples: Samples, name: str, **labels: str) -> float | None:
    """The only sample of a name with these labels among others; None if there is none."""
    wanted = labels.items()
    found = [value for (its, given), value in samples.items() if its == name and wanted <= dict(given).items()]
    assert len(found) <= 1, f"{name}{labels} is {found}"
    return found[0] if found else None
