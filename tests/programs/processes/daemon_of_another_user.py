"""Listens on a daemon's socket as another user; says "ready" and never answers.

Arguments: the path of the socket, and the user's id. Who listens is who the kernel names: the user is changed before.
"""

import os
import socket
import sys

path, uid = sys.argv[1], int(sys.argv[2])
os.setgroups([])
os.setgid(uid)
os.setuid(uid)
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen(8)
os.chmod(path, 0o666)
print("ready", flush=True)
sys.stdin.read()
