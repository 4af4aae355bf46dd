"""The bytes of shared structs, as Python has them: they follow from order and alignment, and match what is asserted."""

import re
from pathlib import Path

import pytest

from ttmem.events import STRUCTS

JOURNAL = Path(__file__).parents[3] / "native" / "src" / "journal"
LAYOUT = "".join(path.read_text(encoding="utf-8") for path in sorted(JOURNAL.glob("*.hpp")))
ASSERTED = [(name, int(size)) for name, size in re.findall(r"static_assert\(sizeof\((\w+)\) == (\d+)\b", LAYOUT)]


@pytest.mark.parametrize(("name", "size_bytes"), ASSERTED)
def test_a_struct_has_the_size_that_the_core_asserts(name: str, size_bytes: int) -> None:
    assert STRUCTS[name].size_bytes == size_bytes


def test_the_core_asserts_sizes() -> None:
    assert len(ASSERTED) >= 6


@pytest.mark.parametrize("name", STRUCTS)
def test_fields_follow_each_other_without_overlap(name: str) -> None:
    end = 0
    for field in STRUCTS[name].fields.values():
        assert field.offset_bytes >= end
        end = field.offset_bytes + field.size_bytes

    assert end <= STRUCTS[name].size_bytes


def test_hot_words_of_the_header_lie_on_lines_of_their_own() -> None:
    fields = STRUCTS["Header"].fields

    assert [fields[name].offset_bytes for name in ("next_sequence", "free_head", "skipped")] == [1024, 1088, 1152]
