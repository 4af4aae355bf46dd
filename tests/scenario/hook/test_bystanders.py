"""Programs that know nothing of the runtime: with the hook preloaded they do, say and leave behind the very same.

Each runs twice, in a directory of its own; what it wrote there is compared, too. None of them may make a journal.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.hooked.process import hook_path

SEED = "\n".join(f"{number * 7919 % 1000} line {number}" for number in range(500)) + "\n"
C_PROGRAM = '#include <stdio.h>\nint main(void) { puts("hello"); fputs("oh\\n", stderr); return 7; }\n'
CPP_PROGRAM = """
#include <cstdio>
struct Word { const char* text; ~Word() { std::puts("gone"); } };
int main() { try { Word word{"x"}; throw 5; } catch (int number) { std::printf("caught %d\\n", number); } }
"""
MAKEFILE = "all: a b c\na b c:\n\t@echo $@ > $@\n\t@cat $@\n.PHONY: all\n"
FORKS = """
import os
for n in range(5):
    child = os.fork()
    if not child:
        os._exit(n)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
THREADS = """
import threading
found = [0] * 8
def work(n):
    found[n] = sum(i * i for i in range(2000 + n))
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print(found)
"""
FORK_IN_THREADS = """
import subprocess, threading
said = [None] * 6
def work(n):
    said[n] = subprocess.run(["sh", "-c", f"echo {n}; exit {n}"], capture_output=True, text=True)
threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
[t.start() for t in threads]; [t.join() for t in threads]
print([(one.stdout, one.returncode) for one in said])
"""
POOL = """
from multiprocessing import get_context
with get_context("fork").Pool(2) as pool:
    print(pool.map(abs, range(-9, 0)))
"""
LOADS = "import ctypes; m = ctypes.CDLL('libm.so.6'); m.cos.restype = ctypes.c_double; print(m.cos(ctypes.c_double(1)))"
GIT = (
    "git init -q -b main . && git config user.name x && git config user.email x@y && cp seed.txt a.txt && "
    "git add a.txt && git commit -q -m one && echo two >> a.txt && git commit -q -a -m two"
)

GIVEN = {"seed.txt": SEED, "program.c": C_PROGRAM, "program.cpp": CPP_PROGRAM, "Makefile": MAKEFILE}
SHELL: Mapping[str, str] = {
    "true": "true",
    "false": "false",
    "echo": "echo hello; echo there >&2; exit 3",
    "pipe": "cat seed.txt | sort -n | uniq -c | head -n 20",
    "sort": "sort -k2 seed.txt",
    "sort in parts": "sort --parallel=4 -S 64K -T . seed.txt",
    "grep": "grep -n '9$' seed.txt",
    "grep for nothing": "grep nothing seed.txt",
    "sed": "sed -e 's/line/LINE/' -e '10,20d' seed.txt",
    "awk": "awk '{ sum += $1 } END { print sum, NR }' seed.txt",
    "tr": "tr a-z A-Z < seed.txt",
    "cut and paste": "cut -d' ' -f1 seed.txt | paste -s -d+",
    "wc": "wc seed.txt",
    "head and tail": "head -n 9 seed.txt; tail -n 9 seed.txt",
    "checksums": "cksum seed.txt; md5sum seed.txt; sha256sum seed.txt",
    "dd": "dd if=seed.txt of=copy.txt bs=512 count=4 status=none; cksum copy.txt",
    "od": "od -A x -t x1z seed.txt | head -n 20",
    "split": "split -l 100 seed.txt part-; ls part-*",
    "find": "mkdir -p d/e/f && touch d/e/f/g && find d | sort",
    "xargs": "head -n 30 seed.txt | cut -d' ' -f1 | xargs -n 5 -P 1 echo",
    "diff": "sed 5d seed.txt > other.txt; diff seed.txt other.txt",
    "links": "ln -s seed.txt link && readlink link && stat -c '%s %N' link",
    "loop": "for i in 1 2 3 4 5; do (exit $i); echo $?; done",
    "background jobs": 'for i in 1 2 3; do sh -c "exit $i" & wait $!; echo $?; done',
    "subshells": "x=$(echo $(echo $(echo deep))); echo $x",
    "here document": "cat <<END\none\ntwo\nEND\n",
    "signal": "sh -c 'kill -TERM $$'; echo $?",
    "trap": "trap 'echo trapped' EXIT USR1; kill -USR1 $$; echo after",
    "exec": "exec sh -c 'exec echo replaced'",
    "not found": "no-such-program-at-all 2>/dev/null; echo $?",
    "tar": "tar --sort=name --mtime=@0 --owner=0 --group=0 -cf all.tar seed.txt && tar -tvf all.tar && cksum all.tar",
    "gzip": "gzip -n -k seed.txt && gzip -dc seed.txt.gz | cksum",
    "tar through gzip": "tar --mtime=@0 -cz --owner=0 --group=0 seed.txt | tar -tz",
    "make": "make -s all",
    "make with jobs": "make -s -j 3 -O all | sort",
    "git": "git init -q -b main . && git add seed.txt && git ls-files -s && git hash-object program.c",
    "git log": f"{GIT} && git log -p --format=fuller",
    "git status": f"{GIT} && echo x > new && git status --short && git diff --stat HEAD~1",
    "git clone": f"{GIT} && git clone -q . there && git -C there log --oneline && git fsck",
    "bash": "bash -c 'a=(1 2 3); echo ${a[@]} ${#a[@]} $((2**40))'",
    "bash with processes": "bash -c 'cat <(echo one) <(echo two)'",
    "compile C": "cc -o c-program program.c && ./c-program",
    "preprocess": "cc -E -P program.c | tail -n 3",
    "compile with mistakes": "echo 'int main(' > wrong.c; cc wrong.c",
    "compile C++ with exceptions": "c++ -O0 -o cpp-program program.cpp && ./cpp-program",
    "objects": "cc -c -o program.o program.c && ar rcD all.a program.o && nm program.o && objdump -h program.o",
}
PYTHON: Mapping[str, str] = {
    "python": "import sys; print(sum(range(1000))); print('oh', file=sys.stderr); sys.exit(5)",
    "python that forks": FORKS,
    "python with threads": THREADS,
    "python with processes in threads": FORK_IN_THREADS,
    "python with a pool that forks": POOL,
    "python that loads libraries": LOADS,
    "python with an error": "def f(n):\n  return f(n - 1) if n else 1 / 0\nf(5)",
    "python killed": "import os, signal; print('last', flush=True); os.kill(os.getpid(), signal.SIGKILL)",
}
COMMANDS = {
    **{name: ["sh", "-c", text] for name, text in SHELL.items()},
    **{name: [sys.executable, "-I", "-S", "-c", text] for name, text in PYTHON.items()},
}

QUICK = {
    "background jobs",
    "bash with processes",
    "compile C",
    "echo",
    "exec",
    "git",
    "gzip",
    "make",
    "pipe",
    "python",
    "python killed",
    "python that forks",
    "python that loads libraries",
    "python with processes in threads",
    "signal",
    "tar",
}


@dataclass(frozen=True)
class Outcome:
    """What is left of a run."""

    code: int
    said: bytes
    complained: bytes
    files: dict[str, bytes]


def ran(name: str, directory: Path, **settings: str) -> Outcome:
    directory.mkdir()
    home = directory.parent / "home"
    home.mkdir(exist_ok=True)
    for file, text in {
        "seed.txt": SEED,
        "program.c": C_PROGRAM,
        "program.cpp": CPP_PROGRAM,
        "Makefile": MAKEFILE,
    }.items():
        (directory / file).write_text(text)
    dates = {"GIT_AUTHOR_DATE": "@0 +0000", "GIT_COMMITTER_DATE": "@0 +0000"}
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LC_ALL": "C", "TZ": "UTC", **dates, **settings}
    done = subprocess.run(COMMANDS[name], cwd=directory, env=environment, capture_output=True, stdin=subprocess.DEVNULL)
    files = {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and path.name != "index"  # git's list of files holds their times
    }
    return Outcome(done.returncode, done.stdout, done.stderr, files)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in COMMANDS]
)
def test_a_program_that_knows_nothing_of_the_runtime_behaves_the_same(
    name: str, tmp_path: Path, journals: Path
) -> None:
    place, aside = tmp_path / "same", tmp_path / "aside"
    plain = ran(name, place)
    place.rename(aside)  # both ran under one name
    hooked = ran(name, place, LD_PRELOAD=str(hook_path()), TTMEM="1", TTMEM_DIR=str(journals))

    assert hooked == plain
    assert list(journals.iterdir()) == []


def test_there_are_fifty_such_programs() -> None:
    assert len(COMMANDS) >= 50
    assert set(COMMANDS) > QUICK
