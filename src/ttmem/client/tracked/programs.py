"""The programs of one target: their binaries in DRAM, their launches and their circular buffers."""

from contextlib import suppress
from itertools import count
from operator import index
from typing import TypeAlias

from ttmem import _native
from ttmem.client.reports import (
    report_binary_status,
    report_cb_alloc,
    report_free,
    report_launch,
    report_program_end,
)
from ttmem.devices import BinaryStatus, Kind

__all__ = ["CircularBuffers", "Programs", "Reported"]

_VIEW = 1
_NUMBERS = count(1)
_intern = _native.client.intern

# A circular buffer as reported: address, bytes on a core, count of cores, cores as text, whether it is a view, kind.
# A bare tuple, because cached programs report their views with every run.
Reported: TypeAlias = tuple[int, int, int, str, bool, Kind]


class Programs:
    """What is known of each program that is alive.

    The binaries of a program lie in a buffer like any other. It is charged as the program's, and only there: from its
    allocation to its release, whatever the program does meanwhile. What a report refuses is not remembered either.
    """

    def __init__(self, target: int) -> None:
        self._target = target
        self._held_bytes: dict[int, int] = {}
        self._status: dict[int, BinaryStatus] = {}

    def hold(self, program: int, size_bytes: int, address: int) -> None:
        """A buffer of binaries was allocated; several of one program lie at no one address."""
        before = self._held_bytes.get(program, 0)
        status = self._status.get(program, BinaryStatus.NOT_SENT)
        report_binary_status(self._target, program, status.number, before + size_bytes, 0 if before else address)
        self._held_bytes[program] = before + size_bytes

    def release(self, program: int, size_bytes: int) -> None:
        """It was given back; without binaries a program is at its end."""
        held = self._held_bytes.get(program, 0) - size_bytes
        if held > 0:
            report_binary_status(self._target, program, self._status.get(program, BinaryStatus.NOT_SENT).number, held)
            self._held_bytes[program] = held
        else:
            report_program_end(self._target, program)
            self._held_bytes.pop(program, None)
            self._status.pop(program, None)

    def change_status(self, program: int, status: BinaryStatus) -> None:
        report_binary_status(self._target, program, status.number)
        self._held_bytes.setdefault(program, 0)
        self._status[program] = status

    def launch(self, program: int) -> None:
        """Counts a launch."""
        report_launch(self._target, program)
        self._held_bytes.setdefault(program, 0)

    def end(self, program: int) -> None:
        """The program is gone; binaries that are still there go with their buffer."""
        if self._held_bytes.get(program) == 0:
            report_program_end(self._target, program)
            self._held_bytes.pop(program)
            self._status.pop(program, None)


class CircularBuffers:
    """The circular buffers that are laid out on one target, by program.

    `ProgramImpl::allocate_circular_buffers` reports every circular buffer again when a layout changes, without a
    release in between, and `track_deallocate_cb` names no single one. So a second report of one replaces the first.
    A globally allocated one is a view: listed, charged 0, for its bytes are its buffer's.

    Cached programs move their views with every run, too often to wait for `turn()`. Instead the thread that takes an
    entry out of its dict, by one call, is the one that ends it.
    """

    def __init__(self, target: int) -> None:
        self._target = target
        self._of_program: dict[int, dict[object, tuple[Reported, int]]] = {}

    def add(self, program: int, cb_id: int | None, reported: Reported) -> None:
        """Lists one. Without an id, its place and cores distinguish it from the others of its program."""
        address, size_bytes, core_count, cores, is_global, kind = reported
        of_program = self._of_program.get(program)
        if of_program is None:
            of_program = self._of_program.setdefault(program, {})
        key = (address, cores, is_global, kind) if cb_id is None else cb_id
        before = of_program.get(key)
        if before is not None and before[0] == reported:
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
        entry = reported, handle
        if of_program.setdefault(key, entry) is not entry:
            report_free(handle)  # another thread reported it meanwhile
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
