"""The pages of the documentation and their fenced blocks: README.md and docs/, without the records of decisions.

A comment on the line before a fence says what is special about a block:

    <!-- not run: REASON -->    it is not executed; a test counts these
    <!-- slow -->               it is executed by the slow tests
    <!-- file: NAME -->         it is a file of the reader's directory, not a program to run at once
    <!-- rules: NAME ... -->    its output is compared by these rules as well (rules.py)

and one anywhere on a page what is there before its first block is executed (scenes.py):

    <!-- scene: NAME ... -->
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
_FENCE = re.compile(r"^```(\S*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
_DIRECTIVE = re.compile(r"<!-- (not run|slow|file|rules)(?:: (.*?))? -->$")


@dataclass(frozen=True)
class Block:
    """What stands between two fences."""

    page: str  # its path in the repository
    line: int
    language: str
    text: str
    directives: dict[str, str] = field(default_factory=dict)

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_output(self) -> bool:
        return self.language in ("", "text")

    @property
    def is_run(self) -> bool:
        return "not run" not in self.directives


@cache
def pages() -> tuple[str, ...]:
    """README.md first, then every page of docs/ that is not the record of a decision."""
    found = [path for path in DOCS.rglob("*.md") if "decisions" not in path.relative_to(DOCS).parts]
    return ("README.md", *sorted(str(path.relative_to(ROOT)) for path in found))


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


@cache
def blocks(page: str) -> tuple[Block, ...]:
    """All fenced blocks of a page, in order."""
    return tuple(parse(page, text_of(page)))


def parse(page: str, text: str) -> Iterator[Block]:
    for fence in _FENCE.finditer(text):
        before = text[: fence.start()]
        yield Block(page, before.count("\n") + 1, fence[1], fence[2], _directives(before))


def _directives(before: str) -> dict[str, str]:
    """Those of the comment lines right above a fence."""
    found: dict[str, str] = {}
    for line in reversed(before.splitlines()):
        directive = _DIRECTIVE.match(line)
        if directive is None:
            break
        found[directive[1]] = directive[2] or ""
    return found


def scenes(page: str) -> list[str]:
    named = re.search(r"^<!-- scene: (.*?) -->$", text_of(page), flags=re.MULTILINE)
    return named[1].split() if named else []


def blocks_of(language: str) -> list[Block]:
    return [block for page in pages() for block in blocks(page) if block.language == language]


def file_block(name: str) -> Block:
    """The one block of all pages that is the file NAME."""
    [found] = [block for page in pages() for block in blocks(page) if block.directives.get("file") == name]
    return found
