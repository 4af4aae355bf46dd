"""Every command and every piece of code in README.md and docs/ does what the page says, or says why it is not run.

Each page has a shell of its own, from its first block to its last: shell lines are run, programs executed, C and C++
compiled, data parsed, and what a page shows as output is compared by the rules of tests/support/docs/rules.py. Blocks
marked `<!-- slow -->` are left to the slow tests, which run all blocks of their page; so are tutorials, pages with a
scene and those of `LONG`, each of which starts many programs.
"""

import re

import pytest

from tests.support.docs.languages import EXECUTED, check_file, run
from tests.support.docs.pages import Block, blocks, pages, scenes, text_of
from tests.support.docs.rules import ALWAYS, ASKED
from tests.support.docs.scenes import set_the_scene
from tests.support.docs.shell import a_shell

NOT_RUN_MOST = 15
PAGES = [page for page in pages() if any(block.is_run for block in blocks(page))]
LONG = {"docs/start/first-look.md", "docs/how-to/pytest.md", "docs/how-to/daemon.md"}  # seconds, for starts of Python
LONG |= {f"docs/reference/{name}.md" for name in ("demo", "diff", "export", "metal", "run")}
WITH_PROGRAMS = [page for page in PAGES if page.startswith("docs/tutorials/") or scenes(page) or page in LONG]
QUICK_PAGES = [page for page in PAGES if page not in WITH_PROGRAMS]
SLOW_PAGES = [
    page for page in PAGES if page in WITH_PROGRAMS or any("slow" in block.directives for block in blocks(page))
]


def output_below(block: Block) -> Block | None:
    """The block that shows what a block prints: the next one of its page, if it has no language."""
    behind = [other for other in blocks(block.page) if other.line > block.line]
    return behind[0] if behind and behind[0].is_output else None


def read(page: str, *, is_slow: bool) -> None:
    with a_shell() as shell:
        set_the_scene(shell, scenes(page))
        for block in blocks(page):
            if block.is_output or not block.is_run or ("slow" in block.directives and not is_slow):
                continue
            if "file" in block.directives:
                check_file(block, shell)
            run(block, output_below(block), shell)
        if shell.lacking:
            pytest.skip(f"NOT TESTED in part: there is no {', '.join(sorted(shell.lacking))}")


@pytest.mark.timeout(240)  # a page may have twenty commands, each of them an interpreter, on a machine that is shared
@pytest.mark.parametrize("page", QUICK_PAGES)
def test_a_page_does_what_it_says(page: str) -> None:
    read(page, is_slow=False)


@pytest.mark.slow
@pytest.mark.timeout(1200)  # one page builds and installs the C library, on a machine that is shared
@pytest.mark.parametrize("page", SLOW_PAGES)
def test_a_page_that_takes_longer_does_what_it_says(page: str) -> None:
    read(page, is_slow=True)


def test_at_most_fifteen_blocks_are_not_run_and_each_says_why() -> None:
    left_out = [block for page in pages() for block in blocks(page) if not block.is_run]

    assert [block.place for block in left_out if len(block.directives["not run"].split()) < 2] == []
    assert len(left_out) <= NOT_RUN_MOST


def test_every_block_has_a_language_or_is_the_output_of_the_one_above() -> None:
    unknown = [
        block.place
        for page in pages()
        for block in blocks(page)
        if block.is_run and not (block.is_output or block.language in EXECUTED or "file" in block.directives)
    ]
    loose = [
        later.place
        for page in pages()
        for earlier, later in zip((None, *blocks(page)), blocks(page), strict=False)
        if later.is_output and later.is_run and (earlier is None or earlier.language not in ("sh", "python"))
    ]

    assert (unknown, loose) == ([], [])


def test_no_block_escapes_the_parser() -> None:
    fences = {page: re.findall(r"^ *(?:```|~~~)", text_of(page), flags=re.MULTILINE) for page in pages()}

    assert {page: len(found) for page, found in fences.items()} == {page: 2 * len(blocks(page)) for page in pages()}


def test_there_are_blocks_of_every_kind() -> None:
    languages = {block.language for page in pages() for block in blocks(page)}

    assert {"sh", "console", "python", "c", "cpp", "ini", "promql", "filter"} <= languages


def test_every_rule_of_comparison_is_explained() -> None:
    explained = set(re.findall(r"`(\w+)`", text_of("CONTRIBUTING.md").split("| rule |")[1].split("\n\n")[0]))

    assert {*ALWAYS, *ASKED} <= explained
