"""Signals under `ttmem run`: each reaches the program once, from wherever it comes, and nobody of ours stays behind."""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.faces.terminals import Terminal, a_terminal
from tests.support.processes.running import REPORTING, TTMEM, python, ttmem
from tests.support.timing.waiting import wait_until

# It writes without a buffer, which a second signal could not enter again, and naps, for one that comes just before a
# pause without end would be heeded after it.
COUNTING = """
import os, signal, sys, time
counts = {}
def say(*words):
    os.write(1, f"{' '.join(map(str, words))}\\n".encode())
def count(number, frame):
    counts[number] = counts.get(number, 0) + 1
    say("got", signal.Signals(number).name)
def leave(number, frame):
    say("counted", counts.get(signal.SIGINT, 0))
    sys.exit(counts.get(signal.SIGINT, 0))
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
    signal.signal(number, count)
signal.signal(signal.SIGUSR2, leave)
say("here")
while True:
    time.sleep(0.05)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
def test_a_signal_sent_to_us_goes_through_to_the_program(tmp_path: Path, number: signal.Signals) -> None:
    environ = {**os.environ, "TTMEM_DIR": str(tmp_path)}
    command = [*TTMEM, "run", *python(COUNTING)]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "here\n"
        run.send_signal(number)
        assert run.stdout.readline() == f"got {number.name}\n"
        run.send_signal(signal.SIGUSR2)
        run.communicate()

    assert run.returncode == (1 if number == signal.SIGINT else 0)


def test_signals_that_few_send_go_through_too(tmp_path: Path) -> None:
    """A supervisor's SIGABRT, a launcher's own: none of them leaves the program behind without us."""
    sent = [signal.SIGABRT, signal.SIGPROF, signal.SIGRTMIN, signal.SIGRTMAX]
    code = COUNTING.replace("signal.SIGUSR1):", f"signal.SIGUSR1, *{[int(number) for number in sent]}):")
    code = f"import signal; signal.alarm(300)\n{code}"  # if it is left behind all the same, not for long
    environ = {**os.environ, "TTMEM_DIR": str(tmp_path)}
    with subprocess.Popen([*TTMEM, "run", *python(code)], env=environ, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "here\n"
        for number in sent:
            run.send_signal(number)
            assert run.stdout.readline() == f"got {number.name}\n"
        run.send_signal(signal.SIGUSR2)
        run.communicate()

    assert run.returncode == 0


@pytest.mark.slow
def test_an_alarm_that_was_set_before_us_ends_the_program(tmp_path: Path) -> None:
    """As `perl -e 'alarm 4; exec @ARGV'` does: the timer stays with us, and the program is meant."""
    command = [*TTMEM, "run", "--", "sleep", "20"]
    code = f"import os, signal; signal.setitimer(signal.ITIMER_REAL, 4); os.execv({sys.executable!r}, {command!r})"
    environ = {**os.environ, "TTMEM_DIR": str(tmp_path)}

    assert subprocess.run([sys.executable, "-c", code], env=environ).returncode == 128 + signal.SIGALRM


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]


def test_stopping_us_stops_the_program_and_it_goes_on_with_us(tmp_path: Path) -> None:
    """In a process group of its own: in one that nobody could continue the kernel ignores such a stop."""
    environ = {**os.environ, "TTMEM_DIR": str(tmp_path)}
    telling = "import os, sys; print(os.getpid(), flush=True); sys.stdin.readline()"
    run = subprocess.Popen(
        [*TTMEM, "run", *python(telling)],
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=os.setpgrp,
    )
    try:
        assert run.stdout is not None
        program = int(run.stdout.readline())
        run.send_signal(signal.SIGTSTP)
        wait_until(lambda: state_of(program) == state_of(run.pid) == "T")
        run.send_signal(signal.SIGCONT)
        wait_until(lambda: "T" not in (state_of(program), state_of(run.pid)))
        run.communicate("\n")

        assert run.returncode == 0
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
            run.communicate()


def test_a_key_that_interrupts_reaches_the_program_once(tmp_path: Path) -> None:
    """The terminal tells the program itself; what comes from it must not be passed on as well."""
    environ = {**os.environ, "TTMEM_DIR": str(tmp_path)}
    with a_terminal(["-m", "ttmem", "run", *python(COUNTING)], environ) as terminal:
        terminal.read_until("here")
        terminal.press("\x03")
        terminal.read_until("got SIGINT")
        terminal.process.send_signal(signal.SIGUSR2)  # comes after any interrupt that was passed on
        terminal.read_until("counted 1")
        assert terminal.end() == 1


def started(directory: Path, code: str) -> "subprocess.Popen[str]":
    """A program under `ttmem run`, as a job of its own, that has begun."""
    environ = {**os.environ, "TTMEM_DIR": str(directory)}
    run = subprocess.Popen(
        [*TTMEM, "run", *python(f"import signal; signal.alarm(300)\n{code}")],
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=os.setpgrp,
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "here\n"
    return run


def is_waiting(pid: int, number: signal.Signals) -> bool:
    """Whether a signal was sent to a process that has not taken it yet: one more of it would be the same one."""
    [pending] = re.findall(r"ShdPnd:\t(\w+)", Path(f"/proc/{pid}/status").read_text())
    return bool(int(pending, 16) >> (number - 1) & 1)


def test_what_is_sent_to_all_of_a_job_reaches_the_program_once(tmp_path: Path) -> None:
    """As `timeout`, a supervisor or `kill %1` do; an interrupt that came twice would break off what the first began."""
    with started(tmp_path, COUNTING) as run:
        assert run.stdout is not None
        for _ in range(5):
            os.killpg(run.pid, signal.SIGINT)
            assert run.stdout.readline() == "got SIGINT\n"
            wait_until(lambda: not is_waiting(run.pid, signal.SIGINT))
            run.send_signal(signal.SIGINT)  # to us alone
            assert run.stdout.readline() == "got SIGINT\n"
        run.send_signal(signal.SIGUSR2)
        run.communicate()

    assert run.returncode == 10


def test_what_is_sent_to_all_of_a_job_reaches_a_program_that_left_it(tmp_path: Path) -> None:
    with started(tmp_path, f"import os; os.setpgid(0, 0)\n{COUNTING}") as run:
        assert run.stdout is not None
        os.killpg(run.pid, signal.SIGTERM)
        assert run.stdout.readline() == "got SIGTERM\n"
        run.send_signal(signal.SIGUSR2)
        run.communicate()

    assert run.returncode == 0


def test_a_terminal_that_is_closed_ends_the_program(tmp_path: Path) -> None:
    """A hang-up is sent to the leader of a session alone, which we are as `ssh -t host ttmem run ...`."""
    note = tmp_path / "note"
    code = f"""
import contextlib, signal, sys, time
def leave(number, frame):
    open({str(note)!r}, "a").write(signal.Signals(number).name)
    sys.exit()
signal.signal(signal.SIGHUP, leave)
with contextlib.suppress(OSError):  # the terminal may go before all is said
    print("here", flush=True)
time.sleep(30)
"""
    environ = {**os.environ, "TTMEM_DIR": str(tmp_path)}
    with a_terminal(["-m", "ttmem", "run", *python(code)], environ) as terminal:
        terminal.read_until("here")
        terminal.hang_up()
        wait_until(lambda: note.exists() and note.read_text() == "SIGHUP")


def test_a_signal_to_all_that_is_called_ttmem_means_the_program(tmp_path: Path) -> None:
    """As `pkill ttmem` and `kill $(pgrep -f "ttmem run")` do: one of ours that only stands by has another name."""
    with started(tmp_path, COUNTING) as run:
        assert run.stdout is not None
        family = [run.pid, *map(int, children_of(run.pid))]
        ours = [pid for pid in family if b"ttmem" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]
        names = [Path(f"/proc/{pid}/comm").read_text().strip() for pid in family]
        for pid in ours:
            os.kill(pid, signal.SIGTERM)
        assert run.stdout.readline() == "got SIGTERM\n"
        run.send_signal(signal.SIGUSR2)
        run.communicate()

    assert (ours, names[1], run.returncode) == ([run.pid], "bystander", 0)


def test_a_key_that_interrupts_reaches_a_program_in_a_group_of_its_own(tmp_path: Path) -> None:
    """`timeout` is one: the terminal knows of our group only."""
    environ = {**os.environ, "TTMEM_DIR": str(tmp_path)}
    with a_terminal(["-m", "ttmem", "run", "--", "timeout", "300", *python(COUNTING)[1:]], environ) as terminal:
        terminal.read_until("here")
        terminal.press("\x03")
        terminal.read_until("got SIGINT")


SHELL = ["bash", "--norc", "--noprofile", "-i"]


@contextmanager
def an_outer_shell(directory: Path) -> Iterator[Terminal]:
    """Somebody's terminal, with a shell that controls its jobs; its prompts are <1>, <2>, ..."""
    environ = {**os.environ, "TTMEM_DIR": str(directory), "HISTFILE": "/dev/null", "PS1": r"<\#>"}
    with a_terminal(["-c", f"import os; os.execvp('bash', {SHELL})"], environ) as terminal:
        terminal.read_until("<1>")
        yield terminal


def test_a_job_is_stopped_and_goes_on_as_often_as_one_likes(tmp_path: Path) -> None:
    code = "for line in iter(input, 'end'): print('heard', int(line) + 1, flush=True)"
    with an_outer_shell(tmp_path) as terminal:
        terminal.press(f'{shlex.join([*TTMEM, "run", "--", sys.executable])} -c "{code}"\n')
        for command in range(1, 6):
            terminal.press(f"{command}00\n")
            terminal.read_until(f"heard {command}01")
            terminal.press("\x1a")
            terminal.read_until(f"<{command + 1}>")
            terminal.press("fg\n")
        terminal.press("600\n")
        terminal.read_until("heard 601")


def test_a_shell_that_is_suspended_gives_the_terminal_back(tmp_path: Path) -> None:
    """It stops itself alone; the shell that it was started from waits for us."""
    with an_outer_shell(tmp_path) as terminal:
        terminal.press(f"{shlex.join(TTMEM)} run -- env 'PS1=={{\\#}}' {' '.join(SHELL)}\n")
        terminal.read_until("={1}")
        terminal.press("suspend\n")
        terminal.read_until("<2>")
        terminal.press("fg\n")
        terminal.read_until("={2}")
        terminal.press("exit 5\n")
        terminal.read_until("<3>")
        terminal.press("echo code-$?\n")
        terminal.read_until("code-5")


@pytest.mark.slow
def test_a_signal_that_ends_the_program_leaves_us_the_summary(tmp_path: Path) -> None:
    """Sent to all of us: that the program has ended is heard first, the signal itself afterwards."""
    command = [*TTMEM, "run", *python(f"{REPORTING}; print('here', flush=True); import time; time.sleep(30)")]
    environ = {**os.environ, "TTMEM_DIR": str(tmp_path)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    for number in (signal.SIGTERM, signal.SIGPROF, signal.SIGRTMIN):
        with subprocess.Popen(command, env=environ, text=True, preexec_fn=os.setpgrp, **pipes) as run:  # type: ignore[call-overload]
            assert run.stdout.readline() == "here\n"
            os.killpg(run.pid, number)
            _, told = run.communicate()

        assert run.returncode == 128 + number
        assert "4.00 MiB never freed" in told


def test_where_one_process_can_be_made_it_is_the_program() -> None:
    """The limit counts those of a user, and does not bind the superuser: one without any process is asked for."""
    if os.geteuid() != 0:
        pytest.skip("NOT LIMITED: only root can become a user who has no processes")
    uid = 54_000 + os.getpid() % 1000
    code = f"""
import os, resource, sys
from ttmem.cli.tracked_run.child import Child
os.setgid({uid}); os.setuid({uid})
resource.setrlimit(resource.RLIMIT_NPROC, (2, 2))
sys.exit(Child(["echo", "ran"], os.environ).wait(lambda: None, every_seconds=1))
"""

    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert (result.returncode, result.stdout) == (0, "ran\n"), result.stderr


def test_a_stopped_bystander_delays_no_process(tmp_path: Path) -> None:
    with started(tmp_path, "print('here', flush=True); import time; time.sleep(30)") as run:
        bystander = int(children_of(run.pid)[0])
        os.kill(bystander, signal.SIGSTOP)
        wait_until(lambda: state_of(bystander) == "T")
        run.send_signal(signal.SIGTERM)

        assert run.wait() == 128 + signal.SIGTERM


def children_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_no_process_of_ours_stays_behind(tmp_path: Path) -> None:
    """Whoever stands by ends with us, even if we are killed; and holds no pipe open."""
    run = started(tmp_path, "import os, time; print('here', flush=True); os.close(1); time.sleep(30)")
    children = children_of(run.pid)
    run.kill()
    out, _ = run.communicate()

    assert (len(children), out) == (2, "")
    bystander, program = children
    wait_until(lambda: not Path(f"/proc/{bystander}").exists())
    os.kill(int(program), signal.SIGKILL)


def test_the_program_starts_with_no_signal_blocked(tmp_path: Path) -> None:
    code = "import signal; print(len(signal.pthread_sigmask(signal.SIG_BLOCK, [])))"

    assert ttmem("run", *python(code), directory=tmp_path).stdout == "0\n"
