"""A server in a process of its own, which may belong to another user: takes bytes and says how many there were in all.

Arguments: the path of its socket, the user's id, and how many bytes to take at once.
"""

import os
import socket
import sys

path, uid, buffer_bytes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
os.chmod(path, 0o777)
os.setuid(uid)
listener.listen()
print("listening", flush=True)
while True:
    connection, _ = listener.accept()
    print("accepted", flush=True)
    taken = 0
    while data := connection.recv(buffer_bytes):
        taken += len(data)
        print(taken, flush=True)
