"""A test that nothing else can stop ends with its process, and is named."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # limits have to pass, none so short that a busy machine would meet it elsewhere

ROOT = Path(__file__).parents[2]

CONFTEST = """
from tests.support.timing.watchdog import Watchdog

def pytest_configure(config):
    config.pluginmanager.register(Watchdog(grace_seconds=0.5))
"""
# A native call that keeps the interpreter to itself: no handler of a signal can run.
HANGING = """
import ctypes
import pytest

def test_before():
    pass

@pytest.mark.timeout(4)
def test_that_never_returns():
    mutex = ctypes.create_string_buffer(64)
    for _ in range(2):
        ctypes.PyDLL(None).pthread_mutex_lock(mutex)

def test_after():
    pass
"""
HANGING_AFTERWARDS = """
import time
import pytest

@pytest.fixture
def thing():
    yield
    cleans_up_for_ever()

def cleans_up_for_ever():
    while True:
        time.sleep(1)

@pytest.mark.timeout(4)
def test_that_fails(thing):
    assert False
"""
LONG = """
import time

def test_that_takes_its_time():
    time.sleep(8)
"""


def pytest_of(directory: Path, source: str, *words: str, limit: float = 30) -> "subprocess.CompletedProcess[str]":
    (directory / "conftest.py").write_text(CONFTEST)
    (directory / "test_hanging.py").write_text(source)
    (directory / "pytest.ini").write_text(f"[pytest]\ntimeout = {limit}\n")
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", *words]
    return subprocess.run(command, cwd=directory, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)


def test_a_hanging_native_call_ends_the_process_and_says_where_it_was(tmp_path: Path) -> None:
    ended = pytest_of(tmp_path, HANGING)

    assert ended.returncode == 1
    assert "in test_that_never_returns" in ended.stderr


def test_of_several_workers_one_is_lost_and_the_test_is_named(tmp_path: Path) -> None:
    ended = pytest_of(tmp_path, HANGING, "-n", "1")

    assert ended.returncode == 1
    assert "FAILED test_hanging.py::test_that_never_returns" in ended.stdout
    assert "1 failed, 2 passed" in ended.stdout


def test_as_tests_of_the_stock_runtime_are_distributed_it_comes_to_an_end(tmp_path: Path) -> None:
    """Where a file's tests stay together, a new worker would be given the one that ended the last."""
    [words] = re.findall(r"pytest -m ttnn (.*) -r\w+", (ROOT / "run").read_text())

    ended = pytest_of(tmp_path, HANGING, *words.split())

    assert ended.returncode == 1
    assert "FAILED test_hanging.py::test_that_never_returns" in ended.stdout


def test_what_hangs_while_it_cleans_up_after_a_failure_ends_too(tmp_path: Path) -> None:
    ended = pytest_of(tmp_path, HANGING_AFTERWARDS)

    assert ended.returncode == 1
    assert "in cleans_up_for_ever" in ended.stderr


def test_who_asks_for_another_limit_has_it(tmp_path: Path) -> None:
    ended = pytest_of(tmp_path, LONG, "--timeout", "30", limit=4)

    assert (ended.returncode, ended.stderr) == (0, "")
