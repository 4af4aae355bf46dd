"""The circular buffers of one target, by program.

`ProgramImpl::allocate_circular_buffers` tells of every circular buffer again when a layout changes, without a release
in between, and `track_deallocate_cb` names no single one. So they are kept here by program; a second report of one
takes the place of the first. A globally allocated one is a view: listed, charged 0, for its bytes are its buffer's.
"""

from itertools import count
from typing import NamedTuple

from ttmem import _native
from ttmem.client.reports import report_cb_alloc, report_free
from ttmem.devices import Kind

__all__ = ["CircularBuffer", "CircularBuffers"]

_VIEW = 1
_NUMBERS = count(1)


class CircularBuffer(NamedTuple):
    """One as it was told; `cores` as text."""

    address: int
    size_bytes: int
    core_count: int
    cores: str
    is_global: bool
    kind: Kind


class CircularBuffers:
    """What is laid out on one target."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._of_program: dict[int, dict[object, tuple[CircularBuffer, int]]] = {}

    def add(self, program: int, cb_id: int | None, cb: CircularBuffer) -> None:
        """Lists one. Without an id, its place and cores tell it from the others of its program."""
        of_program = self._of_program.setdefault(program, {})
        key = (cb.address, cb.cores, cb.is_global, cb.kind) if cb_id is None else cb_id
        before = of_program.get(key)
        if before is not None:
            if before[0] == cb:
                return
            report_free(before[1])
        of_program[key] = cb, self._report(program, cb)

    def end(self, program: int) -> None:
        """Ends all of a program; of program 0, all there are. A program without any is no mistake."""
        ended = [program] if program else list(self._of_program)
        for one in ended:
            for _, handle in self._of_program.pop(one, {}).values():
                report_free(handle)

    def _report(self, program: int, cb: CircularBuffer) -> int:
        return report_cb_alloc(
            self._target,
            next(_NUMBERS),
            cb.address,
            cb.size_bytes,
            cb.core_count,
            _VIEW if cb.is_global else 0,
            program,
            cb.kind,
            0,
            _native.client.intern(cb.cores),
        )
