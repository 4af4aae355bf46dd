"""Plays a step as if a line of the workload had called it, so that whoever looks at the stack finds that line there.

A workload is a list of steps, and whoever plays it has no frame of the one who wrote it.
"""

import sys
from collections.abc import Callable, Iterable
from functools import cache, partial
from types import FunctionType
from typing import Any, TypeVar

from ttmem.metal.workloads.steps import Line

__all__ = ["called_from"]

_Result = TypeVar("_Result")


def called_from(lines: Iterable[Line], do: Callable[[], _Result]) -> _Result:
    """Calls it below a frame for each line, the innermost first."""
    for line in lines:
        do = partial(_caller(line), do)
    return do()


@cache
def _caller(line: Line) -> Callable[[Callable[[], Any]], Any]:
    """A function whose only line is that one."""
    names: dict[str, Any] = {"co_filename": line.file, "co_name": line.function, "co_firstlineno": line.number}
    if sys.version_info >= (3, 11):
        names["co_qualname"] = line.function
    return FunctionType((lambda do: do()).__code__.replace(**names), {})
