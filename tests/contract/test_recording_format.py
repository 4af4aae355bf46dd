"""The page about the format of recordings says what the native core writes: each field, its type and its place."""

import re
from pathlib import Path

from tests.support.docs.pages import text_of
from ttmem.devices import Pool
from ttmem.recording.meta import FORMAT, Meta

NATIVE = Path(__file__).parents[2] / "native" / "src" / "recording"
PAGE = text_of("docs/reference/recording-format.md")
SIZES = {"uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8, "int64": 8}
ENUMS = {"BlockKind": "uint8", "Codec": "uint8"}


def declared(header: str, name: str) -> list[tuple[int, str, str]]:
    """The fields of a struct of the core: place, type, name."""
    body = re.search(rf"^struct {name} \{{\n(.*?)^\}};", (NATIVE / header).read_text(), flags=re.DOTALL | re.MULTILINE)
    assert body is not None
    at, found = 0, []
    for line in re.sub(r"//.*", "", body[1]).split(";"):
        kind, _, names = line.strip().partition(" ")
        for field in filter(None, (word.partition("=")[0].strip() for word in names.split(","))):
            word = ENUMS.get(kind, kind.removesuffix("_t"))
            found.append((at, word, field))
            at += SIZES[word]
    return found


def documented(heading: str) -> list[tuple[int, str, str]]:
    """The table below a sentence of the page."""
    rows = PAGE.partition(heading)[2].partition("\n\n|")[2].partition("\n\n")[0]
    return [
        (int(at), kind, name) for at, kind, name in re.findall(r"^\| (\d+) \| `(\w+)` \| `(\w+)`", rows, re.MULTILINE)
    ]


def test_the_head_of_a_block_is_that_of_the_core() -> None:
    assert documented("The head has 80 bytes") == declared("block.hpp", "BlockHead")


def test_numbers_on_the_page_are_those_of_the_core() -> None:
    block, names = (NATIVE / "block.hpp").read_text(), (NATIVE / "names.hpp").read_text()
    pools = "".join(f"{pool.number} {pool.word}, " for pool in (Pool.DRAM, Pool.TRACE, Pool.L1, Pool.L1_SMALL))

    assert re.findall(r"(\w+) = (\d)\b", block.partition("enum class BlockKind")[2].partition("};")[0]) == [
        ("names", "1"),
        ("events", "2"),
        ("keyframe", "3"),
    ]
    assert "1 names, 2 events, 3 keyframe" in PAGE
    assert "enum class Codec : uint8_t { plain = 0, zlib = 1 };" in block
    assert "0 plain, 1 zlib" in PAGE
    assert "kFullestCore = 64;" in block
    assert f"{pools}...; 64: the fullest core" in PAGE
    assert "kHasChip = 1, kIsOfGap = 2, kIsBound = 4;" in block
    assert "kFlagBits = 4" in (NATIVE / "block.cpp").read_text()
    assert "16 x pool + flags" in PAGE
    assert "{ process = 1, text = 2, device = 3, mesh = 4, stack = 5, threads = 6 }" in names
    assert f"This is version {FORMAT}." in PAGE


def test_every_field_of_the_description_is_on_the_page() -> None:
    row = next(line for line in PAGE.splitlines() if line.startswith("| `meta.json`"))

    assert set(Meta.__struct_fields__) == set(re.findall(r"`(\w+)`", row.partition("|")[2].partition("|")[2]))
