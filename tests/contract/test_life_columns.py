"""Columns of lives and events have the same names, in the same order, in C++ and in Python."""

import re
from pathlib import Path

from ttmem.recording import Ending, EventKind, LifeFlag
from ttmem.recording.lives import EVENT_COLUMNS, LIFE_COLUMNS, Life, LifeEvent

ROOT = Path(__file__).parents[2]
HEADER = re.sub(r"//.*", "", (ROOT / "native/src/recording/lives/columns.hpp").read_text())


def names_of(enum: str) -> list[str]:
    body = re.search(rf"enum class {enum} : uint8_t {{(.*?)}};", HEADER, re.S)
    assert body is not None
    return [name for name in re.findall(r"(\w+)\s*(?:=\s*\d+\s*)?(?:,|$)", body[1].strip()) if name != "count"]


def test_columns_are_those_of_the_native_core() -> None:
    assert tuple(names_of("LifeColumn")) == LIFE_COLUMNS == Life._fields
    assert tuple(names_of("EventColumn")) == EVENT_COLUMNS == LifeEvent._fields


def test_endings_kinds_and_flags_are_those_of_the_native_core() -> None:
    assert names_of("LifeEnding") == [one.name.lower() for one in Ending]
    assert names_of("EventKind") == [one.name.lower() for one in EventKind]
    flags = re.findall(r"uint64_t k(\w+) = (\d+);", HEADER)
    assert {(name.upper(), int(bit)) for name, bit in flags} == {
        (str(one.name).replace("_", ""), one.value) for one in LifeFlag
    }
