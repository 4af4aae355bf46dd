"""Reports buffers through the preloaded C library, each from a line of its own; prints its journal's path and waits.

Argument: how many. Only the interpreter and the library are loaded, as under the hook.
"""

import ctypes
import sys


class Buffer(ctypes.Structure):
    """ttmem_buffer."""

    _fields_ = (
        *((name, ctypes.c_uint64) for name in ("id", "address", "requested", "reserved", "per_bank", "page")),
        ("site", ctypes.c_uint32),
        ("target", ctypes.c_uint16),
        ("rest", ctypes.c_uint8 * 3),
    )


library = ctypes.CDLL(None)
library.ttmem_journal_path.restype = ctypes.c_char_p
library.ttmem_device_open_on(ctypes.byref((ctypes.c_uint64 * 40)(0x99)))
library.ttmem_python_sites(1)


def take(number: int) -> None:
    library.ttmem_buffer_alloc_on(ctypes.byref(Buffer(id=number, reserved=10, target=1)))


def block(number: int) -> None:
    take(number)


lines = "\n".join(f"def layer_{n}(): block({n})\nlayer_{n}()" for n in range(int(sys.argv[1])))
exec(compile(lines, "models/demos/model.py", "exec"))
print(library.ttmem_journal_path().decode(), flush=True)
sys.stdin.read()
