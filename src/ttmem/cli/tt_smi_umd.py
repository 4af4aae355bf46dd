"""`tt_smi_umd`: the same program under the older monitor's name.

On a terminal it is `ttmem top`; piped, it prints that one's block per device, unless another form is asked for.
"""

from typing import TextIO

import click

from ttmem.cli.common.request import QueryResult, Request
from ttmem.cli.program import is_at_terminal, program, with_verb
from ttmem.cli.ps import answer, ps
from ttmem.view.pages.older_monitor import older_monitor
from ttmem.view.screen import Screen

__all__ = ["tt_smi_umd"]

_REFRESH_MS = 500  # as the older program did


class Blocks:
    """The older monitor's blocks, once or repeatedly."""

    has_identity = False

    def __init__(self, request: Request, screen: Screen, stream: TextIO) -> None:
        self._stream = stream

    def write(self, result: QueryResult, *, is_again: bool) -> None:
        self._stream.write(older_monitor(result.chosen) + ("\n" if is_again else ""))
        self._stream.flush()


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": ["-h", "--help"]})
@click.option("-w", "--watch", "is_watching", is_flag=True, help="Repeat, also in a pipe.")
@click.option(
    "-r", "refresh_ms", type=click.FloatRange(min=100), metavar="MS", help=f"Time between looks ({_REFRESH_MS})."
)
@click.option("--sysfs", "is_sysfs", is_flag=True, help="Nothing: sensors are always read from sysfs.")
@click.argument("others", nargs=-1, type=click.UNPROCESSED, metavar="[FLAGS OF ttmem]...")
@click.pass_context
def tt_smi_umd(
    context: click.Context, /, *, is_watching: bool, refresh_ms: float | None, is_sysfs: bool, others: tuple[str, ...]
) -> int:
    """Show the memory of every device: live on a terminal, as one block per device in a pipe.

    The same program as `ttmem`, and all its flags work here, too.
    """
    if with_verb([*others], is_terminal=is_at_terminal())[0] == "top":
        pace = [] if refresh_ms is None else ["--interval", str(refresh_ms / 1000)]
        with program.make_context("tt_smi_umd", ["top", *pace, *others], parent=context) as inner:
            code = program.invoke(inner)
            return code if isinstance(code, int) else 0
    with ps.make_context("tt_smi_umd", [*others], parent=context) as inner:
        params = dict(inner.params)
    if is_watching and params["interval_ms"] is None:
        params["interval_ms"] = refresh_ms or _REFRESH_MS
    return answer(Request(**params), standard=Blocks)
