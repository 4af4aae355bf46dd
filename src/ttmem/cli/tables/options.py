"""All flags of `ttmem ps`, spelled as tt-smi, nvidia-smi, htop and nvitop spell them."""

from collections.abc import Callable, Iterable
from typing import Any

import click

import ttmem
from ttmem.cli.tables.arguments import FileName, ManyValues
from ttmem.cli.tables.common_options import LOOKS, MADE_UP, NO_DAEMON, with_options
from ttmem.cli.tables.request import STANDARD_NAME, Request
from ttmem.view.process_table import COLUMNS

__all__ = ["table_command"]

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
        help="Again every so many seconds (1), until interrupted.",
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
    *MADE_UP,
)
_LOOKS = (
    click.option("-t", "--tree", "is_tree", is_flag=True, help="Children below the processes that started them."),
    click.option(
        *("--sort", "order"),
        metavar="COLUMN",
        shell_complete=_offer(lambda: COLUMNS),
        help="Processes by pid, user, label, age, dram, l1, cb, total, ...",
    ),
    *LOOKS,
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
