"""`ttmem run`: a program with tracking on, and afterwards what it held at its highest and what it left."""

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ttmem.cli.common import NOT_EXECUTABLE, NOT_FOUND
from ttmem.cli.tracked_run.child import Child
from ttmem.cli.tracked_run.child_journals import ChildJournals, RecordingOrder
from ttmem.doctor.hook import hook_path, preloading, unhooked
from ttmem.doctor.targets import obstacle_of
from ttmem.sources import Places
from ttmem.switches import is_off

if TYPE_CHECKING:
    from ttmem.snapshot import ProcessUsage
    from ttmem.view import Line

_LOOK_EVERY_SECONDS = 0.05
_RECORD_EVERY_SECONDS = 0.02  # a program may report two million events a second from its first call on
_IDLE_SECONDS = 3600.0  # the end of the program wakes us
_NAME_LENGTH = 100
_WISHED_RING = 1 << 18  # events that a recorder may lag behind, where the program has room for them
_MARK, _MARKS_MOST = "TTMEM_RUN", 8  # those of a run within a run are listed; a journal has room for this many


@click.command(short_help="Run a program with tracking on.", context_settings={"allow_interspersed_args": False})
@click.option("--label", metavar="TEXT", help="The name it goes by in tables.")
@click.option("--dir", "directory", metavar="DIR", help="Where journals go (default: $TTMEM_DIR).")
@click.option("--no-hook", "is_plain", is_flag=True, help="Load nothing into it: only its own reports count.")
@click.option("--no-sites", "has_no_sites", is_flag=True, help="Do not record which line of Python allocates.")
@click.option(
    "--summary/--no-summary", "has_summary", default=None, help="Peaks on stderr at its end (on, if it reported)."
)
@click.option(
    "--record", "output", type=click.Path(path_type=Path), metavar="NAME", help="Record it: see ttmem record."
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(
    *,
    label: str | None,
    directory: str | None,
    is_plain: bool,
    has_no_sites: bool,
    has_summary: bool | None,
    output: Path | None,
    command: tuple[str, ...],
) -> int:
    """Run COMMAND with tracking on: it and what it starts report what ttnn, or the ttmem client, allocates.

    Signals go through to it, and its exit code is ours (128 + signal if it was killed).
    """
    order = None
    if output is not None:
        from ttmem.cli.tracked_run.recording_run import checked_output

        order = RecordingOrder(checked_output(output, is_forced=False))
    return run_tracked(
        command,
        label=label,
        directory=directory,
        is_plain=is_plain,
        has_no_sites=has_no_sites,
        has_summary=has_summary,
        order=order,
    )


def run_tracked(
    command: tuple[str, ...],
    *,
    label: str | None,
    directory: str | None,
    is_plain: bool,
    has_no_sites: bool,
    has_summary: bool | None,
    order: RecordingOrder | None,
) -> int:
    """Runs a program to its end, with tracking on."""
    environ = _own_environment()
    if environ.get("TTMEM") and is_off(environ["TTMEM"]):
        _say(f"ttmem: TTMEM={environ['TTMEM']} is set: the program runs untracked; unset it, or set TTMEM=1")
        return _run_untracked(command, environ)
    environ["TTMEM"] = "1"
    mark = os.urandom(8).hex()
    outer = [one for one in environ.get(_MARK, "").split(",") if len(one) == len(mark)]
    environ[_MARK] = ",".join([*outer, mark][-_MARKS_MOST:])
    if label:
        environ["TTMEM_LABEL"] = label
    environ["TTMEM_SITES"] = "0" if has_no_sites else environ.get("TTMEM_SITES") or "1"
    if order is not None:
        environ["TTMEM_RING_WISH"] = str(_WISHED_RING)
    directory = directory or environ.get("TTMEM_DIR")
    if directory:
        environ["TTMEM_DIR"] = os.path.abspath(directory)  # the program may go elsewhere
    environ = _hooked(command, environ, is_plain=is_plain)
    journals = None
    if has_summary is not False or order is not None:
        journals = ChildJournals(Places.from_environment(environ, uid=os.geteuid()), mark=mark)
    if journals is not None and order is not None:
        journals.record(order, command=command, label=label or "")
    code = _run_to_end(command, environ, journals)
    if journals is not None:
        journals.end_recording()
    if journals is not None and journals.has_begun and has_summary is not False:
        _print_summary(journals, _name(command), code, is_asked=has_summary is True, is_plain=is_plain)
    return code


def _run_untracked(command: Sequence[str], environ: dict[str, str]) -> int:
    hook = hook_path(environ)
    return _run_to_end(command, unhooked(environ, hook) if hook else environ, None)


def _run_to_end(command: Sequence[str], environ: Mapping[str, str], journals: ChildJournals | None) -> int:
    """Its exit code, or why it could not be started."""
    try:
        child = Child(command, environ)
    except OSError as error:
        _say(f"ttmem: {command[0] or shlex.quote('')}: {error.strerror}{_start_hint(command)}")
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
    if journals is None:
        return child.wait(lambda: None, every_seconds=_IDLE_SECONDS)
    from ttmem.cli.program import raise_descriptor_limit

    raise_descriptor_limit()  # only now: the program has the limits that we were given
    journals.began(child.pid)
    pause = _RECORD_EVERY_SECONDS if journals.is_recording else _LOOK_EVERY_SECONDS
    code = child.wait(journals.look, every_seconds=pause)
    journals.look()
    return code


def _start_hint(command: Sequence[str]) -> str:
    """How a file that is there, but is no command, is started."""
    if not os.path.isfile(command[0]):
        return ""
    is_script = command[0].endswith(".py")
    if not is_script and "/" in command[0]:
        return ""
    started = f"python {shlex.quote(command[0])}" if is_script else f"./{shlex.quote(command[0])}"
    return f"; try: ttmem run -- {started}"


def _name(command: Sequence[str]) -> str:
    """The command in one line of bearable length, as a shell would take it."""
    line = " ".join(shlex.join(command).split())
    return line if len(line) <= _NAME_LENGTH else line[: _NAME_LENGTH - 3] + "..."


def _own_environment() -> dict[str, str]:
    """The environment as it was given to us: Python adds a locale of its own where there is none."""
    environ = dict(os.environ)
    try:
        given = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:
        return environ
    if not any(entry.startswith(b"LC_CTYPE=") for entry in given):
        environ.pop("LC_CTYPE", None)
    return environ


def _hooked(command: Sequence[str], environ: dict[str, str], *, is_plain: bool) -> dict[str, str]:
    """The environment that takes the hook along; or one without it, and a warning, where it cannot go."""
    hook = hook_path(environ)
    if hook is None:
        if not is_plain:
            _say(
                "ttmem: libttmem_hook.so is not there, so only programs that use the ttmem client report; "
                "`ttmem doctor` shows more, --no-hook turns this warning off"
            )
        return environ
    obstacle = None if is_plain else obstacle_of(command, environ, hook)
    if obstacle is not None:
        rest = "" if obstacle.is_inherited else "; what it starts is still seen"
        _say(f"ttmem: {obstacle.program} {obstacle.reason}: the program runs without the hook{rest}")
    if is_plain or (obstacle is not None and obstacle.is_inherited):
        return unhooked(environ, hook)
    return {**environ, **preloading(environ, hook)}


def _print_summary(journals: ChildJournals, name: str, code: int, *, is_asked: bool, is_plain: bool) -> None:
    """Says on stderr what was held at most, what is left, and why memory ran out. That nothing was reported is said to
    people only: to others a program that has nothing to do with devices looks exactly as without us."""
    if sys.stderr is None:
        return
    if not journals.paths:
        if is_asked or sys.stderr.isatty():
            cause = (
                "the ttmem client opened no device, and what ttnn did was not seen (--no-hook)"
                if is_plain
                else "no device was opened through ttnn or the ttmem client, or no journal could be made; "
                "`ttmem doctor` shows what can be seen here"
            )
            _say(f"ttmem: nothing in `{name}` reported device memory: {cause}")
        return
    from ttmem.view.pages.summary import summary

    usages = journals.usages()
    lines = summary(usages, journals.devices())
    _say(f"ttmem: peaks of `{name}`" if lines else f"ttmem: `{name}` reported, but held no device memory", lines)
    for reason in sorted({process.sites_off for process in usages if process.sites_off}):
        from ttmem.view.texts import no_lines_text

        _say(f"ttmem: {no_lines_text(reason)}")
    incidents = _incidents(journals, usages, has_failed=code != 0)
    if incidents:  # last: they are what people look for
        _say("", incidents)


def _incidents(journals: ChildJournals, usages: "Sequence[ProcessUsage]", *, has_failed: bool) -> "list[Line]":
    if not any(process.was_refused for process in usages):
        return []
    from ttmem.cli.explain import explanation_of
    from ttmem.view.incidents.run_summary import run_incidents
    from ttmem.view.page import PageOptions
    from ttmem.view.screen import Screen

    screen = Screen(sys.stderr, os.environ)
    options = PageOptions(screen.width, is_ascii=not screen.is_unicode)
    return run_incidents(
        usages,
        lambda process, incident: explanation_of(process, incident, journals),
        options,
        has_failed=has_failed,
        devices=journals.devices(),
    )


def _say(text: str, lines: "Sequence[Line]" = ()) -> None:
    """On stderr; where it has no reader, or is full, the program runs and ends as it would all the same."""
    try:
        click.echo(text, err=True)
        if lines:
            from ttmem.view.screen import Screen

            Screen(sys.stderr, os.environ).show(list(lines))
    except OSError:
        from ttmem.cli.program import forget

        forget(sys.stderr)
