"""The program `ttmem`: one verb, one file; a verb is loaded when it is used, so that `--help` stays fast."""

import os
import sys
from importlib import import_module
from typing import Any, NoReturn

import click

from ttmem.cli.exits import INTERRUPTED, NOTHING_READ
from ttmem.errors import TtmemError

__all__ = ["main"]

VERBS = {
    "ps": "Show which process holds what on which device.",
    "run": "Run a program with tracking on.",
    "demo": "Show reporting processes on made-up chips.",
}


class Verbs(click.Group):
    """Finds a verb in the file of its name."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        command = getattr(import_module(f"ttmem.cli.{name}"), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


def _show_version(context: click.Context, option: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        import ttmem

        click.echo(f"ttmem {ttmem.__version__}")
        context.exit()


@click.group(cls=Verbs, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "-V", "-v", "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show it."
)
@click.pass_context
def program(context: click.Context) -> None:
    """See, live and exactly, which process holds which memory on every Tenstorrent device.

    Without a verb: `ttmem ps`.
    """
    if context.invoked_subcommand is None:
        context.invoke(program.get_command(context, "ps"))  # type: ignore[arg-type]


def main(arguments: list[str] | None = None) -> NoReturn:
    """Runs a verb and exits: 0 done, 1 nothing could be read, 2 bad flag, 130 interrupted."""
    sys.exit(_exit_code(arguments))


def _exit_code(arguments: list[str] | None) -> int:
    try:
        result: Any = program.main(args=arguments, prog_name="ttmem", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains at its exit
        return 0
    except TtmemError as error:
        click.echo(f"ttmem: {error}", err=True)
        return NOTHING_READ
    return result if isinstance(result, int) else 0
