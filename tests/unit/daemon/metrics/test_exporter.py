"""A page as prometheus_client writes it: the format the asker wants, the same samples in both, made once at a time."""

import math
import os
import sys
import threading
import traceback
from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.faces.scraped import CLASSIC, a_lifetime, rows_of, scraped, text_of
from tests.support.simulated.figures import NOON_NS, a_busy_snapshot
from tests.support.timing.waiting import PATIENCE_SECONDS, wait_until
from ttmem.collector import Collector
from ttmem.daemon.metrics.exporter import Asked, Exporter, chosen_format
from ttmem.daemon.metrics.families import Family, Page
from ttmem.daemon.metrics.service import Service
from ttmem.snapshot import Snapshot
from ttmem.sources import Places

PROMETHEUS_2 = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
PROMETHEUS_3 = (
    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,"
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=1.0.0;q=0.3,*/*;q=0.1"
)
SIZE = Family("ttmem_size_bytes", 'A "size" \\ of\nsomething.', ("name", "other"))
COUNT = Family("ttmem_things_total", "Things.", ("name",), "counter")
ABOUT = Family("ttmem_about_info", "What it is.", ("name", "other"), "info")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBERS = st.integers(0, 1 << 53) | st.floats(0, 1e18, allow_nan=False)


@pytest.mark.parametrize(
    ("accept", "begins"),
    [
        ("", CLASSIC),
        ("*/*", CLASSIC),
        ("text/plain", CLASSIC),
        ("text/html, application/json", CLASSIC),
        ("application/openmetrics-text", "application/openmetrics-text; version=1.0.0"),
        ("application/openmetrics-text; version=nonsense", CLASSIC),
        (PROMETHEUS_2, "application/openmetrics-text; version=1.0.0"),
        (PROMETHEUS_3, "application/openmetrics-text; version=1.0.0"),
    ],
)
def test_the_format_is_one_that_the_asker_takes(accept: str, begins: str) -> None:
    assert chosen_format(accept)[1].startswith(begins)


@settings(max_examples=50)
@given(st.text(max_size=60))
def test_whatever_somebody_says_it_takes_there_is_a_page(accept: str) -> None:
    write, content_type = chosen_format(accept)

    assert write(Page([SIZE])) in (b"", b"# EOF\n")
    assert content_type.startswith(("text/plain", "application/openmetrics-text"))


@settings(max_examples=40)
@given(st.dictionaries(st.tuples(TEXTS, TEXTS), NUMBERS, max_size=4), NUMBERS)
def test_labels_and_numbers_come_through_as_they_are(sizes: dict[tuple[str, str], float], count: float) -> None:
    page = Page([SIZE, COUNT, ABOUT])
    for labels, number in sizes.items():
        page.add(SIZE, labels, number)
    page.add(COUNT, ("a",), count)

    found = scraped(page)

    assert found.pop(("ttmem_things_total", frozenset({("name", "a")}))) == float(count)
    assert found == {
        (SIZE.name, frozenset((name, label) for name, label in zip(SIZE.labels, labels, strict=True) if label)): float(
            number
        )
        for labels, number in sizes.items()
    }


def test_what_nobody_knows_is_not_on_the_page() -> None:
    page = Page([SIZE])
    page.add(SIZE, ("a", "b"), None)

    assert text_of(page) == ""


def test_a_name_that_is_no_text_does_not_cost_the_page() -> None:
    page = Page([SIZE])
    page.add(SIZE, ("a\udc80", "é"), 1)

    assert 'ttmem_size_bytes{name="a?",other="é"} 1.0' in text_of(page)


def test_no_page_has_a_number_that_is_none() -> None:
    assert all(map(math.isfinite, scraped(rows_of(a_busy_snapshot(), a_lifetime(0, 1, 2))).values()))


def test_asked_twice_at_once_a_page_is_made_once(tmp_path: Path) -> None:
    asked, is_let_on, pages = [], threading.Event(), []

    class SlowCollector(Collector):
        def overview(self, details: Collection[int] = ()) -> Snapshot:
            asked.append(threading.get_ident())
            assert is_let_on.wait(PATIENCE_SECONDS)
            return super().overview(details)

    collector = SlowCollector(Places(uid=os.geteuid(), directory=str(tmp_path), stock_directory=str(tmp_path)))
    exporter = Exporter(collector, asked=Asked(), service=Service("1.2.3", NOON_NS))
    first, second = (threading.Thread(target=lambda: pages.append(exporter.page(""))) for _ in range(2))
    first.start()
    wait_until(lambda: asked)
    second.start()
    wait_until(lambda: waits_for_a_page(second))
    is_let_on.set()
    first.join(PATIENCE_SECONDS)
    second.join(PATIENCE_SECONDS)

    assert len(asked) == 1
    assert pages[0] == pages[1]
    assert exporter.page("")[0].startswith(b"# HELP ttmem_up")
    assert len(asked) == 2  # nothing of it is kept


def waits_for_a_page(thread: threading.Thread) -> bool:
    frame = sys._current_frames().get(thread.ident or 0)
    names = [one.name for one in traceback.extract_stack(frame)] if frame else []
    return "result" in names
