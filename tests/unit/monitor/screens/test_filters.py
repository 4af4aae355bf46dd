"""The language of filters: what matches, and what is said about one that cannot be read."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.simulated.figures import GIB, NOON_NS
from tests.support.simulated.overviews import SECOND_NS, a_pool, a_row, an_overview
from ttmem.devices import Pool
from ttmem.monitor.parts.drawing import MonitorFrame
from ttmem.monitor.parts.filters import FIELDS, OTHER_NAMES, filter_of, problem_of
from ttmem.monitor.parts.process_entries import ProcessEntry, entries_of
from ttmem.snapshot.values import replace


def an_entry() -> ProcessEntry:
    row = a_row(
        1,
        user="ada",
        label="llama-70b prefill",
        command="python serve.py --port 80",
        chips=(2,),
        start_time_ns=NOON_NS - 90 * SECOND_NS,
        pools=(a_pool(Pool.DRAM, 5 * GIB), a_pool(Pool.L1, 0)),
        launch_count=None,
    )
    return entries_of(MonitorFrame(overview=replace(an_overview(4, 0), processes=(row,))))[0]


ENTRY = an_entry()


@pytest.mark.parametrize(
    ("text", "is_match"),
    [
        ("dram>4GiB", True),
        ("dram>5GiB", False),
        ("dram>=5g", True),
        ("dram < 5368709121", True),
        ("dram!=5GiB", False),
        ("dram:5GiB", True),
        ("l1==0", True),
        ("user==ADA", True),
        ("user=ad", False),
        ("user!=grace", True),
        ("user:d", True),
        ("label~=^llama.*fill$", True),
        ("label~=^70b", False),
        ('label=="llama-70b prefill"', True),
        ("command:'--port 80'", True),
        ("pid==4001", True),
        ("pid:4001", True),
        ("chip==2", True),
        ("chips>2", False),
        ("age>1m", True),
        ("age>2m", False),
        ("age<=90s", True),
        ("state==live", True),
        ("via:journal", True),
        ("llama", True),
        ("LLAMA prefill", True),
        ("llama mistral", False),
        ("dram>4GiB & user~=ada", True),
        ("dram>9GiB | user~=ada", True),
        ("dram>9GiB & user~=ada | pid==4001", True),
        ("dram>9GiB & (user~=ada | pid==4001)", False),
        ("dram>9GiB | user==ada & pid==1", False),
        ("launches>0", False),
        ("launches==0", False),
        ("", True),
        ("   ", True),
    ],
)
def test_a_filter_matches_what_it_says(text: str, is_match: bool) -> None:
    test = filter_of(text)

    assert (test is None or test(ENTRY)) is is_match
    assert problem_of(text) == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("dramm>4GiB", "column 1: no field dramm; there are pid, ppid, user"),
        ("dram>lots", "column 6: expected a size as 512, 64KiB or 1.5GiB, found lots"),
        ("dram>", "column 6: expected a value after >, found nothing"),
        ("pid==4001 & (", "column 14: expected a field or a word, found nothing"),
        ("(pid==1", "column 8: expected )"),
        ("pid==1)", "column 7: expected & or |, found )"),
        ("user>ada", "column 5: > needs a number; compare texts with == != ~= or :"),
        ("dram~=4", "column 5: dram is a number"),
        ("label~=[", "column 8: [ is no regular expression"),
        ("pid==x", "column 6: expected a number, found x"),
        ("age>5y", "column 5: expected a time as 90s, 5m, 2h or 3d, found 5y"),
        ("user=='ada", "column 7: the text that begins with ' does not end"),
        ("user ! ada", "column 6: expected !=, found !"),
        ("| ada", "column 1: expected a field or a word, found |"),
    ],
)
def test_what_is_wrong_with_a_filter_is_said_with_its_place(text: str, said: str) -> None:
    assert problem_of(text).startswith(said)


@given(st.text(alphabet="dram l1user>=<!~:&|()'\"4GiB.[x", max_size=24))
def test_any_text_is_a_filter_or_has_a_problem(text: str) -> None:
    if not problem_of(text):
        test = filter_of(text)
        assert test is None or test(ENTRY) in (True, False)


def test_every_field_can_be_compared() -> None:
    values = {"text": "x", "size": "1MiB", "time": "5m", "count": "3", "chip": "0"}

    assert [problem_of(f"{name}!={values[field.kind]}") for name, field in FIELDS.items()] == [""] * len(FIELDS)


def test_every_field_is_in_the_manual() -> None:
    manual = (Path(__file__).parents[4] / "docs/reference/monitor-processes.md").read_text()

    assert [name for name in (*FIELDS, *OTHER_NAMES) if f"`{name}`" not in manual] == []
