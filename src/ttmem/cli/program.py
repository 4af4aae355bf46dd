"""Finds the verb that was asked for, runs it, and turns whatever happens into an exit code and one clear line."""

import errno
import gc
import os
import resource
import sys
from importlib import import_module
from typing import Any, TextIO

import click

from ttmem.cli import HELP, VERBS
from ttmem.cli.common import BAD_FLAG, DONE, INTERRUPTED, NOTHING_READ, nearest
from ttmem.cli.common.options import HELP_OPTION, ManyValues
from ttmem.errors import TtmemError, WrongFile

__all__ = [
    "Verbs",
    "is_at_terminal",
    "program",
    "raise_descriptor_limit",
    "run_allocation_server",
    "run_program",
    "run_tt_smi_umd",
    "unwritten",
    "with_verb",
]

_STAYING = ("run", "serve", "demo")  # for long, that is; `top` and `ps -l` see to it themselves
_WITH_A_PROGRAM = "run"  # it gets the limits that we were given: those are raised once it has started
_OTHER_TOOLS = {  # verbs of nvidia-smi, tt-smi, nvitop and memray, and words of the docs
    **dict.fromkeys(("monitor", "watch", "live", "htop", "dmon", "pmon"), "top"),
    **dict.fromkeys(("status", "summary", "stats", "tree", "table", "show"), "ps"),
    **dict.fromkeys(("list", "ls", "devices", "chips"), "-L"),
    **dict.fromkeys(("snapshot", "json"), "-s"),
    **dict.fromkeys(("oom", "why", "incidents"), "explain"),
    **dict.fromkeys(("flamegraph", "leaks"), "dump --by site"),
    **dict.fromkeys(("daemon", "server", "metrics"), "serve"),
    "version": "--version",
}
_NEAR = (*VERBS, "help")
_OUT_OF_DESCRIPTORS = (errno.EMFILE, errno.ENFILE)
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class Verbs(click.Group):
    """Each verb lives in the file of its name."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(VERBS)

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if arguments[0] not in VERBS:
            ours = _OTHER_TOOLS.get(arguments[0])
            words = f"try: ttmem {ours}" if ours else nearest(arguments[0], _NEAR, f"known: {', '.join(VERBS)}")
            raise click.UsageError(f"no verb {arguments[0]!r}; {words}")
        if arguments[0] in _STAYING:
            gc.enable()
        if arguments[0] != _WITH_A_PROGRAM:
            raise_descriptor_limit()
        return super().resolve_command(context, arguments)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        command = getattr(import_module(f"ttmem.cli.{name}"), name)
        assert isinstance(command, click.Command)
        return command

    def get_help_option(self, context: click.Context) -> click.Option:
        return HELP_OPTION

    def get_help(self, context: click.Context) -> str:
        return HELP.rstrip()


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
def program() -> None:
    """The words of its help are in `ttmem.cli`."""


def run_program(arguments: list[str]) -> int:
    """The exit code, as `ttmem --help` names them; of `run`, the program's own."""
    if "_TTMEM_COMPLETE" in os.environ or arguments[:1] == ["--completion"]:
        from ttmem.cli.completion import complete

        return _exit_code(complete, "ttmem", arguments)
    if arguments[:1] == ["help"]:  # of a verb, or of all
        return _exit_code(program, "ttmem", [*arguments[1:2], "--help"])
    return _exit_code(program, "ttmem", with_verb(arguments, is_terminal=is_at_terminal()))


def with_verb(arguments: list[str], *, is_terminal: bool) -> list[str]:
    """Without a verb: the monitor on a terminal, unless a flag asks for what only `ps` has; one table otherwise."""
    if arguments and (not arguments[0].startswith("-") or arguments[0] in ("-h", "--help")):
        return [*arguments]
    verbs = ("top", "ps") if is_terminal else ("ps", "top")  # the other one is loaded only if it has to be
    return [next((verb for verb in verbs if _takes(verb, arguments)), "ps"), *arguments]


def _takes(verb: str, arguments: list[str]) -> bool:
    """Whether a verb knows all of these flags."""
    command = program.get_command(click.Context(program), verb)
    assert isinstance(command, ManyValues)
    try:
        command.make_parser(click.Context(command)).parse_args(command.spelled(arguments))
    except click.UsageError:
        return False
    return True


def is_at_terminal() -> bool:
    """Whether it is a terminal: keys can come in, and a screen can be drawn."""
    has_streams = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))
    return has_streams and os.environ.get("TERM", "") not in ("", "dumb")


def run_tt_smi_umd(arguments: list[str]) -> int:
    """The same for the program with the older monitor's name."""
    if "_TT_SMI_UMD_COMPLETE" in os.environ or arguments[:1] == ["--completion"]:
        from ttmem.cli.completion import complete

        return _exit_code(complete, "tt_smi_umd", arguments)
    from ttmem.cli.tt_smi_umd import tt_smi_umd

    raise_descriptor_limit()
    return _exit_code(tt_smi_umd, "tt_smi_umd", [*arguments])


def run_allocation_server(arguments: list[str]) -> int:
    """The same for the program with the older server's name."""
    from ttmem.cli.serve import allocation_server_poc

    raise_descriptor_limit()
    return _exit_code(allocation_server_poc, "allocation_server_poc", [*arguments])


def _exit_code(command: click.Command, name: str, arguments: list[str]) -> int:
    """Any error, reported in one line at most."""
    try:
        # Not command.main: it has exit codes and words of its own for interrupts and broken pipes.
        with command.make_context(name, arguments) as context:
            result: Any = command.invoke(context)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.Exit as exit_asked_for:
        return exit_asked_for.exit_code
    except click.MissingParameter as error:
        click.echo(f"{name}: {_missing(error)}", err=True)
        return error.exit_code
    except click.ClickException as error:
        click.echo(f"{name}: {error.format_message()}", err=True)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except OSError as error:
        return _without_descriptors(name) if error.errno in _OUT_OF_DESCRIPTORS else unwritten(name, error)
    except TtmemError as error:
        click.echo(f"{name}: {error}", err=True)
        return BAD_FLAG if isinstance(error, WrongFile) else NOTHING_READ
    return result if isinstance(result, int) else DONE


def _missing(error: click.MissingParameter) -> str:
    """What a verb was not given, and how it is written."""
    context, parameter = error.ctx, error.param
    if context is None or parameter is None:
        return error.format_message()
    expected = parameter.human_readable_name if isinstance(parameter, click.Argument) else parameter.opts[0]
    usage = context.command.get_usage(context).removeprefix("Usage: ")
    return f"expected {expected}, found nothing: {usage} (ttmem help {context.info_name} says more)"


def raise_descriptor_limit() -> None:
    """Lets this process have as many files open as its user may: every process that reports needs one or two."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _without_descriptors(name: str) -> int:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    click.echo(f"{name}: all {limit} files that it may open are open; raise the limit (ulimit -n)", err=True)
    return NOTHING_READ


def unwritten(name: str, error: OSError) -> int:
    """The exit code if standard output takes no more: it has no reader, or there is no room; raises any other error."""
    if not isinstance(error, BrokenPipeError) and (error.errno not in _UNWRITABLE or error.filename is not None):
        raise error
    forget(sys.stdout)
    if isinstance(error, BrokenPipeError):
        return DONE
    click.echo(f"{name}: standard output cannot be written: {error.strerror}", err=True)
    return NOTHING_READ


def forget(stream: TextIO) -> None:
    """What could not be written is not tried again, or Python prints an error when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
