"""Numbers as people read them."""

import pytest

from ttmem.view.texts import (
    age_text,
    clock_text,
    name_text,
    ranges_text,
    share_text,
    size_of_text,
    size_text,
    tight_size_text,
)

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (9 * KIB + 1000, "9.98 KiB"),
        (10 * KIB - 1, "10.0 KiB"),
        (64 * KIB, "64.0 KiB"),
        (100 * MIB - 1, "100 MiB"),
        (1023 * MIB, "1023 MiB"),
        (1024 * MIB - 1, "1.00 GiB"),
        (12 * GIB, "12.0 GiB"),
        (1 << 42, "4.00 TiB"),
        (1 << 63, "8.00 EiB"),
        (1 << 80, "1048576 EiB"),
        (None, "[N/A]"),
    ],
)
def test_a_size_has_three_digits_and_a_unit(size_bytes: int | None, text: str) -> None:
    assert size_text(size_bytes) == text


def test_a_size_below_2_to_the_63_has_at_most_8_characters() -> None:
    sizes = (size for power in range(63) for size in (2**power, 2**power - 1, 3 * 2**power // 2))

    assert max(len(size_text(size)) for size in sizes) == 8


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0, "0%"),
        (1e-9, "<1%"),
        (0.01, "1%"),
        (0.29, "29%"),
        (0.9999, "99%"),
        (1, "100%"),
        (1.04, "104%"),
        (None, "[N/A]"),
    ],
)
def test_a_share_is_full_or_empty_only_when_it_is(fraction: float | None, text: str) -> None:
    assert share_text(fraction) == text


@pytest.mark.parametrize(
    ("numbers", "text"), [([], ""), ([3], "3"), ([1, 0, 3, 2], "0-3"), ([0, 2, 3, 7], "0,2-3,7"), ([5, 4], "4-5")]
)
def test_numbers_become_ranges(numbers: list[int], text: str) -> None:
    assert ranges_text(numbers) == text


def test_a_time_nobody_knows_is_not_midnight() -> None:
    assert clock_text(None) == "[N/A]"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.00 s"),
        (0.25, "0.25 s"),
        (12.4, "12 s"),
        (59.4, "59 s"),
        (59.6, "59 s"),
        (90, "1 min"),
        (3599, "59 min"),
        (3 * 3600 + 600, "3 h 10 min"),
        (12 * 86_400 + 4 * 3600, "12 d 4 h"),
        (-5, "0.00 s"),
    ],
)
def test_an_age_has_one_or_two_units(seconds: float, text: str) -> None:
    assert age_text(int(seconds * 1e9)) == text


def test_an_unknown_age_is_not_zero() -> None:
    assert age_text(None) == "[N/A]"


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("512", 512),
        ("4GiB", 4 * GIB),
        ("1.5g", 3 * GIB // 2),
        (" 200 KiB ", 200 * KIB),
        (".5MB", MIB // 2),
        ("7 B", 7),
        ("", None),
        ("GiB", None),
        ("-1", None),
        ("1e3", None),
        ("4 GiBs", None),
    ],
)
def test_a_size_is_read_as_people_type_it(text: str, size_bytes: int | None) -> None:
    assert size_of_text(text) == size_bytes


@pytest.mark.parametrize("size_bytes", [0, 1023, 1024, 64 * KIB, 1023 * MIB, 12 * GIB, 1 << 62])
def test_a_tight_size_says_the_same_in_five_characters_and_can_be_read_back(size_bytes: int) -> None:
    text = tight_size_text(size_bytes)

    assert len(text) <= 5
    assert size_of_text(text) == size_of_text(size_text(size_bytes)) == size_bytes


@pytest.mark.parametrize(
    ("name", "word", "text"),
    [
        ("work/llama/model.py:118 forward\nmain.py:9 <module>", "site", "model.py:118 forward < main.py:9 <module>"),
        ("ttnn.add", "site", "ttnn.add"),
        ("prefill/long", "phase", "prefill/long"),
    ],
)
def test_a_line_is_named_without_the_directories_of_its_file(name: str, word: str, text: str) -> None:
    assert name_text(name, word) == text
