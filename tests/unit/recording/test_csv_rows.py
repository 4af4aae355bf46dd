"""Columns of numbers as lines of CSV."""

import struct

import pytest

from ttmem.recording.csv_rows import ColumnForm, CsvColumn, csv_rows, wall_times


def words(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}Q", *numbers)


CLOCKS = words(100, 1_000, 200, (1 << 64) - 50)  # from 100 on a thousand more, from 200 on fifty less


def test_every_form_of_a_field() -> None:
    lines = csv_rows(
        [
            CsvColumn(words(0, 7, (1 << 64) - 1), ColumnForm.NUMBER),
            CsvColumn(words(0, 7, 8), ColumnForm.NUMBER_OR_NONE),
            CsvColumn(words(1, 0, 1), ColumnForm.TEXT, [b"", b'"a, ""b"""']),
            CsvColumn(words(99, 0, 250), ColumnForm.WALL_TIME, CLOCKS),
            CsvColumn(words(0, 3, 0xFFFF_FFFF_FFFF), ColumnForm.PROGRAM),
        ]
    )

    assert lines.decode().splitlines() == [
        '0,,"a, ""b""",1099,',
        "7,7,,,3",
        '18446744073709551615,8,"a, ""b""",200,0',
    ]


def test_times_since_boot_become_times_since_1970_by_the_clock_of_then() -> None:
    assert wall_times(words(0, 1, 150, 199, 200), CLOCKS) == words(0, 1_001, 1_150, 1_199, 150)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ([CsvColumn(words(2), ColumnForm.TEXT, [b"", b"a"])], "not in its table"),
        ([CsvColumn(words(1, 2), ColumnForm.NUMBER), CsvColumn(words(1), ColumnForm.NUMBER)], "different lengths"),
        ([CsvColumn(words(1), ColumnForm.WALL_TIME, b"")], "no pair of clocks"),
    ],
)
def test_what_does_not_fit_together_is_refused(fields: list[CsvColumn], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        csv_rows(fields)
