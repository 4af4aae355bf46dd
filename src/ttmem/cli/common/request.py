"""What was asked for on the command line, checked, and the figures that answer it.

The chips of `-i LIST` are indexes, unique ids, device files or PCI addresses, one kind at a time as tt-smi has it.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import click

from ttmem.cli.common import nearest
from ttmem.errors import NothingToRead, SelectionError
from ttmem.snapshot import DeviceUsage, Selection, Snapshot, selected
from ttmem.snapshot.selection import device_test, is_device_name, known_devices
from ttmem.snapshot.values import Device, replace
from ttmem.view.page import EXPLAINING
from ttmem.view.process_table import COLUMNS
from ttmem.view.table import clean
from ttmem.view.texts import looked_text, plural

if TYPE_CHECKING:
    from ttmem.snapshot.telemetry import ChipTelemetry
    from ttmem.view.queries import AppRow, CsvForm, MemoryRow, Question

__all__ = ["BANNER", "DEMO_CHIPS", "DEMO_PREFIX", "STANDARD_NAME", "Looked", "QueryResult", "Request", "check_colours"]
__all__ += ["device_words", "how_to_explain", "query"]

BANNER = "demo: simulated chips"
DEMO_PREFIX = "ttmem-demo-"  # of the directory where the processes of a demo report
DEMO_CHIPS = 4
STANDARD_NAME = "\0"  # -f without a name; no file can be called that


class Request(NamedTuple):
    """The flags of `ttmem ps`."""

    is_json: bool = False
    filename: str | None = None
    is_report: bool = False
    sections: str | None = None
    memory_fields: str | None = None
    app_fields: str | None = None
    csv_format: str | None = None
    is_memory_help: bool = False
    is_app_help: bool = False
    is_list: bool = False
    is_once: bool = False
    is_kernels: bool = False
    picture_file: str | None = None
    interval: float | None = None
    interval_ms: float | None = None
    devices: str | None = None
    users: Sequence[str] = ()
    pids: Sequence[int] = ()
    is_with_ended: bool = False
    is_alone: bool = False
    is_tree: bool = False
    order: str | None = None
    by: str | None = None
    is_ascii: bool = False
    is_colourless: bool = False
    colours: str | None = None
    levels: tuple[int, int, int] | None = None
    is_light: bool = False
    is_demo: bool = False
    chip_count: int | None = None

    def check(self) -> None:
        """Refuses what contradicts itself, before anything is read."""
        forms = {
            "-s": self.is_json,
            "-q": self.is_report or self.sections is not None,
            "--query-mem": self.memory_fields is not None,
            "--query-apps": self.app_fields is not None,
            "-L": self.is_list,
            "--picture": self.picture_file is not None,
            "-k": self.is_kernels,
            "--by": self.by is not None,
        }
        _refuse_two([flag for flag, is_given in forms.items() if is_given and flag not in self._allied_forms])
        check_colours(self.colours, is_colourless=self.is_colourless)
        _refuse_two([flag for flag, given in (("-l", self.interval), ("-lms", self.interval_ms)) if given is not None])
        if self.is_once and self.seconds is not None:
            raise click.UsageError("-1 and -l contradict each other")
        if self.csv_format is not None and not self.is_csv:
            raise click.UsageError("--format is for --query-mem and --query-apps")
        if self.order is not None and self.order not in COLUMNS:
            hint = nearest(self.order, COLUMNS, f"there are {', '.join(COLUMNS)}")
            raise click.UsageError(f"--sort: no column {self.order!r}; {hint}")

    @property
    def _allied_forms(self) -> tuple[str, ...]:
        return ("-k", "--by") if self.picture_file is not None else ()

    @property
    def simulated_count(self) -> int | None:
        """How many simulated chips are asked for; None if real ones are."""
        return self.chip_count or (DEMO_CHIPS if self.is_demo else None)

    @property
    def is_csv(self) -> bool:
        return self.memory_fields is not None or self.app_fields is not None

    @property
    def has_json(self) -> bool:
        """-f alone writes what `-s` does."""
        is_bare = not (self.is_csv or self.is_list or self.chosen_sections)
        return self.is_json or (self.filename is not None and is_bare)

    @property
    def seconds(self) -> float | None:
        """Between two answers; None for one answer."""
        return self.interval if self.interval_ms is None else self.interval_ms / 1000

    @property
    def form(self) -> "CsvForm":
        from ttmem.view.queries import CsvForm

        with _bad_words("--format"):
            return CsvForm.from_text(self.csv_format or "csv")

    @property
    def memory_question(self) -> "Question[MemoryRow]":
        from ttmem.view.queries import MEMORY_FIELDS, chosen_fields

        with _bad_words("--query-mem (--query-gpu)", "ttmem --help-query-mem lists all"):
            return chosen_fields(self.memory_fields or "", MEMORY_FIELDS)

    @property
    def app_question(self) -> "Question[AppRow]":
        from ttmem.view.queries import APP_FIELDS, chosen_fields

        with _bad_words("--query-apps", "ttmem --help-query-apps lists all"):
            return chosen_fields(self.app_fields or "", APP_FIELDS)

    @property
    def chosen_sections(self) -> tuple[str, ...]:
        """Of the report; empty if none was asked for."""
        if self.sections is None and not self.is_report:
            return ()
        from ttmem.view.pages.report import SECTIONS

        if self.sections is None:
            return SECTIONS
        words = tuple(word.strip().upper() for word in self.sections.split(","))
        for word in words:
            if word not in SECTIONS:
                raise click.BadParameter(f"no section {word!r}; known: {', '.join(SECTIONS)}", param_hint="-d")
        return words


def how_to_explain(environ: Mapping[str, str], *, is_simulated: bool) -> str:
    """What explains an incident, as `PageOptions.explaining` has it. A demo that runs is asked in its directory;
    chips that a verb simulated are gone when its words are read."""
    directory = environ.get("TTMEM_DIR", "")
    if is_simulated:
        return "ttmem explain --demo"
    is_demo = os.path.basename(directory.rstrip("/")).startswith(DEMO_PREFIX)
    return f"TTMEM_DIR={directory} {EXPLAINING}" if is_demo else EXPLAINING


def check_colours(colours: str | None, *, is_colourless: bool) -> None:
    """Refuses colours and no colours."""
    if is_colourless and colours == "always":
        raise click.UsageError("-C and --color contradict each other")


def _refuse_two(flags: Sequence[str]) -> None:
    if len(flags) > 1:
        raise click.UsageError(f"{flags[0]} and {flags[1]} contradict each other")


class _bad_words:  # noqa: N801 reads as a verb where it is used
    """A SelectionError about the value of a flag, as click reports it."""

    def __init__(self, flag: str, hint: str = "") -> None:
        self._flag, self._hint = flag, hint

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, SelectionError):
            hint = f" ({self._hint})" if self._hint else ""
            raise click.BadParameter(f"{error}{hint}", param_hint=self._flag) from error


# Compiled when they are used, as all patterns of the table: mostly they are not.
_NODE = r"/dev/tenstorrent/(\d+)"
_BUS_ID = r"(?i)(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_PCI_DOMAIN = "0000:"
_NAMES = "an index (0), a unique id (0x1a2b), a device file (/dev/tenstorrent/0) or a PCI address (0000:01:00.0)"
_BY_DRIVER = {"device files", "PCI addresses"}


def device_words(
    text: str | None, telemetry: Callable[[], Sequence["ChipTelemetry"]], devices: Sequence[Device] = ()
) -> tuple[str, ...]:
    """Words as a selection takes them: files and addresses become unique ids, for which the driver is asked; of the
    devices that are known, the ids their openers gave. What is not there, or of several kinds, is a SelectionError."""
    words = [word.strip() for word in (text or "").split(",") if word.strip()]
    if text is not None and not words:  # such as a variable of a script that is not set
        raise SelectionError(f"expected names of devices, found {text!r}")
    for word in words:
        if _kind(word) == "indexes" and not word.isdecimal():
            raise SelectionError(f"{word!r} is no device: expected {_NAMES}; {known_devices(devices)}")
    kinds = {_kind(word) for word in words}
    if len(kinds) > 1:
        raise SelectionError(f"{', '.join(words)}: expected names of one kind, found {' and '.join(sorted(kinds))}")
    if not kinds & _BY_DRIVER:
        return tuple(words)
    chips = telemetry()
    return tuple(_unique_id(word, chips, devices) for word in words)


def _kind(word: str) -> str:
    if re.fullmatch(_NODE, word):
        return "device files"
    if re.fullmatch(_BUS_ID, word):
        return "PCI addresses"
    if is_device_name(word):
        return "names"
    return "unique ids" if word.lower().startswith("0x") else "indexes"


def _unique_id(word: str, chips: Sequence["ChipTelemetry"], devices: Sequence[Device]) -> str:
    full = word.lower() if word.startswith("/") or word.count(":") == 2 else _PCI_DOMAIN + word.lower()
    chip = next((one for one in chips if full in (one.dev_node, (one.pci_bus_id or "").lower())), None)
    if chip is None:
        known = ", ".join(f"{one.dev_node} ({one.pci_bus_id})" for one in chips)
        raise SelectionError(f"no device {word} here; the driver has {known or 'none'}")
    from ttmem.snapshot.identity import chip_of

    opened = next((device.uuid for device in devices if chip_of(device, chips) is chip), None)
    if opened is None and chip.asic_id is None:
        raise SelectionError(f"{word}: the driver does not say which chip that is; give its index or unique id")
    return opened or f"{chip.asic_id:#018x}"


class QueryResult(NamedTuple):
    """What was seen at one instant."""

    snapshot: Snapshot  # everything
    chosen: Snapshot
    telemetry: Sequence["ChipTelemetry"]
    missing: Sequence[str] = ()  # names of chips that were asked for and are not there, while others are
    nameless: Sequence["ChipTelemetry"] = ()  # chips of the driver that may be any of those others speak of

    def check(self, request: Request) -> None:
        """Says which requested figures no process reports; NothingToRead if that is so of all of them."""
        for word in self.missing:
            click.echo(f"ttmem: no device {word} here", err=True)
        if not self.telemetry and not self.reports(request):
            raise NothingToRead(_nothing_text(self.snapshot))
        self.check_processes(request)

    def reports(self, request: Request) -> bool:
        """Whether any process does: one that runs, or with --all one that has ended."""
        return bool(self.snapshot.processes if request.is_with_ended else self.snapshot.live)

    def check_processes(self, request: Request) -> None:
        """NothingToRead if none of the users or processes that were named reports; says who does."""
        if self.chosen.processes or not (request.users or request.pids):
            return
        processes = self.snapshot.processes if request.is_with_ended else self.snapshot.live
        asked = [_user_text(user) for user in request.users] + [f"pid {pid}" for pid in request.pids]
        text = (
            f"no process of {', '.join(asked)} reports now" if request.users else f"{', '.join(asked)} reports nothing"
        )
        others = (str(process.pid) for process in processes if process.is_visible) if request.pids else ()
        known = [*dict.fromkeys((*(process.user for process in processes if request.users), *others))]
        ended = "" if request.is_with_ended or not self.snapshot.ended else " (--all also shows ended ones)"
        raise NothingToRead(text + (f"; those that report: {_few(known)}" if known else "") + ended)


def _nothing_text(snapshot: Snapshot) -> str:
    """Why there is nothing to show, in one line; of what was found on the way the first."""
    theirs = f"; {len(snapshot.foreign)} of other users may not be read" if snapshot.foreign else ""
    findings = [finding for finding in snapshot.findings if finding.name != "damaged"]
    note = "".join(f"; {finding.line}" for finding in findings[:1])
    more_count = len(findings) - 1
    more = f" (and {plural(more_count, 'more finding', 's')}: ttmem ps --json)" if more_count > 0 else ""
    ended = f"; {len(snapshot.ended)} ended, shown by --all" if snapshot.ended else ""
    where = looked_text(snapshot.source, snapshot.places)
    return f"no process reports ({where}{ended}){theirs}{clean(note)}{more}"


_MOST_NAMED = 8  # in one message


def _few(words: Sequence[str]) -> str:
    more = f" and {len(words) - _MOST_NAMED} more" if len(words) > _MOST_NAMED else ""
    return clean(", ".join(words[:_MOST_NAMED])) + more


def _user_text(user: str) -> str:
    """Says it if there is no such user at all."""
    import pwd  # only mistakes pay for it

    try:
        return pwd.getpwuid(int(user)).pw_name if user.isdecimal() else pwd.getpwnam(user).pw_name
    except (KeyError, OverflowError):
        return f"{user} (no user of this machine)"


class Looked(Protocol):
    """What is looked at: a `FigureSource`, or a recording."""

    def snapshot(self) -> Snapshot: ...
    def telemetry(self) -> "tuple[ChipTelemetry, ...]": ...


def query(source: Looked, request: Request, *, has_identity: bool) -> QueryResult:
    """Looks now. `has_identity`: also at what the driver says, and at chips that no process has opened."""
    telemetry = source.telemetry() if has_identity else ()
    snapshot = source.snapshot()
    if request.simulated_count and has_identity:  # a table has a banner
        snapshot = replace(snapshot, source=BANNER)
    try:
        known = [usage.device for usage in snapshot.devices]
        names = device_words(request.devices, lambda: telemetry or source.telemetry(), known)
        selection = Selection(names, tuple(request.users), tuple(request.pids), request.is_with_ended)
        whole, nameless = _with_idle_chips(snapshot, telemetry) if has_identity else (snapshot, ())
        chosen = selected(whole, selection)
    except SelectionError as error:
        raise click.BadParameter(str(error), param_hint="-i") from error
    missing = [word for word in names if not any(device_test(word)(usage.device) for usage in chosen.devices)]
    return QueryResult(snapshot, chosen, telemetry, missing, nameless)


def _with_idle_chips(
    snapshot: Snapshot, telemetry: Sequence["ChipTelemetry"]
) -> tuple[Snapshot, Sequence["ChipTelemetry"]]:
    """With the chips of the driver that no report names; and those that may be one that a report names."""
    from ttmem.snapshot.identity import chip_of, nameless_chips  # here, since the table shows nothing of the driver

    known = [chip_of(usage.device, telemetry) for usage in snapshot.devices]
    nameless = nameless_chips([usage.device for usage in snapshot.devices], telemetry)
    idle = [chip for chip in telemetry if chip not in known and chip not in nameless]
    first = 1 + max((usage.device.number for usage in snapshot.devices), default=-1)
    devices = tuple(_idle(chip, number) for number, chip in enumerate(idle, start=first))
    return replace(snapshot, devices=(*snapshot.devices, *devices)) if devices else snapshot, nameless


def _idle(chip: "ChipTelemetry", number: int) -> DeviceUsage:
    bare = Device.bare(number, chip.asic_id, index=None, name="" if chip.asic_id else f"tenstorrent:{chip.node}")
    return DeviceUsage(replace(bare, board=chip.card_type or "", arch=chip.arch or ""), (), (), None)
