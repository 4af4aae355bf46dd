"""Run by any Python: compares the walker's frames with the interpreter's own, in every shape a stack can have.

    python walked.py LIBRARY STORY [COUNT] [CLIENT EXPECTED]

No library: the program that runs this Python has the walker in it. Prints `done N` after N equal stacks. Needs nothing
but the standard library, and no import of the project.
"""

import asyncio
import atexit
import ctypes
import itertools
import json
import os
import random
import sys
import threading
import warnings
from collections.abc import Callable, Coroutine, Iterator
from types import FrameType

ROOM = 1 << 16
THREADS = 8
MOVES = (-64, -32, -24, -16, -12, -8, -4, -2, -1, 1, 2, 4, 8, 12, 16, 24, 32, 64, 4096)  # bytes
WALKS = 25  # beside each one that is compared
HAS_QUALNAMES = sys.version_info >= (3, 11)

library = ctypes.CDLL(sys.argv[1] or None)  # gives the interpreter's lock away in each call, as the runtime does
library.walker_begin.restype = library.walker_judge.restype = library.walker_move.restype = ctypes.c_char_p
library.walker_walk.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
mine = threading.local()
compared = 0
lock = threading.Lock()


def stack_from(frame: "FrameType | None") -> str:
    lines = []
    while frame is not None:
        code = frame.f_code
        name = code.co_qualname if HAS_QUALNAMES else code.co_name  # type: ignore[attr-defined, unused-ignore]
        lines.append(f"{code.co_filename}:{frame.f_lineno} {name}\n")
        frame = frame.f_back
    return "".join(lines)


def check() -> int:  # story_reports has another one
    if not hasattr(mine, "room"):
        mine.room = ctypes.create_string_buffer(ROOM)
        mine.count = 0
    library.walker_repeat(WALKS)
    count, expected = library.walker_walk(mine.room, ROOM), stack_from(sys._getframe())  # one line: both name it
    found = mine.room.value.decode()
    if found != expected or count != expected.count("\n"):
        print(f"found:\n{found}\nexpected:\n{expected}", file=sys.stderr, flush=True)
        os._exit(1)
    mine.count += 1
    return 0


def recursion(depth: int) -> None:
    check() if depth == 0 else recursion(depth - 1)


def generators(depth: int) -> Iterator[int]:
    check()
    yield 1
    if depth:
        yield from generators(depth - 1)
    check()


async def coroutines(depth: int) -> None:
    check()
    if depth:
        await coroutines(depth - 1)
    await asyncio.sleep(0)
    check()


def exceptions(depth: int) -> None:
    try:
        if depth:
            exceptions(depth - 1)
        raise KeyError(depth)
    except KeyError:
        check()
    finally:
        check()


class Odd:
    def __init__(self) -> None:
        check()

    @property
    def value(self) -> int:
        check()
        return 1

    def __del__(self) -> None:
        check()

    def __lt__(self, other: object) -> bool:
        check()
        return True

    def __enter__(self) -> "Odd":
        check()
        return self

    def __exit__(self, *error: object) -> None:
        check()


def objects(_depth: int) -> None:
    with Odd() as odd:
        assert odd.value == 1
    sorted([Odd(), Odd()])
    [check() for _ in range(2)]
    {number: check() for number in range(2)}
    (lambda: check())()
    list(filter(lambda _: check(), range(2)))
    max([1, 2], key=lambda _: check())


def made_code(depth: int) -> None:
    names = {"check": check}
    source = "\n" * depth + f"def made_{depth}():\n  check()\nmade_{depth}()"
    exec(compile(source, f"made/größe {depth}", "exec"), names)
    eval("check()", names)


def traced(depth: int) -> None:
    sys.setprofile(lambda *_: None)
    try:
        recursion(depth)
    finally:
        sys.setprofile(None)


def run_coroutine(one: Coroutine[object, None, None]) -> None:
    try:
        while True:
            one.send(None)
    except StopIteration:
        pass


SHAPES: list[Callable[[int], object]] = [
    recursion,
    lambda depth: list(generators(depth)),
    lambda depth: run_coroutine(coroutines(depth)),
    exceptions,
    objects,
    made_code,
    traced,
]


def shapes(times: int, seed: int = 0) -> None:
    """Every shape in a random order, until so many stacks were compared on this thread."""
    order = random.Random(seed)
    check()
    while mine.count < times:
        order.choice(SHAPES)(order.randrange(20))


def walk_as_a_thread(times: int, seed: int) -> int:
    """On a thread that was not made by Python."""
    shapes(times, seed)
    return int(mine.count)


def tell() -> None:
    print(f"done {mine.count + compared}", flush=True)


def story_shapes(times: int) -> None:
    for shape in SHAPES:
        shape(3)
    asyncio.run(coroutines(4))
    shapes(times)


def story_threads(times: int) -> None:
    def work(seed: int) -> None:
        global compared
        shapes(times // THREADS, seed)
        with lock:
            compared += mine.count

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(THREADS)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        sys._current_frames()
        threads[0].join(0.001) if threads[0].is_alive() else threads[-1].join(0.001)
    check()


def story_fork(_times: int) -> None:
    shapes(50)
    child = os.fork()
    if child == 0:
        shapes(200)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    shapes(100)


def story_forks(times: int) -> None:
    """Children of a program whose other threads walk meanwhile. All have begun before, and end after the last one."""
    warnings.simplefilter("ignore", DeprecationWarning)  # from 3.12 on Python itself advises against it
    is_over, ready = threading.Event(), threading.Barrier(THREADS + 1)

    def work(seed: int) -> None:
        global compared
        ready.wait()
        while not is_over.is_set():
            shapes(getattr(mine, "count", 0) + 20, seed)
        with lock:
            compared += mine.count

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(THREADS)]
    for thread in threads:
        thread.start()
    ready.wait()
    for number in range(times):
        shapes(getattr(mine, "count", 0) + 5)
        child = os.fork()
        if child == 0:
            shapes(mine.count + 50, number)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    is_over.set()
    for thread in threads:
        thread.join()


def story_exit(_times: int) -> None:
    """Stacks while the interpreter ends: on its main thread, in objects that are taken down, and on daemon threads."""

    def walk() -> None:
        while True:
            library.walker_repeat(1000)

    end_beside(walk)


def story_end(_times: int) -> None:
    """The same for a judge of every read: daemon threads have walked, and wait. (One that is stopped in the middle of a
    walk for as long as an interpreter takes to end may find its frames gone; what it read is thrown away.)"""
    walked = threading.Barrier(5)

    def wait() -> None:
        shapes(20)
        walked.wait()
        threading.Event().wait()

    end_beside(wait)
    walked.wait()


def end_beside(work: Callable[[], None]) -> None:
    for _ in range(4):
        threading.Thread(target=work, daemon=True).start()
    shapes(50)
    atexit.register(check)
    sys.modules["kept"] = Late()  # type: ignore[assignment]


class Late:
    def __del__(self, walk: Callable[[int], int] = library.walker_repeat) -> None:
        walk(10)


class Buffer(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("id", "address", "requested", "reserved", "per_bank", "page")]
    _fields_ += [("site", ctypes.c_uint32), ("target", ctypes.c_uint16), ("rest", ctypes.c_uint8 * 3)]


def kept_of(stack: str) -> str:
    """As a journal has it: the user's innermost 16 frames, files by their last three parts."""
    frames = [line for line in stack.splitlines() if not line.startswith("<frozen ") and "/runpy.py:" not in line]
    return "\n".join("/".join(frame.split("/")[-3:]) for frame in frames[:16])


def story_reports(times: int) -> None:
    """Reports of eight threads to the whole client; which stack each buffer must have is written into a file."""
    global check
    client, expected = ctypes.CDLL(sys.argv[4]), {}
    numbers = itertools.count(1)
    client.ttmem_device_open_on(ctypes.byref((ctypes.c_uint64 * 40)(0x99)))
    client.ttmem_python_sites(1)

    def report() -> int:
        number, mine.count = next(numbers), getattr(mine, "count", 0) + 1
        told = ctypes.byref(Buffer(id=number, reserved=10, target=1))
        _, stack = client.ttmem_buffer_alloc_on(told), stack_from(sys._getframe())  # one line: both name it
        expected[number] = kept_of(stack)
        return 0

    report()  # the first of all examines the interpreter, and whoever comes meanwhile goes without a line
    check = report
    story_threads(times)
    with open(sys.argv[5], "w") as file:
        json.dump(expected, file)


def story_wrong(_times: int) -> None:
    """Rows of other versions, and the right one with an offset moved, are refused."""
    own = sys.version_info[1]
    check()
    judged = {minor: library.walker_judge(minor) for minor in (10, 11, 12, 13)}
    assert judged.pop(own) == b"", judged
    assert all(judged.values()), judged
    field = 0
    while library.walker_move(field, 0) is not None:
        for moved in MOVES:
            is_told_right(field, moved)
        field += 1
    assert field > 10
    mine.count = field * len(MOVES)


def is_told_right(field: int, moved: int) -> None:
    """With a row that is wrong in one place: refused, or it makes no difference."""
    child = os.fork()
    if child == 0:
        if library.walker_move(field, moved) == b"":
            for shape in SHAPES:
                shape(3)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, (field, moved)


if __name__ == "__main__":
    fault = library.walker_begin()
    assert fault is None, fault
    globals()[f"story_{sys.argv[2]}"](int(sys.argv[3]) if len(sys.argv) > 3 else 300)
    tell()
