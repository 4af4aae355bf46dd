"""What differs from run to run is left out of a comparison, and everything else is noticed."""

import getpass

import pytest

from tests.support.docs.pages import parse
from tests.support.docs.rules import difference


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("at 10:20:40", "at 23:59:01.5"),
        ("2026-11-16T10:20:40Z", "2031-01-02T03:04:05.678+01:00"),
        ("12 s old", "0.03 s to 4.00 s old"),
        ("pid 4711 (ada)", f"pid 9 ({getpass.getuser()})"),
        ("  4711  python model.py", "    12  python model.py"),
        ("ttmem explain 4711-2", "ttmem explain 77-2"),
        ("reading /dev/shm/ttmem-1000/4711-1-ab.journal", "reading /tmp/x/y/99-1234-77aa.journal"),
        ("ttmem 0.1.0", "ttmem 1.22.333"),
        ("A  B     C", "A     B C"),
        ("first\n...\nlast", "first\nsecond\nthird\nlast"),
        ("OUT OF MEMORY  chip 0 ...", "OUT OF MEMORY  chip 0, L1: asked 64.0 KiB"),
    ],
)
def test_what_differs_from_run_to_run_is_no_difference(shown: str, printed: str) -> None:
    assert difference(shown, printed) == ""


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("dram 34.0 MiB", "dram 34.1 MiB"),
        ("4 devices within limits", "3 devices within limits"),
        ("first\nlast", "first\nsecond\nlast"),
        ("first\n...\nlast", "first\nsecond"),
        ("OUT OF MEMORY ...", "CLASH  chip 0"),
        ("model.py:14 load", "model.py:15 load"),
    ],
)
def test_everything_else_is_a_difference(shown: str, printed: str) -> None:
    assert "the page shows" in difference(shown, printed)


def test_sizes_are_left_out_where_a_block_asks_for_it() -> None:
    assert difference("24,072 MiB free", "3 MiB free", ["sizes"]) == ""


def test_comments_right_above_a_fence_belong_to_its_block() -> None:
    text = "<!-- slow -->\n\n<!-- rules: sizes -->\n<!-- not run: needs a card -->\n```sh\nls\n```\n"

    [block] = parse("page.md", text)

    assert block.directives == {"not run": "needs a card", "rules": "sizes"}
    assert (block.line, block.language, block.text, block.is_run) == (5, "sh", "ls\n", False)
