"""Pages and help are easy to read: at most nine years of school, by the formula of Flesch and Kincaid."""

import click
import pytest

from tests.support.docs.pages import pages, text_of
from tests.support.docs.reading import grade, paragraphs, syllables
from ttmem.cli import VERBS
from ttmem.cli.program import program

HARDEST = 9.0


def test_a_page_needs_at_most_nine_years_of_school() -> None:
    grades = {page: grade(paragraphs(text_of(page))) for page in pages()}

    assert {page: years for page, years in grades.items() if years > HARDEST} == {}


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_needs_at_most_nine_years_of_school(verb: str) -> None:
    command = program.get_command(click.Context(program), verb)
    assert command is not None
    options = [param.help or "" for param in command.params if isinstance(param, click.Option)]

    assert grade([*paragraphs(command.help or ""), *options]) <= HARDEST


def test_the_help_of_the_program_needs_at_most_nine_years_of_school() -> None:
    listed = [command.get_short_help_str(200) for command in program.commands.values()]
    texts = [param.help or "" for param in program.params if isinstance(param, click.Option)]

    assert grade([*paragraphs(program.help or ""), *listed, *texts]) <= HARDEST


@pytest.mark.parametrize(
    ("word", "count"),
    [("chip", 1), ("table", 2), ("used", 1), ("needed", 2), ("file", 1), ("memory", 3), ("allocation", 4), ("the", 1)],
)
def test_syllables_are_counted_by_vowels(word: str, count: int) -> None:
    assert syllables(word) == count


def test_only_running_text_is_judged() -> None:
    block = "```sh\nls a b c d e\n```\n"
    page = f"# A heading of several words\n\n{block}\n| a | table |\n\nFive words of `code --here` count.\n"

    assert [text.strip() for text in paragraphs(page) if text.strip()] == ["Five words of it count."]


def test_long_words_in_long_sentences_need_more_school() -> None:
    easy = "The chip is full. Free a tensor. Then run it again."
    hard = (
        "Observability of accelerator memory necessitates comprehensive instrumentation of allocation infrastructure."
    )

    assert grade([easy]) < 3 < HARDEST < grade([hard])
