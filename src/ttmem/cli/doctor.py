"""`ttmem doctor`: what the installed ttnn lets us see, why it is not more, and what to do about it."""

import json
import os
import sys
from collections.abc import Iterator

import click

from ttmem.doctor.checks import Check, Status
from ttmem.doctor.examination import DoctorReport, examine
from ttmem.doctor.runtime import Presence
from ttmem.view import Line, Role, Span
from ttmem.view.screen import Screen

_ROLES = {Status.PASS: Role.GOOD, Status.WARN: Role.HIGH, Status.FAIL: Role.FULL}
_INDENT = " " * 6
_TOPIC_WIDTH = 18


@click.command(short_help="Show what can be seen here, and what is missing.")
@click.option("--python", metavar="PATH", help="The Python whose ttnn is meant (default: `python` as found here).")
@click.option("--library", metavar="PATH", help="A libtt_metal.so, instead of an installed package.")
@click.option("-a", "--all", "has_all", is_flag=True, help="List all functions and places that the hook uses.")
@click.option("--json", "is_json", is_flag=True, help="One JSON document.")
@click.option("-C", "--no-color", "is_plain", is_flag=True, help="No colours (so does NO_COLOR).")
def doctor(*, python: str | None, library: str | None, has_all: bool, is_json: bool, is_plain: bool) -> int:
    """Examine hook, runtime and machine. Nothing is imported, opened or changed.

    The exit code is 0 if all is well, 1 if something is missing, 2 if it cannot work.
    """
    if python and library:
        raise click.UsageError("expected --python or --library, found both")
    report = examine(os.environ, uid=os.geteuid(), python=python, library=library)
    if is_json:
        indent = 2 if sys.stdout.isatty() else None
        click.echo(json.dumps(report.document(), indent=indent))
    else:
        Screen(sys.stdout, os.environ, has_colour=not is_plain).show(doctor_page(report, has_all=has_all))
    return report.status


def doctor_page(report: DoctorReport, *, has_all: bool) -> list[Line]:
    lines = [line for check in report.checks for line in _check_lines(check)]
    listed = [one for one in report.presences if has_all or one.is_lacking]
    if listed:
        lines += [(), *(_entry_line(presence, has_symbol=has_all) for presence in listed)]
    return [*lines, (), *((Span(text, role),) for text, role in _conclusion(report))]


def _conclusion(report: DoctorReport) -> Iterator[tuple[str, Role]]:
    """What all of it amounts to, and what to type."""
    failed = [check for check in report.checks if check.status is Status.FAIL]
    missing = [check.topic for check in report.checks if check.status is Status.WARN]
    if failed:
        yield f"Programs on ttnn cannot be tracked here: {', '.join(check.topic for check in failed)}.", Role.FULL
        if failed[0].next_step:
            yield f"First: {failed[0].next_step}", Role.PLAIN
        yield "`ttmem demo` works without ttnn and without a card.", Role.PLAIN
        return
    if missing:
        yield f"Programs on ttnn can be tracked; not all is right: {', '.join(missing)} (WARN).", Role.HIGH
    else:
        yield "All is right: programs on ttnn can be tracked.", Role.GOOD
    yield "Type: ttmem run -- python model.py", Role.PLAIN


def _check_lines(check: Check) -> list[Line]:
    verdict = Span(f"{check.status.name}  ", _ROLES[check.status])
    lines: list[Line] = [(verdict, Span(f"{check.topic:<{_TOPIC_WIDTH}}{check.text}"))]
    if check.next_step:
        lines.append((Span(f"{_INDENT}{'':<{_TOPIC_WIDTH}}-> {check.next_step}", Role.DIM),))
    return lines


def _entry_line(presence: Presence, *, has_symbol: bool) -> Line:
    entry, finding = presence
    role = Role.HIGH if presence.is_lacking else Role.DIM
    symbol = Span(f"  {entry.symbol}", Role.DIM)
    shown = (Span(f"{_INDENT}{finding:<10} ", role), Span(f"{entry.kind:<6} {entry.name:<31} {entry.gives}"))
    return (*shown, symbol) if has_symbol or entry.kind == "offset" else shown
