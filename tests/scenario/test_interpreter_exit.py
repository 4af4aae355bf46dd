"""Python ends while a collector still follows journals: the exit code is the program's own, and nothing is printed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

# While the last object of the main module is destroyed the interpreter is ending already, and other threads may still
# ask for its lock: long enough for every thread below to come back from native code.
PROGRAM = """
import collections, os, signal, socket, sys, threading, time
from ttmem import _native
from ttmem.collector import Collector
from ttmem.sources import Places

class Lingering:
    def __del__(self, sleep=time.sleep):
        sleep(0.2)

def in_background(work):
    threading.Thread(target=work, daemon=True).start()

def again_and_again(work):
    while True:
        work()

lingering = Lingering()
collector = Collector(Places(uid=os.geteuid(), directory=sys.argv[1]))
"""
FOLLOWING = f"""{PROGRAM}
def is_in_native_code():
    [thread] = [thread for thread in threading.enumerate() if thread.name == "ttmem-collector"]
    return sys._current_frames()[thread.ident].f_code.co_name == "_follow"

collector.start()
while not is_in_native_code():
    time.sleep(0.001)
"""
SERVING = """
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1] + "/s")
listener.listen()
server = _native.AllocationServer(collector.ledger, listener.fileno(), True)
in_background(lambda: again_and_again(lambda: server.run(0.01)))
in_background(lambda: again_and_again(lambda: server.take_log(0.01)))
"""
# Other threads stop where they want the interpreter lock back, which is in the middle of a look: not with the ledger's.
# They run no function of the main module, which would keep that alive.
ASKING = f"""{PROGRAM}
class Asking:
    def __init__(self, ledger):
        self.ledger = ledger

    def __del__(self, write=os.write):
        for _ in range(100):
            self.ledger.look()
        write(1, b"asked")

asking = Asking(collector.ledger)
for _ in range(3):
    endless = iter(collector.ledger.look, None)
    threading.Thread(target=collections.deque, args=(endless, 0), daemon=True).start()
"""
ENDS = {
    "falls off its end": (FOLLOWING, 0),
    "is interrupted": (f"{FOLLOWING}os.kill(os.getpid(), signal.SIGINT)\ntime.sleep(20)\n", -signal.SIGINT),
    "forks": (
        f"{FOLLOWING}child = os.fork()\nif child: sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) + 5)\n",
        5,
    ),
}
RARE_ENDS = {
    "exits": (f"{FOLLOWING}sys.exit(3)\n", 3),
    "leaves at once": (f"{FOLLOWING}os._exit(7)\n", 7),
    "exits in a thread": (f"{FOLLOWING}threading.Thread(target=sys.exit, args=(9,)).start()\n", 0),
    "stops it in a thread": (f"{FOLLOWING}threading.Thread(target=collector.stop).start()\n", 0),
    "looks in a thread of its own": (f"{PROGRAM}in_background(lambda: again_and_again(collector.tick))\n", 0),
    "takes checkpoints": (f"{PROGRAM}in_background(lambda: again_and_again(collector.ledger.checkpoint))\n", 0),
    "serves a socket": (f"{PROGRAM}{SERVING}", 0),
}


def ended(code: str, directory: Path) -> tuple[int, str]:
    """Exit code of a Python program, and what it printed; of an exception only the last line."""
    result = subprocess.run(
        [sys.executable, "-c", code, str(directory)], env=os.environ, capture_output=True, text=True, timeout=60
    )
    return result.returncode, result.stdout + "".join(result.stderr.splitlines()[-1:])


@pytest.mark.parametrize("end", ENDS)
def test_a_program_that_ends_while_it_collects_ends_as_it_would_without(tmp_path: Path, end: str) -> None:
    code, expected = ENDS[end]

    assert ended(code, tmp_path) == (expected, "KeyboardInterrupt" if expected == -signal.SIGINT else "")


def test_a_ledger_can_be_asked_while_python_ends(tmp_path: Path) -> None:
    assert ended(ASKING, tmp_path) == (0, "asked")


@pytest.mark.slow
@pytest.mark.parametrize("end", RARE_ENDS)
def test_a_program_that_ends_otherwise_while_it_collects_ends_as_it_would_without(tmp_path: Path, end: str) -> None:
    code, expected = RARE_ENDS[end]

    assert ended(code, tmp_path) == (expected, "")
