"""Phases and marks on the axis of time: every column is taken once, and names are whole or not there."""

import pytest

from ttmem.devices import Pool
from ttmem.monitor.parts.chart_marks import TimeSpan, axis, phase_lane, words_of
from ttmem.snapshot.history import Mark, MarkKind
from ttmem.snapshot.values import TimeNs
from ttmem.view.table import plain


def a_mark(second: int, what: MarkKind, text: str) -> Mark:
    return Mark(TimeNs(second * 10**9), what, text)


@pytest.mark.parametrize("times", [(0, 10), (0, 2, 10), (0, 3, 4, 10), (0, 6, 7)])
def test_phases_take_the_columns_that_their_letters_take(times: tuple[int, ...]) -> None:
    marks = [
        a_mark(second, "phase_began", name)
        for second, name in zip(times, ["漢字漢字", "e\u0301tude", "b", "漢"], strict=False)
    ]
    for width in (10, 11, 20):
        for is_ascii in (False, True):
            lane = phase_lane(marks, TimeSpan(0, 10 * 10**9, width), is_ascii=is_ascii)
            assert sum(span.width for span in lane) == width


def test_of_a_phase_with_others_inside_no_single_letters_are_left() -> None:
    marks = [
        a_mark(0, "phase_began", "decode"),
        a_mark(3, "phase_began", "a"),
        a_mark(5, "phase_ended", "a"),
        a_mark(9, "phase_ended", "decode"),
    ]

    assert plain([phase_lane(marks, TimeSpan(0, 10 * 10**9, 10), is_ascii=False)]).rstrip("\n") == "|··|a·····"


def test_a_name_is_not_cut_where_nothing_follows() -> None:
    marks = [a_mark(1, "phase_began", "decode"), a_mark(2, "phase_ended", "decode")]
    span = TimeSpan(0, 10 * 10**9, 10)

    assert plain([phase_lane(marks, span, is_ascii=False)]).rstrip("\n") == " |decode"
    marks.append(a_mark(4, "phase_began", "prefill"))
    assert plain([phase_lane(marks, span, is_ascii=False)]).rstrip("\n") == " |· |prefi"


@pytest.mark.parametrize("second", range(11))
def test_a_mark_on_a_phase_takes_one_column(second: int) -> None:
    marks = [a_mark(0, "phase_began", "漢字漢字"), a_mark(second, "out_of_memory", "job")]
    line = axis(marks, TimeSpan(0, 10 * 10**9, 11), has_phases=True, is_ascii=False)

    assert sum(span.width for span in line) == 11
    assert plain([line]).count("!") == 1


def test_words_move_together_before_a_name_is_cut() -> None:
    mark = Mark(TimeNs(0), "out_of_memory", "oom-fragmented", 26490, 2, Pool.DRAM, 56 << 20)
    wide, narrow = (plain([words_of(mark, "2", width=width, is_ascii=True)]) for width in (90, 80))

    assert "DRAM 56.0 MiB wanted  chip 2  pid 26490  oom-fragmented" in wide
    assert "DRAM 56.0 MiB wanted chip 2 pid 26490 oom-fragmented" in narrow
