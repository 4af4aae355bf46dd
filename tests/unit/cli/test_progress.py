"""The line about work that takes longer than a second."""

import io
from collections.abc import Iterator

import pytest

from ttmem.cli.common.progress import Progress


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def seconds(*values: float) -> Iterator[float]:
    yield from values


def progressed(stream: io.StringIO, *times: float, total: int) -> str:
    """What is written if some tenth of all is done at each of these times."""
    clock = seconds(0.0, *times)
    with Progress("reading run.ttmem", total=total, stream=stream, clock=lambda: next(clock)) as progress:
        for _ in times:
            progress.advance(1_000_000)
    return stream.getvalue()


def test_work_of_less_than_a_second_says_nothing() -> None:
    assert progressed(Terminal(), 0.5, 0.9, total=10_000_000) == ""


def test_after_a_second_bar_rate_and_time_left_are_shown_and_taken_away_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")

    said = progressed(Terminal(), 0.9, 2.0, 2.05, total=10_000_000)

    assert said == (
        "\rreading run.ttmem ███▏░░░░░░░░░░░░ 20 %  2,000,000 of 10,000,000 events  1.0M/s  8 s left\x1b[K\r\x1b[K"
    )


def test_a_pipe_hears_nothing() -> None:
    assert progressed(io.StringIO(), 2.0, 9.0, total=10_000_000) == ""


@pytest.mark.parametrize(
    ("total", "done", "after", "line"),
    [
        (0, 5_000, 2.0, "diff  5,000 events  2,500/s"),
        (1_000, 10, 4.0, "diff ▏░░░░░░░░░░░░░░░ 1 %  10 of 1,000 events  2/s  6 min 36 s left"),
        (100_000, 10, 10.0, "diff ▏░░░░░░░░░░░░░░░ 0 %  10 of 100,000 events  1/s  27 h 46 min left"),
        (10, 10, 5.0, "diff ████████████████ 100 %  10 of 10 events  2/s"),
    ],
)
def test_how_far_it_is_is_said_in_one_line(total: int, done: int, after: float, line: str) -> None:
    progress = Progress("diff", total=total, stream=Terminal(), clock=lambda: 0.0)
    progress.advance(done)

    assert progress.line(after) == line
