"""The documentation hangs together: every link leads somewhere, every page is on the map, every page that the program
names is there."""

import re
import subprocess
from functools import cache
from pathlib import Path

from tests.support.docs.pages import DOCS, ROOT, pages, text_of

FRAME = ("start", "tutorials", "how-to", "reference", "understanding", "troubleshooting")
BESIDE = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
DECISIONS = sorted(str(path.relative_to(ROOT)) for path in (DOCS / "decisions").glob("*.md"))
LINK = re.compile(r"\]\(([^)\s]+)\)")
NAMED_PAGE = re.compile(r"docs/[\w./-]+\.(?:md|json|1|svg)\b")


@cache
def prose(page: str) -> str:
    return re.sub(r"^```.*?^```$", "", text_of(page), flags=re.DOTALL | re.MULTILINE)


@cache
def anchors(path: Path) -> frozenset[str]:
    """What GitHub makes of the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", prose(str(path.relative_to(ROOT))), flags=re.MULTILINE)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings)
    return frozenset(re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain)


def is_dead(page: str, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = (ROOT / page).parent / name if name else ROOT / page
    return not target.exists() or bool(anchor and anchor not in anchors(target.resolve()))


def test_no_link_is_dead() -> None:
    links = [(page, link) for page in (*pages(), *BESIDE, *DECISIONS) for link in LINK.findall(prose(page))]

    assert [(page, link) for page, link in links if ":" not in link and is_dead(page, link)] == []


def test_links_are_relative() -> None:
    assert [(page, link) for page in pages() for link in LINK.findall(prose(page)) if link.startswith("/")] == []


def test_every_page_is_in_the_frame() -> None:
    folders = {path.name for path in DOCS.iterdir() if path.is_dir()}
    loose = {path.name for path in DOCS.glob("*.md")}

    assert folders == {*FRAME, "decisions", "man", "pictures"}
    assert loose == {"index.md", "glossary.md", "allocation-server.md", "faq.md", "comparison.md"}


def test_every_page_is_on_the_map() -> None:
    linked = {(DOCS / link.partition("#")[0]).resolve() for link in LINK.findall(prose("docs/index.md"))}

    assert [page for page in pages()[1:] if (ROOT / page).resolve() not in {*linked, DOCS / "index.md"}] == []


def test_every_page_that_the_program_names_is_there() -> None:
    folders = ("src", "native", "tests", "tools", "packaging", "dashboards", "examples", "benchmarks", "run", "*.md")
    listed = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    missing = {
        (name, page)
        for name in listed.splitlines()
        if (ROOT / name).exists()
        for page in NAMED_PAGE.findall((ROOT / name).read_text(encoding="utf-8", errors="ignore"))
        if not (ROOT / page).exists()
    }

    assert missing == set()


def test_the_glossary_has_25_words_in_alphabetical_order() -> None:
    words = re.findall(r"^\*\*(.+?)\*\*", text_of("docs/glossary.md"), flags=re.MULTILINE)

    assert len(words) == 25
    assert words == sorted(words, key=str.lower)
