"""Phases: named stretches of a run, for which peaks are recorded.

with ttmem.phase("decode"):
    ...

@ttmem.phase("prefill")
def prefill(batch): ...
"""

from collections.abc import Callable
from functools import wraps
from inspect import CO_COROUTINE
from types import CodeType, TracebackType
from typing import Any, TypeVar, cast

from ttmem import _native

__all__ = ["Phase"]

Function = TypeVar("Function", bound=Callable[..., Any])


class Phase:
    """A phase to be entered, as a `with` block or as a decorator; may be entered again while it is open."""

    __slots__ = ("_name", "_open")

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"the name of a phase is a text, not {name!r}")
        self._name = name
        self._open: list[int] = []

    def __enter__(self) -> "Phase":
        client = _native.client
        # Interned each time: tracking may have begun, or the process forked, since the last time.
        self._open.append(client.begin_phase(client.intern(self._name)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _native.client.end_phase(self._open.pop())

    def __call__(self, function: Function) -> Function:
        """Wraps a function or coroutine function: each call is one run of the phase."""
        code = getattr(function, "__code__", None)
        is_coroutine = isinstance(code, CodeType) and bool(code.co_flags & CO_COROUTINE)
        return cast(Function, self._awaited(function) if is_coroutine else self._called(function))

    def _called(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def run(*arguments: Any, **options: Any) -> Any:
            with Phase(self._name):
                return function(*arguments, **options)

        return run

    def _awaited(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        async def run(*arguments: Any, **options: Any) -> Any:
            with Phase(self._name):
                return await function(*arguments, **options)

        return run
