"""What is done with a block, by its language: run it, compile it, or read it with the parser that its readers use."""

import configparser
import csv
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable

from tests.support.docs.pages import ROOT, Block, text_of
from tests.support.docs.rules import difference
from tests.support.docs.shell import WHEELS, Printed, Shell
from ttmem.monitor.parts.filters import problem_of

# Programs of the machine that pages use; none of them is a dependency.
NEEDED = ("jq", "curl", "cmake", "promtool", "prometheus", "pipx", "uv")
COMMENT = re.compile(r"\s+#.*$|^#.*$")


def run(block: Block, output: Block | None, shell: Shell) -> None:
    """Does what a reader does with a block; `output` is the block below it that shows what is printed."""
    if "file" in block.directives:
        path = shell.directory / block.directives["file"]
        path.parent.mkdir(exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
    elif block.language == "console":
        _console(block, shell)
    elif not _lacks(block, shell):
        printed = LANGUAGES[block.language](block, shell)
        if output is not None:
            rules = output.directives.get("rules", "").split()
            unlike = difference(output.text, printed, rules)
            assert not unlike, f"{output.place}: {unlike}"


def _lacks(block: Block, shell: Shell) -> bool:
    """Whether this machine lacks a program that a block needs; the test of its page says so."""
    if block.language not in ("sh", "console"):
        return False
    path = shell.environ["PATH"]
    lacking = {name for name in NEEDED if re.search(rf"\b{name} ", block.text) and not shutil.which(name, path=path)}
    if "install ttmem" in block.text and not [*WHEELS.glob(f"*-cp{sys.version_info[0]}{sys.version_info[1]}-*.whl")]:
        lacking.add("wheel in dist (./run wheels)")
    shell.lacking |= lacking
    return bool(lacking)


def check_file(block: Block, shell: Shell) -> None:
    """A block that is a file is also well formed."""
    if block.language == "python":
        compile(block.text, block.place, "exec")
    elif block.language in ("c", "cpp", "json", "ini", "csv"):
        LANGUAGES[block.language](block, shell)


def commands(text: str) -> list[str]:
    """The commands of a shell block with their comments; one that ends with a backslash goes on in the next line."""
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def _checked(command: str, shell: Shell, place: str) -> str:
    """What a command prints. Its status is 0, or one that its comment names (`# status 4`)."""
    comment = COMMENT.search(command)
    allowed = {0, *map(int, re.findall(r"status (\d+)", comment[0]))} if comment else {0}
    printed: Printed = shell.run(COMMENT.sub("", command) if comment else command)
    assert printed.status in allowed, f"{place}: {command}\nended with status {printed.status}\n{printed.text}"
    return printed.text


def _shell(block: Block, shell: Shell) -> str:
    return "".join(_checked(command, shell, block.place) for command in commands(block.text))


def _console(block: Block, shell: Shell) -> None:
    """Commands behind `$ `, each with what it prints below it."""
    if _lacks(block, shell):
        return
    rules = block.directives.get("rules", "").split()
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        printed = _checked(command, shell, block.place)
        unlike = difference(shown, printed, rules)
        assert not unlike, f"{block.place}: $ {command}\n{unlike}"


def _python(block: Block, shell: Shell) -> str:
    (shell.directory / "example.py").write_text(block.text, encoding="utf-8")
    return _checked("python example.py", shell, block.place)


def _compiled(block: Block, shell: Shell) -> str:
    compiler = os.environ.get("CXX") or next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))))
    strictly = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'native' / 'include'}"]
    words = [*shlex.split(compiler), "-x", {"c": "c", "cpp": "c++"}[block.language], *strictly, "-"]
    done = subprocess.run(words, input=block.text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), f"{block.place}\n{done.stderr}"
    return ""


def _json(block: Block, shell: Shell) -> str:
    json.loads(block.text)
    return ""


def _ini(block: Block, shell: Shell) -> str:
    configparser.ConfigParser(strict=False, interpolation=None).read_string(block.text)
    return ""


def _toml(block: Block, shell: Shell) -> str:
    if sys.version_info >= (3, 11):
        import tomllib

        tomllib.loads(block.text)
    return ""


def _csv(block: Block, shell: Shell) -> str:
    rows = list(csv.reader(io.StringIO(block.text), skipinitialspace=True))
    assert len({len(row) for row in rows}) == 1, f"{block.place}: rows of different lengths"
    return ""


def expressions(block: Block) -> list[str]:
    """The questions of a promql block; tests/scenario/metrics asks them of a real Prometheus."""
    return [line for line in block.text.splitlines() if line and not line.startswith("#")]


def _promql(block: Block, shell: Shell) -> str:
    known = set(re.findall(r"^\| `(ttmem_\w+)`", text_of("docs/reference/metrics.md"), flags=re.MULTILINE))
    for expression in expressions(block):
        named = set(re.findall(r"\bttmem_\w+", expression))
        assert named <= known, f"{block.place}: no such metrics: {named - known}"
        assert all(expression.count(pair[0]) == expression.count(pair[1]) for pair in ("()", "{}", "[]"))
    return ""


def _filter(block: Block, shell: Shell) -> str:
    """Filters of the monitor's list of processes."""
    for line in block.text.splitlines():
        assert problem_of(line) == "", f"{block.place}: {problem_of(line)}"
    return ""


LANGUAGES: dict[str, Callable[[Block, Shell], str]] = {
    "sh": _shell,
    "python": _python,
    "c": _compiled,
    "cpp": _compiled,
    "json": _json,
    "ini": _ini,
    "toml": _toml,
    "csv": _csv,
    "promql": _promql,
    "filter": _filter,
}
EXECUTED = {*LANGUAGES, "console"}
