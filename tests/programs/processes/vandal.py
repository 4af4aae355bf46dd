"""Does what it is told to journals of others: locks them, and writes over them in the background.

Each line of stdin is a call of one of these functions; "done" answers it.
"""

import fcntl
import mmap
import random
import sys
import threading
from typing import IO

held: list[IO[bytes]] = []
stopping = threading.Event()


def hold(path: str) -> None:
    file = open(path, "r+b")  # noqa: SIM115 - until it is released
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    held.append(file)


def release() -> None:
    for file in held:
        file.close()
    held.clear()


def scribble(path: str, seed: int, zones: list[tuple[int, int]]) -> None:
    dice = random.Random(seed)
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        while not stopping.is_set():
            start, end = dice.choice(zones)
            memory[dice.randrange(start, end)] = dice.choice((0, 1, 255, dice.randrange(256)))
    held.append(open(path, "r+b"))  # noqa: SIM115


def start(path: str, seed: int, zones: list[tuple[int, int]]) -> None:
    stopping.clear()
    threading.Thread(target=scribble, args=(path, seed, zones), daemon=True).start()


for line in sys.stdin:
    exec(line)
    print("done", flush=True)
