"""The circular buffers of one target, by program.

`ProgramImpl::allocate_circular_buffers` tells of every circular buffer again when a layout changes, without a release
in between, and `track_deallocate_cb` names no single one. So they are kept here by program; a second report of one
takes the place of the first. A globally allocated one is a view: listed, charged 0, for its bytes are its buffer's.
"""

from itertools import count
from operator import index
from typing import TypeAlias

from ttmem import _native
from ttmem.client.reports import report_cb_alloc, report_free
from ttmem.client.tracked.turns import turn
from ttmem.devices import Kind

__all__ = ["CircularBuffers", "Told"]

_VIEW = 1
_NUMBERS = count(1)
_intern = _native.client.intern

# One as it was told: address, bytes on a core, count of cores, cores as text, whether it is a view, what it is.
# A bare tuple, for cached programs tell of their views anew with every run.
Told: TypeAlias = tuple[int, int, int, str, bool, Kind]


class CircularBuffers:
    """What is laid out on one target."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._of_program: dict[int, dict[object, tuple[Told, int]]] = {}

    def add(self, program: int, cb_id: int | None, told: Told) -> None:
        """Lists one. Without an id, its place and cores tell it from the others of its program."""
        key = (told[0], *told[3:]) if cb_id is None else cb_id
        of_program = self._of_program.get(program)
        before = None if of_program is None else of_program.get(key)
        if before is None or before[0] != told:
            with turn():
                self._put(program, key, told)

    def _put(self, program: int, key: object, told: Told) -> None:
        address, size_bytes, core_count, cores, is_global, kind = told
        of_program = self._of_program.get(program)
        if of_program is None:
            of_program = self._of_program[program] = {}
        before = of_program.get(key)
        view, text = _VIEW if is_global else 0, _intern(cores)
        if before is not None:
            # What is no number raises here: then the former stays.
            index(address), index(size_bytes), index(core_count), index(program), index(kind)
            report_free(before[1])
        handle = report_cb_alloc(
            self._target, next(_NUMBERS), address, size_bytes, core_count, view, program, kind, 0, text
        )
        of_program[key] = told, handle

    def end(self, program: int) -> None:
        """Ends all of a program; of program 0, all there are. A program without any is no mistake."""
        with turn():
            ended = [program] if program else list(self._of_program)
            for one in ended:
                for _, handle in self._of_program.pop(one, {}).values():
                    report_free(handle)
