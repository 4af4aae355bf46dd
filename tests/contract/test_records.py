"""Words of the journal are packed and unpacked in `native/src/journal` only: nobody else knows where their bits lie."""

import re
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[2] / "native"
COMMENT = re.compile(r"//[^\n]*")
WORD = (
    r"(?:(?:\.|->)(?:tag|address|reserved|requested|per_bank|commit|place|name_and_place|site_and_phase|"
    r"other_site_and_cores|kind_and_line|head|levels|word)(?:\.load\([^()]*\))?|\b(?:handle|commit|tag))"
)
TAKEN_APART = re.compile(rf"{WORD}\s*(?:>>|<<|&(?!&)\s*(?:~|\(|0x))")
PUT_TOGETHER = re.compile(rf"{WORD}\s*[|&^]?=(?!=)[^;]*<<")


def by_hand(text: str) -> list[str]:
    """Places that shift or mask a word of a record, an incident, an item, or a handle."""
    code = COMMENT.sub("", text)
    return [match[0] for pattern in (TAKEN_APART, PUT_TOGETHER) for match in pattern.finditer(code)]


def test_only_the_codec_shifts_words_of_the_journal() -> None:
    folders = (NATIVE / "src", NATIVE / "python", NATIVE / "tests" / "fuzz", NATIVE / "hook" / "launches")
    paths = [path for folder in folders for path in folder.rglob("*.?pp") if path.parent.name != "journal"]
    found = {str(path.relative_to(NATIVE)): by_hand(path.read_text(encoding="utf-8")) for path in paths}

    assert len(paths) > 100
    assert {name: places for name, places in found.items() if places} == {}


@pytest.mark.parametrize(
    "line",
    [
        "const auto target = static_cast<uint16_t>(record.reserved.load(std::memory_order_acquire) >> 48);",
        "life->tag = (life->tag & 0xffff'ffffull) | uint64_t{site} << 32;",
        "words.tag |= uint64_t{kView} << 24;",
        "words.per_bank = uint64_t{status} << 46 | launches;",
        "const uint64_t made_by = handle >> 20;",
    ],
)
def test_a_word_that_is_shifted_by_hand_is_found(line: str) -> None:
    assert by_hand(line)


@pytest.mark.parametrize(
    "line",
    [
        "if (words.commit != 0 && is_there) return;",
        "words.address = address;  // not words.address >> 48",
        "uint64_t changed = words.reserved; used |= 1u << pool;",
        "if ((handle & kUntabledHandle) == 0) return;",
    ],
)
def test_what_only_looks_like_it_is_not_found(line: str) -> None:
    assert by_hand(line) == []
