"""Finds the verb that was asked for, runs it, and turns whatever happens into an exit code and one clear line."""

import errno
import os
import sys
from importlib import import_module
from typing import Any

import click

from ttmem.cli import HELP, VERBS
from ttmem.cli.exits import DONE, INTERRUPTED, NOTHING_READ
from ttmem.errors import TtmemError

__all__ = ["run_program", "run_seed_server"]

_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class Verbs(click.Group):
    """Each verb lives in the file of its name."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        command = getattr(import_module(f"ttmem.cli.{name}"), name)
        assert isinstance(command, click.Command)
        return command

    def get_help(self, context: click.Context) -> str:
        return HELP.rstrip()


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
def program() -> None:
    """The words of its help are in `ttmem.cli`."""


def run_program(arguments: list[str]) -> int:
    """The exit code: 0 done, 1 nothing could be read, 2 bad flag, 130 interrupted; of `run`, the program's own."""
    is_bare = not arguments or (arguments[0].startswith("-") and arguments[0] not in ("-h", "--help"))
    return _exit_code(program, "ttmem", ["ps", *arguments] if is_bare else [*arguments])


def run_seed_server(arguments: list[str]) -> int:
    """The same for the program with the older server's name."""
    from ttmem.cli.serve import allocation_server_poc

    return _exit_code(allocation_server_poc, "allocation_server_poc", [*arguments])


def _exit_code(command: click.Command, name: str, arguments: list[str]) -> int:
    try:
        # Not command.main: it has exit codes and words of its own for interrupts and broken pipes.
        with command.make_context(name, arguments) as context:
            result: Any = command.invoke(context)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.Exit as exit_asked_for:
        return exit_asked_for.exit_code
    except click.ClickException as error:
        click.echo(f"{name}: {error.format_message()}", err=True)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        _forget_output()
        return DONE
    except OSError as error:
        if error.errno not in _UNWRITABLE or error.filename is not None:
            raise
        _forget_output()
        click.echo(f"{name}: standard output cannot be written: {error.strerror}", err=True)
        return NOTHING_READ
    except TtmemError as error:
        click.echo(f"{name}: {error}", err=True)
        return NOTHING_READ
    return result if isinstance(result, int) else DONE


def _forget_output() -> None:
    """What could not be written is not tried again, or Python complains when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
