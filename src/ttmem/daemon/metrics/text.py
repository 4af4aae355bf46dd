"""Rows as text: the classic format of Prometheus, or OpenMetrics, whichever the asker prefers.

The library that does this otherwise takes ten times as long, mostly for writing the same labels again and again. Here
they are written once and remembered; a test compares both.
"""

from collections.abc import Sequence
from functools import cache

from ttmem.daemon.metrics.families import Family, Labels, Page, Row

__all__ = ["CLASSIC", "OPEN_METRICS", "PageText", "chosen_format"]

CLASSIC = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_HEADS_MOST = 100_000  # of chips and workloads that come and go; then they are written anew
_LABEL = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})
_HELP = str.maketrans({"\\": r"\\", "\n": r"\n"})


def chosen_format(accept: str) -> str:
    """The content type to answer with, by what an asker says it takes: the first of ours with the highest weight."""
    best, weight = CLASSIC, 0.0
    for part in accept.lower().split(","):
        kind, *parameters = (word.strip() for word in part.split(";"))
        given = dict(parameter.partition("=")[::2] for parameter in parameters)
        is_open = kind == "application/openmetrics-text" and given.get("version", "1.0.0") in ("1.0.0", "0.0.1")
        if (is_open or kind in ("text/plain", "text/*", "*/*")) and _weight(given.get("q", "1")) > weight:
            best, weight = (OPEN_METRICS if is_open else CLASSIC), _weight(given.get("q", "1"))
    return best


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


class PageText:
    """Writes pages, and remembers what the rows of all of them begin with. One thread at a time."""

    def __init__(self) -> None:
        self._heads: dict[Family, dict[Labels, str]] = {}
        self._head_count = 0
        self._last: dict[Family, tuple[Sequence[Row], str]] = {}

    def written(self, page: Page, content_type: str) -> bytes:
        is_open = content_type == OPEN_METRICS
        declared = _declared_open if is_open else _declared
        texts: list[str] = []
        for part in page.parts:
            if part.blocks is None:
                part.blocks = {family: self._block(family, rows) for family, rows in part}
            for family, block in part.blocks.items():
                texts += (declared(family), block)
        if is_open:
            texts.append("# EOF\n")
        return "".join(texts).encode(errors="replace")

    def _block(self, family: Family, rows: Sequence[Row]) -> str:
        """The rows of a family, which look the same in both formats."""
        before, text = self._last.get(family, ((), ""))
        if before != rows:  # comparing is quick, and of most families nothing has changed
            text = self._lines(family, rows)
            self._last[family] = (rows, text)
        return text

    def _lines(self, family: Family, rows: Sequence[Row]) -> str:
        heads = self._heads.setdefault(family, {})
        try:
            return "".join([f"{heads[labels]}{value}\n" for labels, value in rows])
        except KeyError:  # there are new ones
            self._learn(family, rows)
            return self._lines(family, rows)

    def _learn(self, family: Family, rows: Sequence[Row]) -> None:
        if self._head_count > _HEADS_MOST:
            self._heads.clear()
            self._head_count = 0
        heads = self._heads.setdefault(family, {})
        before = len(heads)
        heads.update((labels, _head(family, labels)) for labels, _ in rows if labels not in heads)
        self._head_count += len(heads) - before


def _head(family: Family, labels: Labels) -> str:
    """All of a line but its value. An empty label is one that is not there."""
    given = [f'{name}="{value.translate(_LABEL)}"' for name, value in zip(family.labels, labels, strict=True) if value]
    return f"{family.name}{{{','.join(given)}}} " if given else f"{family.name} "


@cache
def _declared(family: Family) -> str:
    kind = "counter" if family.type == "counter" else "gauge"  # the classic format has no type for what only informs
    return f"# HELP {family.name} {family.help.translate(_HELP)}\n# TYPE {family.name} {kind}\n"


@cache
def _declared_open(family: Family) -> str:
    unit = f"# UNIT {family.stem} {family.unit}\n" if family.unit else ""
    return f"# HELP {family.stem} {family.help.translate(_LABEL)}\n# TYPE {family.stem} {family.type}\n{unit}"
