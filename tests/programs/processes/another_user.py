"""Becomes another user, with files open that this user may not open; says "ready" and waits.

Arguments: the user's id, then any of `map:PATH`, `lock:PATH` and `open_file_lock:PATH`.
"""

import fcntl
import mmap
import os
import struct
import sys
from typing import IO

F_OFD_SETLK = 37  # a lock of the open file, not of the process
KINDS = {"lock": fcntl.F_SETLK, "open_file_lock": F_OFD_SETLK}

held: list[IO[bytes] | mmap.mmap] = []


def take(what: str, path: str) -> None:
    file = open(path, "r+b")  # noqa: SIM115 - open until the program ends
    if what == "map":
        held.append(mmap.mmap(file.fileno(), 0))
        file.close()
        return
    held.append(file)
    fcntl.fcntl(file, KINDS[what], struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))


uid = int(sys.argv[1])
for word in sys.argv[2:]:
    take(*word.split(":", 1))
os.setgroups([])
os.setresgid(uid, uid, uid)
os.setresuid(uid, uid, uid)
print("ready", flush=True)
sys.stdin.read()
