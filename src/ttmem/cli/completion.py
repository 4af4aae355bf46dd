"""Completion in a shell: what `ttmem --completion SHELL` prints, and what the shell then asks for.

    eval "$(ttmem --completion bash)"

Verbs are found by their names, their flags when they are asked for; flags without a verb are those of `ps` and `top`.
The program with the older monitor's name, `tt_smi_umd`, has these and a few of its own.
"""

import os

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from ttmem.cli.program import program

__all__ = ["SHELLS", "complete", "completions"]

OLDER_MONITOR = "tt_smi_umd"
SHELLS = ("bash", "zsh", "fish")
_BARE_VERBS = ("ps", "top")


def asked_by(name: str) -> str:
    """The variable in which a shell says what it wants of a program: bash_source, bash_complete, ..."""
    return f"_{name.upper()}_COMPLETE"


@click.command()
@click.option("--completion", "shell", type=click.Choice(SHELLS))
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def complete(context: click.Context, /, *, shell: str | None, words: tuple[str, ...]) -> None:
    """Prints a script for a shell, or what it asked for."""
    name = context.info_name or ""
    asked_shell, _, asked = os.environ.get(asked_by(name), "").partition("_")
    made = _completion_of(shell or asked_shell, name)
    if shell or asked == "source":
        click.echo(made.source())
        return
    line, incomplete = made.get_completion_args()
    click.echo("\n".join(made.format_completion(item) for item in completions(line, incomplete, name)))


def completions(words: list[str], incomplete: str, name: str = "ttmem") -> list[CompletionItem]:
    """What could stand at the end of a line of a program that has these words already."""
    if name == OLDER_MONITOR:
        return _without_duplicates([*_of_older_monitor(words, incomplete), *_of_flags(words, incomplete)])
    if words and not words[0].startswith("-"):
        return _of_verb(words, incomplete)
    if not words and not incomplete.startswith("-"):
        return _of_verb([], incomplete)
    return _without_duplicates(_of_flags(words, incomplete))


def _of_flags(words: list[str], incomplete: str) -> list[CompletionItem]:
    return [item for verb in _BARE_VERBS for item in _of_verb([verb, *words], incomplete)]


def _without_duplicates(found: list[CompletionItem]) -> list[CompletionItem]:
    return list({item.value: item for item in found}.values())


def _of_older_monitor(words: list[str], incomplete: str) -> list[CompletionItem]:
    from ttmem.cli.tt_smi_umd import tt_smi_umd

    kind = get_completion_class(SHELLS[0])
    assert kind is not None
    return kind(tt_smi_umd, {}, OLDER_MONITOR, asked_by(OLDER_MONITOR)).get_completions(words, incomplete)


def _of_verb(words: list[str], incomplete: str) -> list[CompletionItem]:
    return _completion_of(SHELLS[0], "ttmem").get_completions(words, incomplete)


def _completion_of(shell: str, name: str) -> ShellComplete:
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"--completion {shell}: expected {', '.join(SHELLS)}")
    return kind(program, {}, name, asked_by(name))
