"""Programs that know nothing of ttnn behave under `ttmem run` exactly as without it: output, complaints, exit code."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

RUN = [sys.executable, "-m", "ttmem", "run", "--"]
INPUT = b"one\ntwo\nthree\n\xff\n"
PYTHON = shlex.quote(sys.executable)
REPOSITORY = "git init -q . && echo a >f && git add f && git commit -q -m first"
PROGRAM = "printf '#include <stdio.h>\\nint main(void) { puts(\"built\"); return 4; }\\n' >p.c"
FORKS = (
    "import os, sys\npid = os.fork()\nif not pid: os._exit(7)\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
)
THREADS = """
import threading
found = []
threads = [threading.Thread(target=lambda n=n: found.append(sum(range(n)))) for n in range(40)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
print(sorted(found)[-1])"""
POOL = """
import multiprocessing
if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(abs, range(-5, 5)))"""
FORK_IN_THREAD = """
import os, threading
def child():
    pid = os.fork()
    if not pid: os.execvp("sh", ["sh", "-c", "exit 9"])
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
thread = threading.Thread(target=child); thread.start(); thread.join()"""
LOADS = "import ctypes; print(ctypes.CDLL(None).abs(-3), ctypes.CDLL('libm.so.6').labs(-4))"


def python(code: str) -> str:
    return f"{PYTHON} -c {shlex.quote(code)}"


QUICK = (
    "cat; echo out; echo complaint >&2; exit 3",
    f"{REPOSITORY} && git log --format=%H%n%s && git status --short",
    f"{PROGRAM} && cc p.c -o p && ./p",
    python(FORK_IN_THREAD),
)
ALL = (
    *QUICK,
    f"{REPOSITORY} && git show --stat",
    f"{REPOSITORY} && echo b >>f && git diff",
    f"{REPOSITORY} && echo b >>f && git commit -q -a -m second && git log --oneline --graph",
    f"{REPOSITORY} && git branch other && git branch -a",
    f"{REPOSITORY} && git checkout -q -b other && echo c >f && git commit -q -a -m g && git diff master..other",
    f"{REPOSITORY} && git ls-files -s && git cat-file -p HEAD",
    f"{REPOSITORY} && git grep -n a",
    f"{REPOSITORY} && git archive HEAD | tar -t",
    f"{REPOSITORY} && git blame -s f",
    "git log",
    "git no-such-verb",
    "git --version",
    "cc --version",
    "echo 'int main(void) { return x; }' >e.c; cc e.c",
    "echo 'int f(int a) { int b; return b; }' >w.c; cc -Wall -Wextra -O2 -c w.c",
    "echo 'int f(void);' | cc -E -",
    f"{PROGRAM} && cc -S p.c -o - | grep -c main",
    f"{PROGRAM} && cc -c p.c && ar rc p.a p.o && nm p.a",
    f"{PROGRAM} && cc -static p.c -o p && ./p",
    f"{PROGRAM} && cc -fsanitize=address p.c -o p && ./p",
    f"{PROGRAM} && cc -shared -fPIC p.c -o p.so && readelf -d p.so | grep -c NEEDED",
    f"{PROGRAM} && cc p.c -o p && strip p && objdump -f p | grep architecture",
    "printf 'all:\\n\\t@echo made\\nbad:\\n\\t@exit 2\\n' >Makefile; make; make bad; make none",
    python("print('hello')"),
    python("raise ValueError('no')"),
    python("import sys; sys.exit(5)"),
    python("import os; os.kill(os.getpid(), 11)"),
    python("import os; os.abort()"),
    python("import sys; print(sys.stdin.buffer.read())"),
    python(FORKS),
    python(THREADS),
    python(POOL),
    python(LOADS),
    python("import subprocess; print(subprocess.run(['sh', '-c', 'exit 6']).returncode)"),
    python("import asyncio; print(asyncio.run(asyncio.sleep(0, 'slept')))"),
    python("import os; os.execvp('echo', ['echo', 'executed'])"),
    python("import os; print(sorted(os.listdir('/proc/self/fd'))[:3])"),
    python("import locale, sys; print(locale.setlocale(locale.LC_ALL, ''), sys.stdout.encoding)"),
    python("import signal; print(signal.getsignal(signal.SIGCHLD), signal.pthread_sigmask(0, []))"),
    python("import tempfile, mmap; f = tempfile.TemporaryFile(); f.truncate(9); print(len(mmap.mmap(f.fileno(), 9)))"),
    "yes | head -n 2",
    "sort -r | head -n 1 | tr a-z A-Z",
    "seq 100000 | sort -n | tail -n 1 | md5sum",
    "trap 'echo caught' TERM; kill -TERM $$; echo after",
    "(sleep 0; exit 3) & wait $!; echo $?",
    "env -i sh -c 'echo $0; env | wc -l'",
    "printf x | gzip -n | gunzip; find . -type f | sort; ls -l /nowhere",
    "awk 'BEGIN { print 6 * 7 }'; sed -n 2p; expr 1 / 0",
    "ulimit -a | head -n 3; umask; cd / && pwd; tty; no-such-command",
)


def behaviour(script: str, place: Path, before: list[str]) -> tuple[int, bytes, bytes]:
    """In an empty directory that is called the same for all."""
    place.mkdir()
    quiet = dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "x")
    dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2026-01-01T00:00:00Z")
    settled = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CEILING_DIRECTORIES": str(place.parent), "HOME": str(place)}
    config = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "init.defaultBranch", "GIT_CONFIG_VALUE_0": "master"}
    environ = {**os.environ, "TTMEM_DIR": str(place / "journals"), **quiet, **dates, **settled, **config}
    ended = subprocess.run([*before, "sh", "-c", script], cwd=place, env=environ, input=INPUT, capture_output=True)
    code = ended.returncode if ended.returncode >= 0 else 128 - ended.returncode
    return code, ended.stdout, ended.stderr


def test_a_few_programs_behave_as_without_us(tmp_path: Path) -> None:
    each = (f"mkdir {number} && cd {number} && {{ {script}; }}" for number, script in enumerate(QUICK))
    script = "; ".join(f"({program}); echo $?" for program in each)

    assert behaviour(script, tmp_path / "ours", RUN) == behaviour(script, tmp_path / "theirs", [])


@pytest.mark.slow
def test_fifty_programs_behave_as_without_us(tmp_path: Path) -> None:
    assert len(ALL) >= 50
    for number, script in enumerate(ALL):
        place = tmp_path / str(number)
        place.mkdir()
        assert behaviour(script, place / "ours", RUN) == behaviour(script, place / "theirs", []), script
