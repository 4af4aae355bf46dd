"""Forks a reporting process for each request on a socket; the process then does what it is told on a line of its own.

Argument: the descriptor of the socket. A request is the settings of a process as JSON, with the line's descriptor.
"""

import json
import os
import signal
import socket
import sys
from typing import Any

from ttmem import _native


def tuples(value: Any) -> Any:
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def serve(line: socket.socket, settings: dict[str, str]) -> None:
    os.environ.update(settings)
    _native.client.enable(settings["TTMEM_DIR"])
    said = line.makefile("rw", encoding="utf-8")
    print(json.dumps([os.getpid(), _native.client.journal_path()]), file=said, flush=True)
    for commands in said:
        answers = [getattr(_native.client, name)(*tuples(values)) for name, *values in json.loads(commands)]
        print(json.dumps(answers), file=said, flush=True)


requests = socket.socket(fileno=int(sys.argv[1]))
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    text, files, _, _ = socket.recv_fds(requests, 1 << 16, 1)
    if not text:
        break
    line = socket.socket(fileno=files[0])
    if os.fork() == 0:
        requests.close()
        serve(line, json.loads(text))
        os._exit(0)
    line.close()
