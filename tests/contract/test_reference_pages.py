"""The pages of the reference that are made from the source say what it says: `python -m tools.reference_pages`."""

import re

import pytest

import ttmem
from tools.reference_pages import DOCS, HEADER, pages
from ttmem.cli import VERBS
from ttmem.daemon.metrics.catalogue import FAMILIES
from ttmem.view.queries.apps import APP_FIELDS
from ttmem.view.queries.memory import MEMORY_FIELDS

PAGES = dict(pages())


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_is_that_of_the_source(path: object) -> None:
    [found] = [one for one in PAGES if one == path]

    assert found.read_text(encoding="utf-8") == PAGES[found], "python -m tools.reference_pages writes it"


def test_every_verb_call_and_public_name_has_its_row() -> None:
    calls = set(
        re.findall(r"^static inline [\w ]+?\*? ?(ttmem_\w+)\(", HEADER.read_text(encoding="utf-8"), re.MULTILINE)
    )
    names = {name for found in ttmem.PUBLIC_NAMES.values() for name in found}

    assert set(re.findall(r"^## ttmem (\w+)$", PAGES[DOCS / "commands.md"], re.MULTILINE)) == set(VERBS)
    assert calls <= set(re.findall(r"(ttmem_\w+)\(", PAGES[DOCS / "c-interface.md"]))
    families = {family.name for family in FAMILIES}
    fields = {field.name for field in MEMORY_FIELDS} | {field.name for field in APP_FIELDS}
    assert families == set(
        re.findall(r"^\| `(\w+)` \| (?:gauge|counter|info)", PAGES[DOCS / "all-metrics.md"], re.MULTILINE)
    )
    assert fields == set(re.findall(r"^\| `([\w.]+)`", PAGES[DOCS / "all-fields.md"], re.MULTILINE))
    assert names <= set(re.findall(r"^\| `(\w+)", PAGES[DOCS / "python-interface.md"], re.MULTILINE))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_no_flag_call_or_message_is_without_words(path: object) -> None:
    [found] = [one for one in PAGES if one == path]
    calls = [row for row in re.findall(r"^\| `.*$", PAGES[found], re.MULTILINE) if "(" in row or "--" in row]

    assert [row for row in calls if re.search(r"\| +\|$", row)] == []
