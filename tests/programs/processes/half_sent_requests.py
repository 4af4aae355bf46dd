"""Keeps so many connections to a port open, each with half a request, and opens another one for each that is closed:

    python tests/programs/processes/half_sent_requests.py PORT COUNT UID

as the user of that number, 0 for the one who started it. It says `opened` when all are there.
"""

import encodings.idna  # noqa: F401  another user may not be able to read it later
import os
import resource
import select
import socket
import sys

port, count, uid = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
if uid:
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
lines: dict[int, socket.socket] = {}
watched, opened = select.epoll(), 0
while True:
    while len(lines) < count:
        line = socket.create_connection(("127.0.0.1", port))
        try:
            line.sendall(b"GET /snapshot HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
        except ConnectionError:
            continue
        lines[line.fileno()] = line
        watched.register(line.fileno(), select.EPOLLIN | select.EPOLLRDHUP)
        opened += 1
        if opened == count:
            print("opened", flush=True)
    for number, _ in watched.poll(0.05):
        watched.unregister(number)
        lines.pop(number).close()
