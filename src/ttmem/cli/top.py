"""`ttmem top`: the monitor, live or on a recording; where nothing can be drawn over, in a pipe or a file, one table."""

import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ttmem.cli.common import DONE, NOTHING_READ
from ttmem.cli.common.options import APPEARANCE, NO_DAEMON, SIMULATED, ManyValues, with_options
from ttmem.cli.common.recordings import RecordingName, opened
from ttmem.cli.common.request import DEMO_CHIPS, check_colours, device_words
from ttmem.errors import SelectionError
from ttmem.view.screen import Screen, has_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ttmem.cli.demonstration.workload import Order
    from ttmem.figures.replay_clock import ReplayClock
    from ttmem.monitor.options import Options
    from ttmem.recording import Recording

_LEAST_SECONDS, _MOST_SECONDS = 0.1, 60.0
# Of `ps` as well.
_TABLE_OPTIONS = ("devices", "users", "pids", "is_tree", "is_ascii", "is_colourless", "colours", "levels", "is_alone")


def _column(context: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is not None:
        from ttmem.monitor.screens.processes import SORT_WORDS

        if value not in SORT_WORDS:
            raise click.BadParameter(f"{value!r} is no column; there are {', '.join(SORT_WORDS)}", param=param)
    return value


@click.command(cls=ManyValues, short_help="Watch which process holds what, live.")
@with_options(SIMULATED)
@click.option(
    "--interval", type=click.FloatRange(_LEAST_SECONDS, _MOST_SECONDS), metavar="SEC", help="Time between updates (1)."
)
@click.option(
    "-m", "--monitor", "layout", type=click.Choice(["auto", "full", "compact"]), help="How much of each chip."
)
@click.option("-c", "--compact", "layout", flag_value="compact", help="One line for each chip: --monitor compact.")
@click.option("-i", "--id", "devices", metavar="LIST", help="Only these chips, named as for ttmem ps -i: 0,2.")
@click.option("-u", "--user", "users", multiple=True, metavar="NAME", help="Only processes of this user.")
@click.option("-p", "--pid", "pids", multiple=True, type=int, metavar="PID", help="Only this process.")
@click.option("-t", "--tree", "is_tree", is_flag=True, help="Processes as a tree.")
@click.option("--sort", metavar="COLUMN", callback=_column, help="Processes by this column.")
@click.option(
    "--limit",
    type=click.IntRange(0, 100),
    metavar="PERCENT",
    help="Mark a chip whose DRAM or fullest core reaches this.",
)
@click.option("--readonly", "is_readonly", is_flag=True, help="Send no signals, change nothing.")
@click.option("--replay", "path", type=RecordingName(), metavar="RECORDING", help="Show a recording.")
@click.option(
    "--speed", type=click.FloatRange(0.01, 1000), metavar="FACTOR", help="With --replay: how fast it plays (1)."
)
@click.option(
    "--at",
    "moment",
    metavar="WHEN",
    help="With --replay: where: 14:03:07, +12.5s, peak, incident:4711-1, a phase.",
)
@with_options(APPEARANCE)
@click.option("--light/--dark", "is_light", default=None, help="For a bright background, or a dark one.")
@NO_DAEMON
@click.pass_context
def top(context: click.Context, /, **asked: Any) -> int:
    """Watch which process holds what on which device, live. q leaves, F1 shows all keys.

    The figures are those of `ttmem ps`. Where nothing can be drawn over, in a pipe or a file, one table is shown.
    """
    _check(asked)
    screen = Screen(sys.stdout, os.environ)
    if asked["path"] is not None:
        return _replayed(asked, screen)
    orders = _orders(asked["chip_count"], is_demo=asked["is_demo"])
    if not screen.is_live or not has_keys():
        return _table(context, asked, orders)
    try:
        options = options_of(asked, is_unicode=screen.is_unicode)
        if orders:
            from ttmem.cli.demonstration.show import show

            return show(orders, options, os.environ).code
        from ttmem.monitor.app import DEMO_WANTED
        from ttmem.monitor.start import run_monitor

        code = run_monitor(options, os.environ)
        return code if code != DEMO_WANTED else _demonstrated(options)
    except SelectionError as error:
        raise click.BadParameter(str(error), param_hint="-i") from error


def _demonstrated(options: "Options") -> int:
    """What `d` on the empty screen starts."""
    from ttmem.cli.demonstration.show import orders_for, show
    from ttmem.monitor.options import ALL

    return show(orders_for(DEMO_CHIPS), options._replace(selection=ALL, words_of=None), os.environ).code


def _check(asked: dict[str, Any]) -> None:
    """Flags that go together."""
    if asked["path"] is None:
        for name, flag in (("speed", "--speed"), ("moment", "--at")):
            if asked[name] is not None:
                raise click.BadParameter("is for a recording: add --replay RECORDING", param_hint=flag)
    elif asked["chip_count"] is not None or asked["is_demo"]:
        raise click.BadParameter("a recording or simulated chips, not both", param_hint="--replay")


def _replayed(asked: dict[str, Any], screen: Screen) -> int:
    """The monitor on a recording; without a terminal the table of its last moment, or of `--at`."""
    from ttmem.cli.common.moments import moment_ns
    from ttmem.figures.replay_clock import ReplayClock

    recording = opened(asked["path"])
    clock = ReplayClock(recording.first_ns, recording.last_ns, speed=asked["speed"] or 1.0)
    is_live = screen.is_live and has_keys()
    if asked["moment"] is not None:
        clock.go_to(moment_ns(recording, asked["moment"]))
    elif is_live:
        clock.play()
    else:
        clock.end()
    return _replayed_monitor(asked, screen, recording, clock) if is_live else _replayed_table(asked, recording, clock)


def _replayed_monitor(asked: dict[str, Any], screen: Screen, recording: "Recording", clock: "ReplayClock") -> int:
    from ttmem.monitor.replay import selected_replay
    from ttmem.monitor.start import run_monitor

    options = options_of(asked, is_unicode=screen.is_unicode)._replace(replay=clock, is_readonly=True)
    try:
        return run_monitor(options, os.environ, opened=lambda: selected_replay(options, recording, clock))
    except SelectionError as error:
        raise click.BadParameter(str(error), param_hint="-i") from error


def _replayed_table(asked: dict[str, Any], recording: "Recording", clock: "ReplayClock") -> int:
    from ttmem.cli.common.request import Request
    from ttmem.cli.ps import write_once
    from ttmem.figures.replayed import RecordedFigures

    figures = RecordedFigures(recording, clock)
    if not figures.overview().live:
        when = "at its end" if asked["moment"] is None else "at that moment"
        click.echo(
            f"ttmem: {recording.path}: no program uses a device {when}; try another --at, such as peak", err=True
        )
        return NOTHING_READ
    write_once(Request(order=asked["sort"], **{name: asked[name] for name in _TABLE_OPTIONS}), figures)
    return DONE


def _orders(chip_count: int | None, *, is_demo: bool) -> "list[Order]":
    if chip_count is None and not is_demo:
        return []
    from ttmem.cli.demonstration.show import orders_for

    return orders_for(chip_count or DEMO_CHIPS)


def _table(context: click.Context, asked: dict[str, Any], orders: "Sequence[Order]") -> int:
    """What a pipe gets."""
    if orders:
        from ttmem.cli.demo import demo

        names = tuple(order.name for order in orders)
        return int(context.invoke(demo, names=names, is_ascii=asked["is_ascii"], is_colourless=asked["is_colourless"]))
    from ttmem.cli.common.request import Request
    from ttmem.cli.ps import answer

    return answer(Request(order=asked["sort"], **{name: asked[name] for name in _TABLE_OPTIONS}))


def options_of(asked: dict[str, Any], *, is_unicode: bool) -> "Options":
    """What was asked for, as the monitor takes it."""
    from ttmem.monitor.options import Options
    from ttmem.snapshot import Selection

    check_colours(asked["colours"], is_colourless=asked["is_colourless"])
    named = asked["devices"]
    return Options(
        interval=asked["interval"],
        layout=asked["layout"],
        theme=None if asked["is_light"] is None else "light" if asked["is_light"] else "dark",
        is_ascii=asked["is_ascii"] or not is_unicode,
        colours="never" if asked["is_colourless"] else asked["colours"] or "auto",
        is_readonly=asked["is_readonly"],
        is_tree=asked["is_tree"],
        sort=asked["sort"],
        limit=asked["limit"],
        selection=Selection((), asked["users"], asked["pids"]),
        words_of=None if named is None else partial(device_words, named),
        has_daemon=not asked["is_alone"],
    )
