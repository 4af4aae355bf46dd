"""`./run` on machines that lack something: it says in one clear sentence what is missing and how to get it."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = [
    "basename",
    "cat",
    "cksum",
    "date",
    "dirname",
    "find",
    "grep",
    "mkdir",
    "rm",
    "sed",
    "sh",
    "sleep",
    "sort",
    "tail",
    "wc",
]


@pytest.fixture
def bare_machine(tmp_path: Path) -> Path:
    """A copy of the project's skeleton, and a PATH with neither compiler nor Python."""
    for name in ["run", "pyproject.toml", "uv.lock", "CMakeLists.txt"]:
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "src" / "ttmem").mkdir(parents=True)
    (tmp_path / "native").mkdir()
    (tmp_path / "bin").mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        assert found, name
        (tmp_path / "bin" / name).symlink_to(found)
    return tmp_path


def pretend(machine: Path, name: str, script: str) -> None:
    program = machine / "bin" / name
    program.write_text(f"#!{machine}/bin/sh\n{script}\n")
    program.chmod(0o755)


def run(machine: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(machine / "bin"), **variables}
    return subprocess.run(
        [machine / "bin" / "sh", machine / "run", *arguments], env=environment, capture_output=True, text=True
    )


def compile_anything(machine: Path) -> None:
    pretend(machine, "c++", 'while [ $# -gt 1 ]; do [ "$1" != -o ] || : >"$2"; shift; done; cat >/dev/null')


def test_a_machine_without_compiler_is_advised_to_get_one(bare_machine: Path) -> None:
    ended = run(bare_machine, "demo")

    assert ended.returncode == 1
    assert re.fullmatch(r"ttmem: a C\+\+20 compiler was not found .*apt-get install g\+\+.*\n", ended.stderr)


def test_a_compiler_that_does_not_know_cpp20_is_not_taken(bare_machine: Path) -> None:
    pretend(bare_machine, "old", "exit 1")

    ended = run(bare_machine, "demo", CXX="old")

    assert ended.returncode == 1
    assert re.fullmatch(r"ttmem: CXX=old does not compile C\+\+20; .*\n", ended.stderr)


def test_a_machine_without_python_is_advised_to_get_it(bare_machine: Path) -> None:
    compile_anything(bare_machine)

    ended = run(bare_machine, "demo")

    assert ended.returncode == 1
    assert re.fullmatch(r"ttmem: Python 3.10 or newer was not found; .*PYTHON=.*\n", ended.stderr)


def test_a_python_that_is_too_old_is_not_taken(bare_machine: Path) -> None:
    compile_anything(bare_machine)
    pretend(bare_machine, "python3", "exit 1")

    ended = run(bare_machine, "demo", PYTHON="python3")

    assert ended.returncode == 1
    assert re.fullmatch(r"ttmem: PYTHON=python3 does not start a Python 3.10 or newer\n", ended.stderr)


def test_a_python_without_header_files_is_advised_to_get_them(bare_machine: Path) -> None:
    compile_anything(bare_machine)
    pretend(bare_machine, "python3", 'case $2 in *Python.h*) exit 1 ;; *executable*) echo "$0" ;; esac')

    ended = run(bare_machine, "demo")

    assert ended.returncode == 1
    assert re.search(r"/python3 has no header files .*apt-get install python3-dev", ended.stderr)


def test_an_unknown_verb_shows_the_help_and_fails(bare_machine: Path) -> None:
    ended = run(bare_machine, "dance")

    assert ended.returncode == 2
    assert ended.stderr.startswith("ttmem: no verb 'dance'\nusage: ./run VERB")


def test_a_step_that_fails_shows_the_end_of_its_log(bare_machine: Path) -> None:
    compile_anything(bare_machine)
    venv_fails = "*-m*) echo no room left >&2; exit 1 ;;"
    pretend(bare_machine, "python3", f'case "$*" in {venv_fails} *executable*) echo "$0" ;; esac')

    ended = run(bare_machine, "demo")

    assert ended.returncode == 1
    assert re.search(
        r"ttmem: Making .venv .*\.\.\. failed, .*/build/logs/venv.log ends with:\nno room left\n$", ended.stderr
    )


NO_NETWORK = """\
WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(...)': /simple/pip/
ERROR: No matching distribution found for pip>=25.1"""


@pytest.mark.parametrize(
    ("said", "variables", "is_network"),
    [
        (NO_NETWORK, {}, True),
        ("ERROR: No matching distribution found for pip>=25.1", {"PIP_NO_INDEX": "1"}, True),
        ("ERROR: No matching distribution found for nanobind>=99", {}, False),
        ("ERROR: Could not install packages due to an OSError: no room left", {"PIP_NO_INDEX": "1"}, False),
    ],
)
def test_an_index_that_cannot_be_reached_is_one_sentence(
    bare_machine: Path, said: str, variables: dict[str, str], is_network: bool
) -> None:
    compile_anything(bare_machine)
    (bare_machine / "said").write_text(said)
    fails = f"*-m*venv*) cat {bare_machine}/said; exit 1 ;;"
    pretend(bare_machine, "python3", f'case "$*" in {fails} *executable*) echo "$0" ;; esac')

    ended = run(bare_machine, "demo", **variables)

    assert ended.returncode == 1
    assert ("\nttmem: the package index cannot be reached; " in ended.stderr) is is_network
    assert (said in ended.stderr) is not is_network


def test_on_a_terminal_the_seconds_of_a_step_are_counted(bare_machine: Path) -> None:
    """The step lasts until its second second was seen."""
    compile_anything(bare_machine)
    gate = bare_machine / "gate"
    os.mkfifo(gate)
    waits = f"*-m*venv*) read line <{gate}; exit 1 ;;"
    pretend(bare_machine, "python3", f'case "$*" in {waits} *executable*) echo "$0" ;; esac')
    here, terminal = os.openpty()
    command = [str(bare_machine / "bin" / "sh"), str(bare_machine / "run"), "demo"]
    with subprocess.Popen(command, env={"PATH": str(bare_machine / "bin")}, stderr=terminal) as process:
        os.close(terminal)
        seen = b""
        while b"... 1 s" not in seen:
            seen += os.read(here, 4096)
        gate.write_text("go on\n")
    os.close(here)

    assert process.returncode == 1
    assert re.search(rb"\rttmem: Making \.venv with .* \.\.\. 1 s", seen)


@pytest.mark.parametrize("shell", ["sh", "dash", "bash", "busybox"])
def test_the_script_is_plain_shell(shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    command = [shell, "sh"] if shell == "busybox" else [shell]

    ended = subprocess.run([*command, "-n", ROOT / "run"], capture_output=True, text=True)

    assert (ended.returncode, ended.stderr) == (0, "")
