"""How the tree is laid out: folders that can be surveyed, modules worth opening, imports at the top.

The rules are those of the design, section 3. An exception is a row of a table below, with its reason; one that is no
longer needed fails its test, so the tables only shrink.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.test_house import CPP_SUFFIXES, FILES, ROOT, tree_of

FILES_MOST, LINES_LEAST = 12, 15
TREES = ("src/ttmem", "tests", "benchmarks", "native", "tools")
SOURCE_SUFFIXES = {".py", ".pyi", *CPP_SUFFIXES}
OF_TOOLS = {"__init__.py", "__main__.py", "conftest.py"}  # Python and pytest name these; they may be short

# One file per subject: a reader looks for one of them by its name.
ONE_FILE_PER_SUBJECT = {
    "benchmarks/promises": "a file per promise about cost",
    "native/tests/ledger": "a file per subject of the native ledger",
    "native/tests/writer": "a file per subject of the native writer",
    "src/ttmem/cli": "a file per verb",
    "tests/contract": "a file per agreement",
    "tests/faces": "a file per verb or screen",
    "tests/scenario/hook": "a file per subject of the hook",
    "tests/ttnn": "a file per subject that the stock runtime judges",
    "tests/ttnn/hook": "a file per subject of the hook on the stock runtime",
}
# To be rebuilt or split; a row that is no longer needed fails its test.
LARGE_FOLDERS = {
    "native/hook": "not split yet",
    "native/src/journal": "not split yet",
    "native/src/writer": "not split yet",
    "src/ttmem/snapshot": "a file per kind of figures",
    "tests/scenario/daemon": "follows the daemon",
    "tests/scenario/ledger": "follows the ledger",
    "tests/unit/view": "follows the view",
}
SHORT_MODULES: dict[str, str] = {}
LATE_IMPORTS = {
    "src/ttmem/sources/journals.py": "the layout of journals, needed for files that no directory lists only",
}


def in_trees() -> Iterator[tuple[str, Path]]:
    for path in FILES:
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(tuple(f"{tree}/" for tree in TREES)):
            yield name, path


SOURCES = {name: path for name, path in in_trees() if path.suffix in SOURCE_SUFFIXES}
PACKAGE = {name: path for name, path in SOURCES.items() if name.startswith("src/ttmem/") and path.suffix == ".py"}


def test_a_folder_has_at_most_twelve_source_files() -> None:
    counts = Counter(name.rpartition("/")[0] for name in SOURCES)
    large = {folder for folder, count in counts.items() if count > FILES_MOST}

    assert large == {*ONE_FILE_PER_SUBJECT, *LARGE_FOLDERS}


def test_a_module_is_worth_opening() -> None:
    modules = {name: path for name, path in SOURCES.items() if path.suffix == ".py" and path.name not in OF_TOOLS}
    short = {name for name, path in modules.items() if len(path.read_text(encoding="utf-8").splitlines()) < LINES_LEAST}

    assert short == set(SHORT_MODULES)


def late_imports(tree: ast.Module) -> list[int]:
    """The lines of imports inside functions."""
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    found = (inner for node in functions for inner in ast.walk(node) if isinstance(inner, ast.Import | ast.ImportFrom))
    return sorted({node.lineno for node in found})


def test_imports_stand_at_the_top_of_a_module() -> None:
    outside_cli = {name: path for name, path in PACKAGE.items() if not name.startswith("src/ttmem/cli/")}
    late = {name for name, path in outside_cli.items() if late_imports(tree_of(path))}

    assert {name for name in late if not name.startswith(tuple(LATE_IMPORTS))} == set()
    assert {start for start in LATE_IMPORTS if not any(name.startswith(start) for name in late)} == set()


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("import os\ndef f():\n    return os\n", []),
        ("def f():\n    import os\n", [2]),
        ("class A:\n    def f(self):\n        from ttmem import view\n", [3]),
    ],
)
def test_a_late_import_is_caught(source: str, lines: list[int]) -> None:
    assert late_imports(ast.parse(source)) == lines
