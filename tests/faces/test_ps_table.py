"""The tables of `ttmem ps` and `ttmem dump` as stored screens: at 80 and 120 columns, in ASCII, and piped.

After a wanted change: UPDATE_GOLDEN=1 ./run test tests/faces, then read the difference.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.simulated.figures import a_busy_snapshot, a_dump, a_server_snapshot
from tests.support.simulated.read_figures import a_read_snapshot
from ttmem.view import Line, plain
from ttmem.view.page import PageOptions
from ttmem.view.pages.dump import dump_page
from ttmem.view.pages.ps import page

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
        ("ps-kernels-80", PageOptions(width=80, is_kernels=True)),
        ("ps-kernels-piped", PageOptions(is_kernels=True)),
    ],
)
def test_the_table_looks_as_it_did(name: str, options: PageOptions) -> None:
    assert_as_stored(name, page(a_busy_snapshot(), options))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ps-server-chips-80", PageOptions(width=80)),
        ("ps-server-chips-120-ascii", PageOptions(width=120, is_ascii=True)),
    ],
)
def test_the_table_of_processes_on_the_socket_looks_as_it_did(name: str, options: PageOptions) -> None:
    assert_as_stored(name, page(a_server_snapshot(), options))


@pytest.mark.parametrize(
    ("name", "options"),
    [("ps-read-80", PageOptions(width=80)), ("ps-read-120-ascii", PageOptions(width=120, is_ascii=True))],
)
def test_the_table_with_figures_that_were_read_looks_as_it_did(name: str, options: PageOptions) -> None:
    assert_as_stored(name, page(a_read_snapshot(), options))


@pytest.mark.parametrize(("name", "options"), [("dump-80", PageOptions(width=80)), ("dump-piped", PageOptions())])
def test_the_list_of_what_is_alive_looks_as_it_did(name: str, options: PageOptions) -> None:
    assert_as_stored(name, dump_page(a_dump(), options))


def assert_as_stored(name: str, lines: list[Line]) -> None:
    stored = GOLDEN / f"{name}.txt"
    text = plain(lines)
    if os.environ.get("UPDATE_GOLDEN"):
        stored.write_text(text, encoding="utf-8")

    assert text == stored.read_text(encoding="utf-8")


def test_the_ascii_table_is_ascii() -> None:
    options = PageOptions(width=80, is_ascii=True)
    kernels = options._replace(is_kernels=True)
    pages = [page(a_busy_snapshot(), options), page(a_busy_snapshot(), kernels), page(a_server_snapshot(), options)]
    pages += [page(a_read_snapshot(), options), dump_page(a_dump(), options)]
    lines = [line for one in pages for line in one]

    assert plain(lines).isascii()
