"""The table of `ttmem ps` as stored screens: at 80 and 120 columns, in ASCII, and piped.

After a wanted change: UPDATE_GOLDEN=1 ./run test tests/faces, then read the difference.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.figures import a_busy_snapshot
from ttmem.view import PageOptions, page, plain

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ps-80", PageOptions(width=80)),
        ("ps-120", PageOptions(width=120, is_with_ended=True)),
        ("ps-80-ascii", PageOptions(width=80, is_ascii=True)),
        ("ps-piped", PageOptions()),
    ],
)
def test_the_table_looks_as_it_did(name: str, options: PageOptions) -> None:
    stored = GOLDEN / f"{name}.txt"
    text = plain(page(a_busy_snapshot(), options))
    if os.environ.get("UPDATE_GOLDEN"):
        stored.write_text(text, encoding="utf-8")

    assert text == stored.read_text(encoding="utf-8")


def test_the_ascii_table_is_ascii() -> None:
    assert plain(page(a_busy_snapshot(), PageOptions(width=80, is_ascii=True))).isascii()
