"""Flags that take several values, as htop and nvitop have them: `-p 4001 4002`, `-u ada grace`, `-u` for oneself."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["HELP_OPTION", "FileName", "ManyValues", "levels_of", "spread"]

# By any of its spellings: what a flag without a value stands for; None: it needs one.
_MANY: Mapping[str, str | None] = {
    "-u": str(os.geteuid()),
    "--user": str(os.geteuid()),
    "-p": None,
    "--pid": None,
}


def spread(arguments: Sequence[str]) -> list[str]:
    """Every value behind a flag of its own, which is what click understands."""
    spread_out: list[str] = []
    flag, has_value = "", False
    for argument in [*arguments, None]:
        if flag and argument is not None and not argument.startswith("-"):
            for value in argument.split(","):  # an empty one is that of a variable that is not set, such as $USER
                spread_out += [flag, value or _MANY[flag] or ""]
            has_value = True
            continue
        if flag and not has_value:
            spread_out += [flag, *filter(None, [_MANY[flag]])]
        flag, has_value = (argument if argument in _MANY else "") or "", False
        if argument is not None and not flag:
            spread_out.append(argument)
    return spread_out


def levels_of(context: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int, int] | None:
    """What --levels says."""
    if value is None:
        return None
    from ttmem.view.colours import levels_from

    try:
        return levels_from(value)
    except ValueError as error:
        raise click.BadParameter(str(error), param=param) from error


class ManyValues(click.Command):
    """A command without arguments of its own, some of whose flags take several values."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, self.spelled(args))

    def get_help_option(self, ctx: click.Context) -> click.Option:
        return HELP_OPTION

    def spelled(self, arguments: Sequence[str]) -> list[str]:
        """What was typed, as click takes it: values one by one, and flags without a value by their long names, since it
        compares a short one with all long ones first, to say which was meant."""
        flags = (param for param in self.params if isinstance(param, click.Option) and param.is_flag)
        long = {name: flag.opts[-1] for flag in flags for name in flag.opts if flag.opts[-1].startswith("--")}
        return [long.get(argument, argument) for argument in spread(arguments)]


class FileName(click.types.StringParamType):
    """A file to write. Whoever opens it says what is wrong; `click.Path` would look for its name in other languages."""

    name = "file"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


def _show_help(context: click.Context, param: click.Parameter, is_asked: bool) -> None:
    if is_asked and not context.resilient_parsing:
        click.echo(context.get_help())
        context.exit()


# click's own, but for the search for translations, which it does at every start and loads `locale` for.
HELP_OPTION = click.Option(
    ["-h", "--help", "is_help"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_help,
    help="Show this message and exit.",
)
