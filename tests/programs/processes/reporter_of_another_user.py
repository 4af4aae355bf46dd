"""Becomes another user, turns tracking on and does some lines of Python; says "ready" and waits.

Arguments: the user's id, the directory of journals, and the lines.
"""

import os
import sys

import ttmem
from ttmem import _native

for name in ttmem.__all__:
    getattr(ttmem, name)  # loads what the other user may not be able to read
uid, directory, lines = int(sys.argv[1]), *sys.argv[2:]
os.setgroups([])
os.setresgid(uid, uid, uid)
os.setresuid(uid, uid, uid)
_native.client.enable(directory)
exec(lines, {"ttmem": ttmem, "_native": _native, "os": os})
print("ready", flush=True)
sys.stdin.read()
