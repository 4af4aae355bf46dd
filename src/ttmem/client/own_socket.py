"""A socket whose descriptor the program may close behind our back, and then give to something of its own.

Programs that become daemons close every descriptor they find. The number that was ours is then free, or the
program's next file or socket: it must neither be written to nor closed by us. What it stands for is known by
its inode.
"""

import fcntl
import os
import socket
from contextlib import suppress

__all__ = ["OwnSocket"]

_LEAST_DESCRIPTOR = 3  # with stderr closed, the program's words must not go to the server


class OwnSocket(socket.socket):
    """A Unix stream socket that does not block, and knows whether its descriptor is still itself."""

    def __init__(self) -> None:
        self._inode = (0, 0)  # of nothing
        super().__init__(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        if self.fileno() < _LEAST_DESCRIPTOR:
            low = self.detach()
            try:
                high = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _LEAST_DESCRIPTOR)
            finally:
                os.close(low)
            super().__init__(fileno=high)
            self.setblocking(False)
        self._inode = inode_of(self.fileno())

    def is_ours(self) -> bool:
        """Whether the descriptor is still the socket that was made here."""
        try:
            return inode_of(self.fileno()) == self._inode
        except OSError:
            return False

    def let_go(self) -> None:
        """Closes the socket, unless the program has done so; what has its descriptor now is left alone."""
        if self.is_ours():
            self.close()
        else:
            self.detach()

    def __del__(self) -> None:  # instead of the base's own, which closes whatever it finds
        with suppress(Exception):  # at the program's end these functions may be gone; the kernel closes it then
            self.let_go()


def inode_of(descriptor: int) -> tuple[int, int]:
    """What a descriptor stands for, as long as that is open."""
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino
