"""Completion in a shell: what `ttmem --completion SHELL` prints, and what the shell then asks for.

    eval "$(ttmem --completion bash)"

Verbs are found by their names, their flags when they are asked for; flags without a verb are those of `ps` and `top`.
"""

import os

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from ttmem.cli.program import program

__all__ = ["ASKED_BY", "SHELLS", "complete", "completions"]

ASKED_BY = "_TTMEM_COMPLETE"  # the variable in which a shell says what it wants: bash_source, bash_complete, ...
SHELLS = ("bash", "zsh", "fish")
_BARE_VERBS = ("ps", "top")


@click.command()
@click.option("--completion", "shell", type=click.Choice(SHELLS))
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def complete(*, shell: str | None, words: tuple[str, ...]) -> None:
    """Prints a script for a shell, or what it asked for."""
    asked_shell, _, asked = os.environ.get(ASKED_BY, "").partition("_")
    made = _completion_of(shell or asked_shell)
    if shell or asked == "source":
        click.echo(made.source())
        return
    line, incomplete = made.get_completion_args()
    click.echo("\n".join(made.format_completion(item) for item in completions(line, incomplete)))


def completions(words: list[str], incomplete: str) -> list[CompletionItem]:
    """What could stand at the end of a line that has these words already."""
    if words and not words[0].startswith("-"):
        return _of_verb(words, incomplete)
    if not words and not incomplete.startswith("-"):
        return _of_verb([], incomplete)
    found = [item for verb in _BARE_VERBS for item in _of_verb([verb, *words], incomplete)]
    return list({item.value: item for item in found}.values())


def _of_verb(words: list[str], incomplete: str) -> list[CompletionItem]:
    return _completion_of(SHELLS[0]).get_completions(words, incomplete)


def _completion_of(shell: str) -> ShellComplete:
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"--completion {shell}: expected {', '.join(SHELLS)}")
    return kind(program, {}, "ttmem", ASKED_BY)
