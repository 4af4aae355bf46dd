"""The habits of the house, as far as a machine can judge them: purposes said, files and functions kept short,
nothing in the tree that only holds on somebody's machine."""

import ast
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MADE_DIRECTORIES = {".git", ".venv", "build", "dist", "node_modules", "__pycache__", ".hypothesis"}
CPP_SUFFIXES = {".c", ".h", ".cpp", ".hpp", ".cc"}
PYTHON_LINES, CPP_LINES, TEST_LINES, FUNCTION_LINES = 500, 600, 800, 60
STUB_LINES = 650
PUBLIC_INDEX = "https://pypi.org/simple"
# Written so that this file does not match itself.
MACHINE_PATHS = re.compile(r"(?<![\w.}/])/(?:w[o]rk/|r[o]ot/(?!dev|run|proc)|h[o]me/\w|tmp/t[e]am|opt/p[y]pi)")


def files() -> Iterator[Path]:
    """What belongs to the project, whether committed yet or not."""
    for folder, inner, names in os.walk(ROOT):
        inner[:] = [name for name in inner if name not in MADE_DIRECTORIES and not name.endswith("_cache")]
        # Where this is a linked worktree, .git is a file.
        ours = (name for name in names if name != ".git" and not name.endswith((".whl", ".pyc", ".so")))
        yield from (Path(folder, name) for name in ours)


FILES = sorted(files())
PYTHON = [path for path in FILES if path.suffix in {".py", ".pyi"}]
CPP = [path for path in FILES if path.suffix in CPP_SUFFIXES]


def names(paths: Iterable[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def has_own_header(path: Path) -> bool:
    """Whether the header beside a .cpp file speaks for it."""
    return path.suffix == ".cpp" and path.with_suffix(".hpp").exists()


def most_lines(path: Path) -> int:
    if path.name == "_native.pyi":  # a compiled module has one stub, whatever its parts
        return STUB_LINES
    if "tests" in path.relative_to(ROOT).parts:
        return TEST_LINES
    return CPP_LINES if path.suffix in CPP_SUFFIXES else PYTHON_LINES


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Habits:
    """What the rules look at, of one module."""

    is_silent: bool
    long_functions: list[str]


@pytest.fixture(scope="module")
def habits() -> dict[Path, Habits]:
    """Of every module. Its tree is not kept: a thousand of them cost more than parsing."""
    return {path: habits_of(tree_of(path)) for path in PYTHON if path.stat().st_size > 0}


def habits_of(tree: ast.Module) -> Habits:
    return Habits(not ast.get_docstring(tree), long_functions(tree))


def long_functions(tree: ast.Module) -> list[str]:
    """The functions that are longer than allowed, their docstrings apart."""
    found = []
    for node in statements(tree.body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1 - _docstring_lines(node)
            if length > FUNCTION_LINES:
                found.append(f"{node.name}: {length} lines")
    return found


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Also those within others; no expressions, of which there are ten times as many and which have no functions."""
    for node in body:
        yield node
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from statements(getattr(node, part, ()))


def _docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = node.body[0]
    return (first.end_lineno or 0) - first.lineno + 1 if ast.get_docstring(node) is not None else 0


def machine_paths(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if MACHINE_PATHS.search(line)]


def test_a_python_module_says_what_it_is_for(habits: dict[Path, Habits]) -> None:
    assert names(path for path, habit in habits.items() if habit.is_silent) == []


def test_a_cpp_file_says_what_it_is_for() -> None:
    alone = (path for path in CPP if not has_own_header(path))
    silent = (path for path in alone if not path.read_text(encoding="utf-8").startswith(("//", "/*")))

    assert names(silent) == []


def test_a_file_is_short_enough_to_read() -> None:
    long = (path for path in (*PYTHON, *CPP) if len(path.read_text(encoding="utf-8").splitlines()) > most_lines(path))

    assert names(long) == []


def test_a_function_is_short_enough_to_read(habits: dict[Path, Habits]) -> None:
    long = {str(path.relative_to(ROOT)): habit.long_functions for path, habit in habits.items()}

    assert {name: functions for name, functions in long.items() if functions} == {}


def test_a_long_function_is_caught_and_its_docstring_is_not_counted() -> None:
    body = "    x = 1\n" * (FUNCTION_LINES - 1)
    docstring = '    """One.\n\n    Two.\n    """\n'

    assert long_functions(ast.parse(f"def f():\n{docstring}{body}")) == []
    assert long_functions(ast.parse(f"def f():\n{docstring}{body}    x = 2\n")) == [f"f: {FUNCTION_LINES + 1} lines"]


def test_no_file_names_a_path_of_the_machine_it_was_written_on() -> None:
    found = {}
    for path in FILES:
        try:
            lines = machine_paths(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError:  # a picture
            continue
        if lines:
            found[str(path.relative_to(ROOT))] = lines

    assert found == {}


@pytest.mark.parametrize("text", ["cd /{}/main", 'open("/{}/x")', "see /{}/shared"])
def test_a_machine_path_is_caught(text: str) -> None:
    assert machine_paths(text.format("work"))


@pytest.mark.parametrize("text", ["/proc/1/root/dev/shm", "{proc}/root/tmp", "a framework/part", "/tmp/x.sock"])
def test_a_path_that_every_machine_has_is_left_alone(text: str) -> None:
    assert machine_paths(text) == []


def test_the_lock_names_only_the_public_index() -> None:
    lock = (ROOT / "uv.lock").read_text(encoding="utf-8")

    assert set(re.findall(r'registry = "([^"]*)"', lock)) == {PUBLIC_INDEX}
    assert {url.split("/")[2] for url in re.findall(r'https?://[^"]*', lock)} == {"pypi.org", "files.pythonhosted.org"}
