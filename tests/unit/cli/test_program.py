"""What the program does before its verb: who looks for garbage, and what may be left to click."""

import gc
from collections.abc import Iterator

import click
import pytest

from ttmem.cli.program import program


@pytest.fixture
def without_garbage_collection() -> Iterator[None]:
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.usefixtures("without_garbage_collection")
@pytest.mark.parametrize(("verb", "is_staying"), [("ps", False), ("dump", False), ("serve", True), ("run", True)])
def test_only_a_verb_that_stays_looks_for_garbage(verb: str, is_staying: bool) -> None:
    program.resolve_command(click.Context(program), [verb])

    assert gc.isenabled() is is_staying
