"""The columns of the kernel table: what each shows, how rows are put in order by it, and which give way first."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ttmem.devices import BinaryStatus, Kind
from ttmem.snapshot.kernel_table import KernelRow
from ttmem.view.spans import Role
from ttmem.view.units import UNKNOWN, count_text, packed_text, tight_size_text

__all__ = ["COLUMNS", "KernelColumn"]

_TYPES = {
    Kind.KERNEL_APPLICATION: ("application", "app"),
    Kind.KERNEL_FABRIC: ("fabric", "fab"),
    Kind.KERNEL_DISPATCH: ("dispatch", "disp"),
    Kind.KERNEL_UNKNOWN: ("unknown", "?"),
}
_STATUSES = {
    BinaryStatus.NOT_SENT: ("not sent", "unsent"),
    BinaryStatus.IN_FLIGHT: ("in flight", "flight"),
    BinaryStatus.COMMITTED: ("committed", "sent"),
    BinaryStatus.UNKNOWN: (UNKNOWN, UNKNOWN),
}


class KernelColumn(NamedTuple):
    """A column: its name for sorting, its titles, the words of a cell in a long and a short form, and a key to sort by.
    Of those that do not fit, the ones with the highest rank are left out first."""

    name: str
    title: str
    short_title: str
    cell: Callable[[KernelRow], tuple[str, str]]
    key: Callable[[KernelRow], Any]
    rank: int = 0
    is_word: bool = False
    is_descending: bool = True  # the first time

    def words(self, row: KernelRow, is_short: bool) -> str:
        return self.cell(row)[is_short]

    def role(self, row: KernelRow) -> Role:
        return Role.DIM if self.cell(row)[0] == UNKNOWN else Role.PLAIN


def _size(size_bytes: int | None) -> tuple[str, str]:
    text = tight_size_text(size_bytes)
    return text, text


def _count(count: int | None) -> tuple[str, str]:
    text = count_text(count)
    return text, text


def _text(text: str) -> tuple[str, str]:
    return text, text


def _exact(row: KernelRow) -> tuple[str, str]:
    return _size(row.exact_bytes)


def _found_by(row: KernelRow) -> tuple[str, str]:
    word = row.found_by.word
    return word, {"argument": "arg", "unknown": "?"}.get(word, word)


def _known(value: int | None) -> int:
    return -1 if value is None else value


COLUMNS = (
    KernelColumn(
        "program", "PROGRAM", "PROG", lambda row: _count(row.program), lambda row: _known(row.program), rank=1
    ),
    KernelColumn(
        "name",
        "NAME",
        "NAME",
        lambda row: _text(row.name or UNKNOWN),
        lambda row: row.name,
        is_word=True,
        is_descending=False,
    ),
    KernelColumn(
        "type",
        "TYPE",
        "TYPE",
        lambda row: _TYPES[row.kind],
        lambda row: row.kind.word,
        is_word=True,
        is_descending=False,
    ),
    KernelColumn(
        "found", "FOUND BY", "BY", _found_by, lambda row: row.found_by, rank=4, is_word=True, is_descending=False
    ),
    KernelColumn(
        "core",
        "CORE TYPE",
        "ON",
        lambda row: _text(row.core_type.word),
        lambda row: row.core_type,
        rank=9,
        is_word=True,
        is_descending=False,
    ),
    KernelColumn("binary", "BINARY", "BIN", lambda row: _size(row.binary_bytes), lambda row: _known(row.binary_bytes)),
    KernelColumn(
        "packed",
        "PACKED",
        "PACKED",
        lambda row: _text(packed_text(row.packed_bytes) or UNKNOWN),
        lambda row: row.packed_bytes,
        rank=10,
    ),
    KernelColumn("cores", "CORES", "CORES", lambda row: _count(row.core_count), lambda row: _known(row.core_count)),
    KernelColumn("exact", "EXACT", "EXACT", _exact, lambda row: _known(row.charged_bytes)),
    KernelColumn(
        "seed",
        "SEED RULE",
        "SEEDS",
        lambda row: _size(row.seed_rule_bytes),
        lambda row: _known(row.seed_rule_bytes),
        rank=3,
    ),
    KernelColumn(
        "status",
        "BINARIES",
        "STATE",
        lambda row: (UNKNOWN, UNKNOWN) if row.status is None else _STATUSES[row.status],
        lambda row: _known(None if row.status is None else row.status.number),
        rank=2,
        is_word=True,
        is_descending=False,
    ),
    KernelColumn(
        "launches", "LAUNCHES", "RUNS", lambda row: _count(row.launch_count), lambda row: _known(row.launch_count)
    ),
    KernelColumn(
        "hits",
        "CACHE HITS",
        "HITS",
        lambda row: _count(row.cache_hit_count),
        lambda row: _known(row.cache_hit_count),
        rank=5,
    ),
    KernelColumn("pid", "PID", "PID", lambda row: _text(str(row.pid)), lambda row: row.pid, rank=8),
)
