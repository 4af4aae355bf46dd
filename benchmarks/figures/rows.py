"""A measured figure, what was promised for it, and how the old design does.

A target is written `<= 30` or `>= 25` in the figure's own unit. The ratio says how many times better than the
baseline a figure is, whichever direction is better for it.
"""

import json
import operator
from dataclasses import asdict, dataclass
from typing import Any

_COMPARISONS = {"<=": operator.le, ">=": operator.ge}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. `met` is None for a figure without a target."""

    name: str
    value: float | None
    unit: str
    target: str | None
    met: bool | None
    baseline: float | None
    ratio: float | None

    def as_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)


def row(name: str, value: float | None, unit: str, *, target: str | None = None, baseline: float | None = None) -> Row:
    """Judges a figure: a promise whose figure could not be had counts as missed."""
    met = None if target is None else value is not None and is_met(value, target)
    return Row(name, value, unit, target, met, baseline, _ratio(value, target, baseline))


def row_of_line(line: str) -> Row:
    """The figure that a benchmark program printed as one line of JSON."""
    figure: dict[str, Any] = json.loads(line)
    return row(figure["name"], figure["value"], figure["unit"], target=figure["target"], baseline=figure["baseline"])


def is_met(value: float, target: str) -> bool:
    comparison, limit = target.split()
    return bool(_COMPARISONS[comparison](value, float(limit)))


def _ratio(value: float | None, target: str | None, baseline: float | None) -> float | None:
    if not value or not baseline:
        return None
    is_more_better = target is not None and target.startswith(">=")
    return value / baseline if is_more_better else baseline / value
