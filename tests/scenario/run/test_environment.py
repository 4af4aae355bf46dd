"""`ttmem run` on real programs: what they find in their environment, and that they are none the worse for it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.faces.terminals import a_terminal
from tests.support.processes.compiled import GREETING, compiled
from ttmem.doctor.hook import hook_path

HOOK = hook_path(os.environ)
RUN = [sys.executable, "-m", "ttmem", "run"]
OURS = {"TTMEM", "TTMEM_RUN", "TTMEM_SITES", "LD_PRELOAD", "ASAN_OPTIONS"}


def run(*arguments: str, directory: Path, **settings: str) -> "subprocess.CompletedProcess[str]":
    environ = {**os.environ, "TTMEM_DIR": str(directory), **settings}
    return subprocess.run([*RUN, *arguments], env=environ, capture_output=True, text=True, cwd=directory)


@pytest.fixture(scope="module")
def greeting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Says what it is to preload, and exits with 3."""
    return compiled(tmp_path_factory.mktemp("run") / "greeting", GREETING)


def test_the_hook_is_installed_with_the_package() -> None:
    assert HOOK is not None


def test_the_hook_comes_first_and_what_was_preloaded_stays(tmp_path: Path, greeting: Path) -> None:
    result = run(str(greeting), directory=tmp_path, LD_PRELOAD="libc.so.6")

    assert (result.returncode, result.stdout, result.stderr) == (3, f"preload: {HOOK}:libc.so.6\n", "")


def test_without_the_hook_nothing_is_preloaded(tmp_path: Path, greeting: Path) -> None:
    result = run("--no-hook", str(greeting), directory=tmp_path, LD_PRELOAD=str(HOOK))  # as within another run

    assert (result.returncode, result.stdout, result.stderr) == (3, "preload: none\n", "")


def test_a_hook_that_is_not_there_costs_one_warning(tmp_path: Path, greeting: Path) -> None:
    result = run(str(greeting), directory=tmp_path, TTMEM_HOOK="/nowhere/hook.so")

    assert (result.returncode, result.stdout) == (3, "preload: none\n")
    [warning] = result.stderr.splitlines()
    assert "libttmem_hook.so is not there" in warning


def test_a_static_program_runs_with_one_warning(tmp_path: Path) -> None:
    program = compiled(tmp_path / "static", GREETING, "-static")

    result = run(str(program), directory=tmp_path)

    [warning] = result.stderr.splitlines()
    assert (result.returncode, result.stdout[:8]) == (3, "preload:")
    assert f"{program} is statically linked" in warning


def test_a_sanitized_program_runs_with_one_warning_and_without_any_behind_a_shell(tmp_path: Path) -> None:
    program = compiled(tmp_path / "sanitized", GREETING, "-fsanitize=address")

    result = run(str(program), directory=tmp_path)
    behind = run("sh", "-c", "./sanitized; exit $?", directory=tmp_path)

    [warning] = result.stderr.splitlines()
    assert (result.returncode, result.stdout) == (3, "preload: none\n")
    assert f"{program} is built with AddressSanitizer" in warning
    assert (behind.returncode, behind.stdout, behind.stderr) == (3, f"preload: {HOOK}\n", "")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a program to another user")
def test_a_setuid_program_runs_with_one_warning(tmp_path: Path) -> None:
    program = compiled(tmp_path / "setuid", GREETING)
    os.chown(program, 65534, 65534)
    program.chmod(0o4755)
    os.chmod(tmp_path, 0o755)

    result = run(str(program), directory=tmp_path)

    [warning] = result.stderr.splitlines()
    assert (result.returncode, result.stdout) == (3, "preload: none\n")
    assert f"{program} is setuid" in warning


def test_a_script_without_a_first_line_is_run_by_the_shell(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text('echo "$1"; exit 5\n')
    script.chmod(0o755)

    result = run("./script", "a word", directory=tmp_path)

    assert (result.returncode, result.stdout, result.stderr) == (5, "a word\n", "")


def test_a_program_finds_its_own_environment_and_a_few_variables_of_ours(tmp_path: Path) -> None:
    """Python makes up a locale where there is none; the program must not see that."""
    given = {"PATH": os.environ["PATH"], "TTMEM_HOOK": str(HOOK), "TTMEM_DIR": str(tmp_path), "A": "b\udcff"}
    result = subprocess.run([*RUN, "env", "-0"], env=given, capture_output=True, check=True)
    found = dict(os.fsdecode(line).split("=", 1) for line in result.stdout.split(b"\0") if line)

    assert {name: value for name, value in found.items() if name not in OURS} == given
    assert found.keys() >= OURS


def test_a_program_whose_reader_leaves_ends_as_it_would_without_us(tmp_path: Path) -> None:
    """Python ignores broken pipes; a program that inherits that would go on, or complain."""
    result = run("sh", "-c", "kill -PIPE $$; echo still here", directory=tmp_path)

    assert (result.returncode, result.stdout) == (128 + signal.SIGPIPE, "")


def test_a_shell_can_be_worked_in(tmp_path: Path) -> None:
    environ = {**os.environ, "TTMEM_DIR": str(tmp_path), "PS1": "$ "}
    with a_terminal(["-m", "ttmem", "run", "--no-summary", "sh"], environ) as terminal:
        terminal.press("echo $((6 * 7)); exit 4\n")
        terminal.read_until("42")
        assert terminal.end() == 4
