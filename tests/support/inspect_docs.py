"""The tables of docs/reference/inspect.md, for the tests that hold it to the truth."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "inspect.md").read_text(encoding="utf-8")


def described(section: str) -> set[str]:
    """The fields that a section names."""
    text = PAGE.split(f"## {section}\n", 1)[1].split("\n## ", 1)[0]
    return set(re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE))
