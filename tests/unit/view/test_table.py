"""The table engine: which columns are shown in how much width, and what their cells look like."""

import pytest

from ttmem.view.table import Cell, Column, Forms, Line, Role, Span, cell, fitting_count, laid_out, plain, table

WORD, NUMBER = Column("LABEL"), Column("SIZE", is_right=True)


def rows(*texts: tuple[str, ...]) -> list[list[Cell]]:
    return [[cell(text) for text in row] for row in texts]


def test_words_begin_at_the_left_and_numbers_end_at_the_right() -> None:
    lines = table([WORD, NUMBER], rows(("a", "1"), ("model", "4096")), width=None)

    assert plain(lines) == " LABEL  SIZE\n a         1\n model  4096\n"


def test_gaps_give_way_before_words_and_numbers_never() -> None:
    given = rows(("a-long-label", "123456"))

    assert plain(table([WORD, NUMBER], given, width=20)).splitlines()[1] == " a-long-label 123456"
    assert plain(table([WORD, NUMBER], given, width=17)).splitlines()[1] == " a-long... 123456"
    assert plain(table([WORD, NUMBER], given, width=1)).splitlines()[1] == " a-lon... 123456"


def test_a_column_that_stretches_takes_what_is_left_within_bounds() -> None:
    def bar(width: int) -> Line:
        return (Span("#" * width),)

    for width, expected in ((None, 12), (40, 12), (12, 6), (9, 4)):
        [_, line] = table([Column("", least=4, most=12), NUMBER], [[bar, cell("1")]], width=width, gap=1)
        assert plain([line]).count("#") == expected


def test_columns_for_wide_screens_are_left_out_of_narrow_ones() -> None:
    columns = [WORD, Column("PEAK", is_right=True, wide_from=100)]

    assert laid_out(columns, rows(("a", "1")), width=99).shown == (0,)
    assert laid_out(columns, rows(("a", "1")), width=100).shown == (0, 1)
    assert laid_out(columns, rows(("a", "1")), width=None).shown == (0, 1)


def test_short_forms_come_before_columns_are_left_out_the_highest_rank_first() -> None:
    columns = [
        Column("PROGRAM", is_right=True, short_title="PROG", rank=2),
        Column("LAUNCHES", is_right=True, short_title="RUNS"),
        Column("TYPE", rank=1),
    ]
    row: list[Cell] = [cell("7"), cell("12"), Forms(cell("application"), cell("app"))]

    def shown(width: int) -> str:
        return plain(table(columns, [row], width=width))

    assert shown(31) == " PROGRAM  LAUNCHES  TYPE\n       7        12  application\n"
    assert shown(29) == " PROGRAM LAUNCHES TYPE\n       7       12 application\n"
    assert shown(28) == " PROG RUNS TYPE\n    7   12 app\n"
    assert shown(14) == " RUNS TYPE\n   12 app\n"
    assert shown(9) == " RUNS\n   12\n"
    assert shown(1) == " RUNS\n   12\n"


def test_a_layout_keeps_its_widths_whatever_is_on_screen() -> None:
    given = rows(("a", "1"), ("a-much-longer-label", "2"))
    layout = laid_out([WORD, NUMBER], given, width=80)

    assert plain([layout.line(given[0])]) == " a                       1\n"
    assert layout.titles(roles={1: Role.KEY})[-1] == Span("SIZE", Role.KEY)


@pytest.mark.parametrize(("width", "count"), [(None, 3), (80, 3), (16, 2), (11, 1), (1, 1)])
def test_columns_are_counted_that_fit_beside_the_first(width: int | None, count: int) -> None:
    columns = [Column("PID"), *(Column("DRAM", is_right=True) for _ in range(3))]

    assert fitting_count(columns, 1, width) == count
