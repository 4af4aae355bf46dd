"""A process that reports by socket and then becomes another program, which keeps the descriptor.

Arguments: the server's socket; `again` if the second program reports, too. Meets the test before and after.
"""

import os
import socket
import struct
import sys

from tests.programs.meeting import meet

ALLOC, ASK = 1, 3
MESSAGE = struct.Struct("<B3xiQB3xiQQ104x")
path, has_more, is_second = sys.argv[1], sys.argv[2] == "again", len(sys.argv) > 3

line = socket.socket(socket.AF_UNIX)
line.connect(path)
line.set_inheritable(True)


def allocate(size_bytes: int, id: int) -> None:
    """Returns when the server has read it."""
    line.sendall(MESSAGE.pack(ALLOC, 0, size_bytes, 0, os.getpid(), id, 0))
    line.sendall(MESSAGE.pack(ASK, 0, 0, 0, 0, 0, 0))
    line.recv(144)


if not is_second:
    allocate(500, 1)
    meet()
    os.execv(sys.executable, [sys.executable, "-m", "tests.programs.processes.after_exec", *sys.argv[1:], "after"])
if has_more:
    allocate(70, 2)
meet()
