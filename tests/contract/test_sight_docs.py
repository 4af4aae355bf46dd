"""docs/reference/serve.md names every field of an overview and of a process close up, and no other."""

import re
from pathlib import Path
from typing import Any

from tests.support.simulated.figures import a_busy_snapshot
from tests.support.simulated.sights import a_detail, an_overview
from ttmem.snapshot.document import document
from ttmem.snapshot.sights.documents.overview import overview_document
from ttmem.snapshot.sights.documents.process_detail import process_document

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "serve.md").read_text(encoding="utf-8")


def described(route: str) -> set[str]:
    """The names in the first column of the table below a route."""
    text = PAGE.split(f"### `GET {route}`\n", 1)[1]
    [table] = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)[:1]
    cells = [line.split("|")[1] for line in table.splitlines()[2:]]
    return {name.removesuffix("[]").split(".")[-1] for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def named(word: Any) -> set[str]:
    return set(word)


def test_every_field_of_an_overview_is_described() -> None:
    told = overview_document(an_overview())
    rows = named(told["processes"][0]) - {"memory", "kinds"} | {"POOL", "KIND"}

    assert described("/overview") == (named(told) | rows) - {"processes"}


def test_devices_of_an_overview_are_those_of_a_snapshot_with_a_number() -> None:
    whole = document(a_busy_snapshot())["device_info"][0]
    brief = overview_document(an_overview())["device_info"][0]

    assert named(brief) - named(whole) == {"number"}
    assert {"memory", "l1", "kernels", "circular_buffers", "ring"} < named(brief)


def test_every_field_of_a_process_close_up_is_described() -> None:
    assert described("/process") == named(process_document(a_detail()))
