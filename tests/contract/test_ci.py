"""`.ci/run` comes to its end: a step that hangs is shown, stopped and counted as failed, and the next one runs."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # limits have to pass

ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose steps are what a test writes into `run`."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci")
    return tmp_path


def steps(project: Path, script: str) -> None:
    (project / "run").write_text(f"#!/bin/bash\n{script}\n")
    (project / "run").chmod(0o755)


def ci(
    project: Path, *names: str, step_seconds: int = 30, all_seconds: int = 100
) -> "subprocess.CompletedProcess[str]":
    environ = {**os.environ, "STEP_SECONDS": str(step_seconds), "ALL_SECONDS": str(all_seconds)}
    return subprocess.run([project / ".ci" / "run", *names], env=environ, capture_output=True, text=True)


def verdicts(said: str) -> dict[str, str]:
    lines = [line.split() for line in said.splitlines() if line.endswith((" ok", " FAILED"))]
    return {words[0]: words[-1] for words in lines}


def test_every_step_runs_and_one_that_failed_is_enough(project: Path) -> None:
    steps(project, 'echo "said by $1"; [ $1 = test ]')

    ended = ci(project, "lint", "test")

    assert ended.returncode == 1
    assert ended.stderr == ""
    assert ended.stdout.index("said by lint") < ended.stdout.index("said by test")
    assert verdicts(ended.stdout) == {"lint": "FAILED", "test": "ok"}


FAILED = """
=================================== FAILURES ===================================
______________________ Chips.test_a_sum_is_right[n300] _______________________
    assert 6 == 2
E   AssertionError: six is not two
=========================== short test summary info ============================
FAILED tests/unit/test_sums.py::Chips::test_a_sum_is_right[n300]
========================= 1 failed, 3 passed in 0.12s ==========================
"""


def test_a_test_that_failed_is_named_at_the_end_with_its_first_words(project: Path) -> None:
    steps(project, f"cat <<'SAID'\n{FAILED}\nSAID\nexit 1")

    said = ci(project, "test").stdout.splitlines()

    assert said[-2:] == [
        "FAILED tests/unit/test_sums.py::Chips::test_a_sum_is_right[n300] - AssertionError: six is not two",
        "3 passed, 1 failed, 0 skipped",
    ]


@pytest.mark.parametrize("script", ["run", ".ci/run"])
def test_asking_pytest_for_what_was_skipped_also_asks_for_what_failed(script: str) -> None:
    """Its `-r` names what is told at the end, instead of failures and errors."""
    asked = re.findall(r"test -m \w+ .*-r(\w+)", (ROOT / script).read_text())

    assert [letters for letters in asked if not {"f", "E"} <= set(letters)] == []
    assert "s" in "".join(asked)


def test_a_step_that_hangs_is_shown_and_stopped_and_the_next_one_runs(project: Path) -> None:
    steps(project, 'if [ $1 = lint ]; then echo first; sleep 1234 | cat; else echo "said by $1"; fi')

    ended = ci(project, "lint", "test", step_seconds=1)

    assert ended.returncode == 1
    assert verdicts(ended.stdout) == {"lint": "FAILED", "test": "ok"}
    assert ended.stdout.count("lint is STOPPED after 1 s") == 2  # when it happened, and at the end
    assert "sleep 1234" in ended.stdout
    assert "first" in ended.stdout
    assert "said by test" in ended.stdout


def test_a_process_that_was_left_behind_delays_no_other(project: Path) -> None:
    steps(project, f"setsid sleep 1235 & echo $! >>{project}/pids; disown; echo done")

    ended = ci(project, "lint", "test", step_seconds=1)
    for pid in (project / "pids").read_text().split():
        os.kill(int(pid), signal.SIGKILL)

    assert ended.stdout.count("done") == 2
    assert ended.returncode == 0


def test_a_python_that_hangs_says_where_it_is(project: Path) -> None:
    steps(
        project,
        """exec python3 -X faulthandler -c 'import time
def waiting_for_ever():
    time.sleep(1236)
waiting_for_ever()'""",
    )

    ended = ci(project, "lint", step_seconds=1)

    assert "in waiting_for_ever" in ended.stdout


def test_a_step_that_begins_repeatedly_is_stopped_as_a_whole(project: Path) -> None:
    seconds = 10_000_000 + os.getpid()  # by which its processes can be told
    steps(project, f"trap 'sleep {seconds} & exit 1' ABRT; sleep {seconds}; sleep {seconds}")
    script = project / ".ci" / "run"
    script.write_text(script.read_text().replace("step_lint() { ./run lint; }", "step_lint() { ./run a; ./run b; }"))

    ended = ci(project, "lint", "test", step_seconds=1)

    assert verdicts(ended.stdout)["lint"] == "FAILED"
    assert [pid for pid, words in commands() if words == f"sleep {seconds}"] == []


def test_children_of_who_dies_first_are_ended_as_well(project: Path) -> None:
    """A Python dies of being asked where it is; a child in a session of its own has another parent then."""
    seconds = 20_000_000 + os.getpid()
    code = f"import subprocess; subprocess.Popen(['sleep', '{seconds}'], start_new_session=True).wait()"
    steps(project, f'python3 -c "{code}"')

    ended = ci(project, "lint", step_seconds=1)

    assert verdicts(ended.stdout) == {"lint": "FAILED"}
    assert [pid for pid, words in commands() if words == f"sleep {seconds}"] == []


@pytest.mark.parametrize(("status", "verdict"), [(0, "ok"), (1, "FAILED"), (3, "FAILED"), (77, "ok")])
def test_only_a_runtime_that_cannot_be_had_is_no_failure(project: Path, status: int, verdict: str) -> None:
    """pytest has codes of its own, among them 3 for what breaks in itself."""
    steps(project, f"exit {status}")

    assert verdicts(ci(project, "ttnn").stdout) == {"ttnn": verdict}


def commands() -> Iterator[tuple[int, str]]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            yield int(path.parent.name), path.read_text(errors="replace").replace("\0", " ").strip()


def test_what_there_is_no_time_for_is_not_run_and_has_failed(project: Path) -> None:
    steps(project, 'echo "said by $1"; [ $1 = test ] || sleep 2')

    ended = ci(project, "lint", "test", all_seconds=1)

    assert ended.returncode == 1
    assert verdicts(ended.stdout) == {"lint": "FAILED", "test": "FAILED"}
    assert "said by test" not in ended.stdout
    assert "test is NOT RUN" in ended.stdout
