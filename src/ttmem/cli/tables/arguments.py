"""Flags that take several values, as htop and nvitop have them: `-p 4001 4002`, `-u ada grace`, `-u` for oneself."""

import os
from collections.abc import Mapping, Sequence

import click

__all__ = ["ManyValues", "levels_of", "spread"]

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
        return super().parse_args(ctx, spread(args))
