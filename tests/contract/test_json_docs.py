"""docs/reference/json.md has every field of every answer as the structs have them; the pages of answers point there."""

import re
from pathlib import Path

import msgspec
import pytest

from tools.json_pages import ANSWERS, page_with_tables
from ttmem.snapshot.values import Answer
from ttmem.view.pages.smi import SmiDocument

DOCS = Path(__file__).parents[2] / "docs" / "reference"
PAGE = (DOCS / "json.md").read_text(encoding="utf-8")
SERVE = (DOCS / "serve.md").read_text(encoding="utf-8")
FIELDS = {
    title: re.findall(r"^\| `(\w+)` \|", table, flags=re.MULTILINE)
    for title, table in re.findall(r"^### (\w+)\n(.*?)(?=^#|\Z)", PAGE, flags=re.MULTILINE | re.DOTALL)
}


def test_the_tables_are_made_from_the_structs() -> None:
    assert page_with_tables(PAGE) == PAGE, "python -m tools.json_pages writes them"


def test_every_answer_is_described() -> None:
    rooms = ("ttmem.snapshot.", "ttmem.view.")  # what is said of a recording has pages of its own
    assert {kind for kind in Answer.__subclasses__() if kind.__module__.startswith(rooms)} == set(ANSWERS)
    for answer in ANSWERS:
        assert FIELDS[answer.__name__] == [field.name for field in msgspec.structs.fields(answer)]


def test_every_link_within_the_page_leads_somewhere() -> None:
    titles = {title.lower().replace(" ", "-") for title in re.findall(r"^#+ (.+)$", PAGE, flags=re.MULTILINE)}

    assert set(re.findall(r"\]\(#([\w-]+)\)", PAGE)) <= titles


@pytest.mark.parametrize("answer", [one for one in ANSWERS if one is not SmiDocument], ids=lambda one: one.__name__)
def test_every_answer_of_the_daemon_is_named_where_it_is_asked_for(answer: type) -> None:
    page = (DOCS / "dump.md").read_text(encoding="utf-8") if answer.__name__ == "Dump" else SERVE

    assert f"[{answer.__name__}](json.md#{answer.__name__.lower()})" in page


NEW_FIELDS = {field for fields in FIELDS.values() for field in fields}


def test_new_keys_of_the_table_of_old_ones_are_there() -> None:
    _, _, text = PAGE.partition("| old key | new key |\n|---|---|\n")
    rows = [row.split(" | ") for row in text.partition("\n\n")[0].splitlines()]
    words = {"damaged", "reported", "cb kernel eth dispatch", "trace", "read", "sample", "ended"}
    words |= {"kernel_application kernel_fabric kernel_dispatch kernel_unknown"}
    named = {
        part for _, new in rows for key in re.findall(r"`([^`]+)`", new) if key not in words for part in parts_of(key)
    }

    assert len(rows) > 50
    assert named <= NEW_FIELDS


def parts_of(key: str) -> list[str]:
    return [part.removesuffix("[]").split(" ")[0] for part in key.split(".")]
