"""Figures of runs that are compared count the runs between them that were left out, and pages say so."""

import pytest

from ttmem.analysis.growth import LeakReport, RunSeries
from ttmem.figures.growing import _per_run
from ttmem.view.growth import leak_page
from ttmem.view.page import PageOptions

UNBROKEN = tuple(range(7, 15))
BROKEN = (*UNBROKEN, 17, 18, 19, 20)


@pytest.mark.parametrize("runs", [UNBROKEN, BROKEN])
def test_what_a_run_adds_is_divided_by_all_runs(runs: tuple[int, ...]) -> None:
    assert _per_run([run * 4096 for run in runs], runs) == 4096


def series(runs: tuple[int, ...]) -> RunSeries:
    return RunSeries(
        process="pid 1 (a)",
        name="step",
        is_inferred=False,
        run_count=20,
        warmup_count=6,
        unsure_count=14 - len(runs),
        runs=runs,
    )


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        (UNBROKEN, "no line is alive more often after every run"),
        (BROKEN, "no line is alive more often in each compared run"),
    ],
)
def test_of_runs_that_were_left_out_nothing_is_said(runs: tuple[int, ...], said: str) -> None:
    report = LeakReport(path="run", series=(series(runs),), leaks=(), held=(), is_sure=True, doubts=())

    lines = leak_page(report, PageOptions(None, is_ascii=True), 5)

    assert said in "".join(span.text for line in lines for span in line)
