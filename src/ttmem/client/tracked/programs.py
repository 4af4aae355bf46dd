"""The programs of one target: the status of their binaries, the bytes those take in DRAM, and launches.

The binaries of a program lie in a buffer like any other. It is charged as the program's, and only there: from its
allocation to its release, whatever the program does meanwhile. What a report refuses is not remembered either.
"""

from ttmem.client.reports import report_binary_status, report_launch, report_program_end
from ttmem.devices import BinaryStatus

__all__ = ["Programs"]


class Programs:
    """What is known of each program that is alive."""

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
