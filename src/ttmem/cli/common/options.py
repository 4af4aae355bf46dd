"""Flags: those of `ttmem ps`, spelled as tt-smi, nvidia-smi, htop and nvitop spell them, and those other verbs share.

Some take several values, as htop and nvitop have them: `-p 4001 4002`, `-u ada grace`, `-u` for oneself.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

import ttmem
from ttmem.cli.common.request import DEMO_CHIPS, STANDARD_NAME, Request
from ttmem.view.process_table import COLUMNS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["APPEARANCE", "HELP_OPTION", "NO_DAEMON", "SIMULATED", "FileName", "ManyValues"]
__all__ += ["levels_of", "spread", "table_command", "with_options"]

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
    from ttmem.view.screen import levels_from

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
    """A file to write. Opening it later says what is wrong; `click.Path` would look for its name in other languages."""

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


Option = Callable[[Any], Any]

NO_DAEMON: Option = click.option(
    "--no-daemon", "is_alone", is_flag=True, help="Read the journals here, whether a daemon runs or not."
)
SIMULATED: tuple[Option, ...] = (
    click.option("--demo", "is_demo", is_flag=True, help="Simulated chips: a workload on the runtime model."),
    click.option(
        "--mock",
        "chip_count",
        type=click.IntRange(1, 64),
        is_flag=False,
        flag_value=DEMO_CHIPS,
        metavar="[N]",
        help=f"Number of simulated chips ({DEMO_CHIPS}).",
    ),
)
APPEARANCE: tuple[Option, ...] = (
    click.option("-U", "--ascii", "--no-unicode", "is_ascii", is_flag=True, help="Bars and marks in ASCII."),
    click.option("-C", "--no-color", "is_colourless", is_flag=True, help="No colours (NO_COLOR does the same)."),
    click.option(
        "--color",
        "colours",
        type=click.Choice(["always", "never", "auto"]),
        is_flag=False,
        flag_value="always",
        metavar="[WHEN]",
        help="Colours always, whatever it is written to, also with NO_COLOR; never; or auto.",
    ),
    click.option(
        "--levels",
        metavar="T,H,F",
        callback=levels_of,
        help="Thresholds in percent for the words and colours taken, high, full (60,80,95).",
    ),
)


def with_options(options: Iterable[Option]) -> Option:
    """One decorator for all of them, in this order."""

    def decorated(function: Any) -> Any:
        for option in reversed(tuple(options)):
            function = option(function)
        return function

    return decorated


_LEAST_SECONDS = 0.05


Offer = Callable[[click.Context, click.Parameter, str], list[str]]


def _offer(words: Callable[[], Iterable[str]]) -> Offer:
    """What a shell may offer in a comma list of these words; they are looked up when it asks."""

    def offered(context: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [before + comma + word for word in words() if word.startswith(last)]

    return offered


def _memory_names() -> list[str]:
    from ttmem.view.queries import MEMORY_FIELDS

    return [name for field in MEMORY_FIELDS for name in (field.name, *field.aliases)]


def _app_names() -> list[str]:
    from ttmem.view.queries import APP_FIELDS

    return [name for field in APP_FIELDS for name in (field.name, *field.aliases)]


def _sections() -> tuple[str, ...]:
    from ttmem.view.pages.report import SECTIONS

    return SECTIONS


def _version(context: click.Context, param: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        click.echo(f"ttmem {ttmem.__version__}")
        context.exit()


_FORMS = (
    click.option(
        "-s", "--snapshot", "--json", "is_json", is_flag=True, help="One JSON document; with -l one per line."
    ),
    click.option(
        "-f",
        "--filename",
        is_flag=False,
        flag_value=STANDARD_NAME,
        metavar="[FILE]",
        help="Write to FILE instead; - is standard output, no name ttmem_<time>.json here.",
    ),
    click.option("-q", "--query", "is_report", is_flag=True, help="Everything, as text."),
    click.option(
        *("-d", "--display", "sections"),
        metavar="LIST",
        shell_complete=_offer(_sections),
        help="Of -q only these: MEMORY, L1, PIDS.",
    ),
    click.option(
        *("--query-mem", "--query-gpu", "memory_fields"),
        metavar="FIELDS",
        shell_complete=_offer(_memory_names),
        help="These figures of every chip, as CSV.",
    ),
    click.option(
        "--query-apps",
        "--query-compute-apps",
        "app_fields",
        metavar="FIELDS",
        shell_complete=_offer(_app_names),
        help="These figures of every process on every chip, as CSV.",
    ),
    click.option("--format", "csv_format", metavar="csv[,noheader][,nounits]", help="How CSV is to look."),
    click.option(
        "--help-query-mem", "--help-query-gpu", "is_memory_help", is_flag=True, help="All fields of --query-mem."
    ),
    click.option(
        "--help-query-apps", "--help-query-compute-apps", "is_app_help", is_flag=True, help="All of --query-apps."
    ),
    click.option("-ls", "--list", "-L", "is_list", is_flag=True, help="The chips, and all their names."),
    click.option("-1", "--once", "is_once", is_flag=True, help="The table once, also on a terminal."),
    click.option(
        "-k", "--kernels", "is_kernels", is_flag=True, help="What programs do: kernels by core, ring, caches."
    ),
    click.option("--picture", "picture_file", type=FileName(), help="Write the table as SVG."),
)
_TIMES = (
    click.option(
        "-l",
        "--loop",
        "--watch",
        "interval",
        type=click.FloatRange(min=_LEAST_SECONDS),
        is_flag=False,
        flag_value=1.0,
        metavar="[SECONDS]",
        help="Repeat every SECONDS (1), until interrupted.",
    ),
    click.option(
        "-lms",
        "--loop-ms",
        "interval_ms",
        type=click.FloatRange(min=1000 * _LEAST_SECONDS),
        metavar="MS",
        help="The same in milliseconds.",
    ),
)
_CHOICES = (
    click.option(
        "-i",
        "--id",
        "devices",
        metavar="LIST",
        help="Only these chips: indexes, unique ids, /dev/tenstorrent/N or PCI addresses; one kind, comma between.",
    ),
    click.option(
        "-u", "--user", "users", multiple=True, metavar="[NAME]...", help="Only processes of these users (you)."
    ),
    click.option("-p", "--pid", "pids", multiple=True, type=int, metavar="PID...", help="Only these processes."),
    click.option("-a", "--all", "is_with_ended", is_flag=True, help="Also processes that have ended."),
    NO_DAEMON,
    *SIMULATED,
)
_LOOKS = (
    click.option("-t", "--tree", "is_tree", is_flag=True, help="Children below the processes that started them."),
    click.option(
        *("--sort", "order"),
        metavar="COLUMN",
        shell_complete=_offer(lambda: COLUMNS),
        help="Processes by pid, user, label, age, dram, l1, cb, total, ...",
    ),
    click.option(
        "--by",
        type=click.Choice(["workload"]),
        help="Processes together: of one job, pod, systemd unit or named run.",
    ),
    *APPEARANCE,
    click.option("--light", "is_light", is_flag=True, help="Colours for a bright background."),
    click.option(
        *("-V", "-v", "--version", "is_version"),
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_version,
        help="Show the version.",
    ),
)


def table_command(answer: Callable[[Request], int], *, name: str, purpose: str, story: str) -> ManyValues:
    """A command with all of these flags."""

    def asked(**values: Any) -> int:
        return answer(Request(**values))

    command = click.command(name, cls=ManyValues, short_help=purpose, help=story)
    made: ManyValues = command(with_options((*_FORMS, *_TIMES, *_CHOICES, *_LOOKS))(asked))
    return made
