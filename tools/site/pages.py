"""The pages of the site: those of docs/, in the order of the map, with links that hold elsewhere as well."""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

# What stands on top of every page, made of these headings of the map, docs/index.md.
SECTIONS: Mapping[str, Sequence[str]] = {
    "Start": ("Start",),
    "Tutorials": ("Tutorials", "How to"),
    "Understanding": ("Understanding",),
    "Troubleshooting": ("Troubleshooting",),
    "FAQ": ("faq.md",),
    "Comparison": ("comparison.md",),
    "Reference": ("Reference", "Glossary"),
}
_LINK = re.compile(r"(?<=\]\()([^)\s:#]+)(#[^)\s]*)?(?=\))")
_FENCE = re.compile(r"(^```.*?^```$)", flags=re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"^<!--.*?-->\n", flags=re.DOTALL | re.MULTILINE)

Entry = str | dict[str, "str | list[Entry]"]


def navigation() -> list[Entry]:
    """The home page, then the sections, each with its pages in the order of the map."""
    return [{"Home": "index.md"}, *(_section(title, parts) for title, parts in SECTIONS.items())]


def _section(title: str, parts: Sequence[str]) -> Entry:
    if parts[0].endswith(".md"):
        return {title: parts[0]}
    entries: list[Entry] = list(pages_under(parts[0]))
    for part in parts[1:]:
        pages = pages_under(part)
        entries += pages if len(pages) == 1 else [{part: list[Entry](pages)}]
    if title == "Understanding":
        entries.append({"Decisions": [f"decisions/{path.name}" for path in sorted((DOCS / "decisions").glob("*.md"))]})
    return {title: entries}


def pages_under(heading: str) -> list[str]:
    """The pages that the map links below a heading, each once."""
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    [part] = re.findall(rf"^## {heading}$(.*?)(?=^## |\Z)", text, flags=re.DOTALL | re.MULTILINE)
    found = (link[1] for link in _LINK.finditer(part))
    return list(dict.fromkeys(link for link in found if link.endswith(".md") and not link.startswith("..")))


def copy_pages(place: Path, source: str) -> int:
    """Copies docs/ to `place`, without the manual page; links out of it lead to the repository. How many pages."""
    shutil.copytree(DOCS, place, ignore=shutil.ignore_patterns("man"))
    pages = sorted(place.rglob("*.md"))
    for path in pages:
        page = DOCS / path.relative_to(place)
        parts = _FENCE.split(path.read_text(encoding="utf-8"))
        text = "".join(part if part.startswith("```") else mended(part, page, source) for part in parts)
        path.write_text(text, encoding="utf-8")
    return len(pages)


def mended(prose: str, page: Path, source: str) -> str:
    """Without comments, which are for tests; what is no page or picture of docs/ is linked where the source is."""

    def address(link: re.Match[str]) -> str:
        target = Path(os.path.normpath(page.parent / link[1]))
        if target.is_relative_to(DOCS) and not target.is_dir() and "man" not in target.relative_to(DOCS).parts:
            return link[0]
        kind = "tree" if target.is_dir() else "blob"
        return f"{source}/{kind}/main/{target.relative_to(ROOT).as_posix()}{link[2] or ''}"

    return _LINK.sub(address, _COMMENT.sub("", prose))
