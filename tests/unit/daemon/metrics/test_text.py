"""A page as text: the format the asker wants, the same samples in both, and the same as the library would write."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_open

from tests.support.figures import a_busy_snapshot
from tests.support.scraped import a_lifetime, rows_of, samples_of, scraped, text_of
from ttmem.daemon.metrics import text as pages
from ttmem.daemon.metrics.families import Family, Page, Rows
from ttmem.daemon.metrics.registry import MetricsCollector
from ttmem.daemon.metrics.text import CLASSIC, OPEN_METRICS, PageText, chosen_format

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
NUMBERS = st.integers(0, 1 << 62) | st.floats(0, 1e18, allow_nan=False)


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ("", CLASSIC),
        ("*/*", CLASSIC),
        ("text/plain", CLASSIC),
        ("text/html, application/json", CLASSIC),
        ("application/openmetrics-text", OPEN_METRICS),
        ("application/openmetrics-text; version=1.0.0; charset=utf-8", OPEN_METRICS),
        ("application/openmetrics-text; version=9.9.9", CLASSIC),
        ("text/plain;q=0.9, application/openmetrics-text;q=0.2", CLASSIC),
        ("text/plain;q=nonsense, application/openmetrics-text;q=0.2", OPEN_METRICS),
        (PROMETHEUS_2, OPEN_METRICS),
        (PROMETHEUS_3, OPEN_METRICS),
    ],
)
def test_the_format_is_the_one_that_the_asker_likes_best(accept: str, chosen: str) -> None:
    assert chosen_format(accept) == chosen


@settings(max_examples=50)
@given(st.text(max_size=60))
def test_whatever_somebody_says_it_takes_there_is_a_page(accept: str) -> None:
    assert chosen_format(accept) in (CLASSIC, OPEN_METRICS)


@settings(max_examples=40)
@given(st.dictionaries(st.tuples(TEXTS, TEXTS), NUMBERS, max_size=4), NUMBERS)
def test_labels_and_numbers_come_through_as_they_are(sizes: dict[tuple[str, str], float], count: float) -> None:
    rows = Rows([SIZE, COUNT, ABOUT])
    for labels, number in sizes.items():
        rows.add(SIZE, labels, number)
    rows.add(COUNT, ("a",), count)

    found = scraped(Page(rows))

    assert found.pop(("ttmem_things_total", frozenset({("name", "a")}))) == float(count)
    assert found == {
        (SIZE.name, frozenset((name, label) for name, label in zip(SIZE.labels, labels, strict=True) if label)): float(
            number
        )
        for labels, number in sizes.items()
    }


def declarations(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("#")]


def test_a_page_says_what_the_library_would_say() -> None:
    rows = rows_of(a_busy_snapshot(), a_lifetime(0, 1))
    registry = CollectorRegistry()
    registry.register(MetricsCollector(lambda: rows))

    classic = generate_latest(registry).decode()
    opened = generate_open(registry).decode()  # type: ignore[no-untyped-call]

    assert samples_of(text_of(rows)) == samples_of(classic)
    assert samples_of(text_of(rows, OPEN_METRICS)) == samples_of(opened)
    assert declarations(text_of(rows, OPEN_METRICS)) == declarations(opened)


def test_what_nobody_knows_is_not_on_the_page() -> None:
    rows = Rows([SIZE])
    rows.add(SIZE, ("a", "b"), None)

    assert text_of(Page(rows)) == ""


def test_a_size_beyond_what_a_double_holds_is_written_in_full() -> None:
    rows = Rows([SIZE])
    rows.add(SIZE, ("a", ""), (1 << 62) + 1)

    assert text_of(Page(rows)).endswith('ttmem_size_bytes{name="a"} 4611686018427387905\n')


def test_heads_of_rows_are_forgotten_before_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_HEADS_MOST", 10)
    writer = PageText()

    for number in range(100):
        rows = Rows([SIZE])
        rows.add(SIZE, (str(number), ""), number)
        assert f'name="{number}"}} {number}\n' in writer.written(Page(rows), CLASSIC).decode()
        assert sum(map(len, writer._heads.values())) <= 11


def test_no_page_has_a_number_that_is_none() -> None:
    assert all(map(math.isfinite, scraped(rows_of(a_busy_snapshot(), a_lifetime(0, 1, 2))).values()))
