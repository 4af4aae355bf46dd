"""The pages about charts and telemetry describe what is on the screen, and nothing else."""

import re
from pathlib import Path

from tests.support.simulated.histories import a_busy_history, some_chips
from tests.support.simulated.overviews import an_overview
from ttmem.monitor.parts.chart_marks import SIGNS
from ttmem.monitor.parts.drawing import DrawArea, MonitorFrame
from ttmem.monitor.screens import charts, telemetry
from ttmem.snapshot.telemetry import ChipTelemetry
from ttmem.view.table import Role, plain

DOCS = Path(__file__).parents[2] / "docs" / "reference"
OVERVIEW = an_overview(1)
FRAME = MonitorFrame(overview=OVERVIEW, history=a_busy_history(OVERVIEW), telemetry=some_chips(1))


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def first_cells(text: str) -> list[str]:
    """The first column of all tables, without their heads."""
    return re.findall(
        r"^\| ([^|\n]*?) \|", re.sub(r"^\| (?:column|card|variable) .*", "", text, flags=re.M), flags=re.M
    )


def test_every_column_of_the_telemetry_is_described_and_no_other() -> None:
    drawn = telemetry.draw(FRAME, DrawArea(250, 40), telemetry.TelemetryState())
    titles = {span.text.strip() for line in drawn.lines for span in line if span.role is Role.HEAD}
    processes = next(title for title in titles if title.startswith("PID"))
    shown = (titles - {processes}) | set(processes.split())

    described = {name for cell in first_cells(page("monitor-telemetry.md")) for name in cell.split(", ")}

    assert {name for name in described if re.fullmatch(r"[A-Z]{2}[A-Za-z ]*", name)} == shown


def test_every_key_of_the_document_is_named_on_the_page() -> None:
    chip = ChipTelemetry.__struct_fields__
    text = page("monitor-telemetry.md")

    assert [key for key in chip if f"`{key}`" not in text] == ["node"]


def test_every_sign_on_the_axis_of_time_is_explained() -> None:
    text = page("monitor-charts.md")

    assert [sign.character for sign in SIGNS.values() if f"`{sign.character}`" not in text] == []


def test_words_that_the_page_quotes_are_on_the_screen() -> None:
    shown = plain(list(charts.draw(FRAME, DrawArea(200, 58), charts.ChartsState()).lines))

    for words in ("last 60 s", "highest of every 1 s", "highest ", "planned ", "WHAT HAPPENED", "|prefill"):
        assert words in shown
        assert words.strip().replace("|", r"\|") in page("monitor-charts.md")
