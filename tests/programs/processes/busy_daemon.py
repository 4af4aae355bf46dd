"""A daemon with one thread: it answers its first client, but not before a second one has asked in vain and gone.

Arguments: the path of its socket, and whether it `works` meanwhile or `sleeps`. Stdin is the answer.
"""

import socket
import sys
import time

path, is_working = sys.argv[1], sys.argv[2] == "works"
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen(8)
print("ready", flush=True)
client = listener.accept()[0]
client.recv(4096)
listener.setblocking(False)
other: socket.socket | None = None
while True:
    if not is_working:
        time.sleep(0.01)
    try:
        other = other or listener.accept()[0]
        if not other.recv(4096):
            break
        other.setblocking(False)
    except BlockingIOError:
        pass
client.sendall(sys.stdin.buffer.read())
