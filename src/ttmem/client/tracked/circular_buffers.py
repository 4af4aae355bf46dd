"""The circular buffers of one target, by program.

`ProgramImpl::allocate_circular_buffers` tells of every circular buffer again when a layout changes, without a release
in between, and `track_deallocate_cb` names no single one. So they are kept here by program; a second report of one
takes the place of the first. A globally allocated one is a view: listed, charged 0, for its bytes are its buffer's.

Cached programs move their views with every run, too often to wait for turns. Instead whoever takes an entry out of its
dict, by one call, is the one who ends it.
"""

from contextlib import suppress
from itertools import count
from operator import index
from typing import TypeAlias

from ttmem import _native
from ttmem.client.reports import report_cb_alloc, report_free
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
        address, size_bytes, core_count, cores, is_global, kind = told
        of_program = self._of_program.get(program)
        if of_program is None:
            of_program = self._of_program.setdefault(program, {})
        key = (address, cores, is_global, kind) if cb_id is None else cb_id
        before = of_program.get(key)
        if before is not None and before[0] == told:
            return
        view, text = _VIEW if is_global else 0, _intern(cores)
        if before is not None:
            # What is no number raises here: then the former stays.
            index(address), index(size_bytes), index(core_count), index(program), index(kind)
            before = of_program.pop(key, None)
            if before is not None:
                report_free(before[1])
        handle = report_cb_alloc(
            self._target, next(_NUMBERS), address, size_bytes, core_count, view, program, index(kind), 0, text
        )
        entry = told, handle
        if of_program.setdefault(key, entry) is not entry:
            report_free(handle)  # another thread told of it meanwhile
        elif self._of_program.get(program) is not of_program:  # another thread ended the program meanwhile
            orphan = of_program.pop(key, None)
            if orphan is not None:
                report_free(orphan[1])

    def end(self, program: int) -> None:
        """Ends all of a program; of program 0, all there are. A program without any is no mistake."""
        ended = [program] if program else list(self._of_program)
        for one in ended:
            of_program = self._of_program.pop(one, None)
            with suppress(KeyError):
                while of_program:
                    report_free(of_program.popitem()[1][1])
