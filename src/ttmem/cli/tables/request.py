"""What was asked for on the command line, checked: forms that exclude each other, words that are none."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from ttmem.errors import SelectionError
from ttmem.view.process_table import COLUMNS

if TYPE_CHECKING:  # a form is loaded when it is asked for: the table is what most people want
    from ttmem.view.queries import AppRow, CsvForm, MemoryRow, Question

__all__ = ["BANNER", "DEMO_CHIPS", "STANDARD_NAME", "Request", "check_colours"]

BANNER = "demo: made-up chips"
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
        }
        _refuse_two([flag for flag, is_given in forms.items() if is_given and flag not in self._allied_forms])
        check_colours(self.colours, is_colourless=self.is_colourless)
        _refuse_two([flag for flag, given in (("-l", self.interval), ("-lms", self.interval_ms)) if given is not None])
        if self.is_once and self.seconds is not None:
            raise click.UsageError("-1 and -l contradict each other")
        if self.csv_format is not None and not self.is_csv:
            raise click.UsageError("--format is for --query-mem and --query-apps")
        if self.order is not None and self.order not in COLUMNS:
            raise click.UsageError(f"--sort {self.order}: expected one of {' '.join(COLUMNS)}")

    @property
    def _allied_forms(self) -> tuple[str, ...]:
        return ("-k",) if self.picture_file is not None else ()

    @property
    def made_up_count(self) -> int | None:
        """How many made-up chips are asked for; None if real ones are."""
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

        with _bad_words("--query-mem", "ttmem --help-query-mem lists all"):
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


def check_colours(colours: str | None, *, is_colourless: bool) -> None:
    """Refuses colours and no colours."""
    if is_colourless and colours == "always":
        raise click.UsageError("-C and --color contradict each other")


def _refuse_two(flags: Sequence[str]) -> None:
    if len(flags) > 1:
        raise click.UsageError(f"{flags[0]} and {flags[1]} contradict each other")


class _bad_words:  # noqa: N801 reads as a verb where it is used
    """A SelectionError about the value of a flag, as click tells it."""

    def __init__(self, flag: str, hint: str = "") -> None:
        self._flag, self._hint = flag, hint

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, SelectionError):
            hint = f" ({self._hint})" if self._hint else ""
            raise click.BadParameter(f"{error}{hint}", param_hint=self._flag) from error
