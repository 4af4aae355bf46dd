"""The map of rooms in ARCHITECTURE.md is true: who may import whom, who opens the native door, what exists."""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "ttmem"
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
NATIVE_DOORS = {"wire", "client", "recording", "sources", "collector"}


@dataclass(frozen=True)
class Rooms:
    """The map: rooms in import order, and those of them that are still empty."""

    order: tuple[str, ...]
    planned: frozenset[str]

    def stands_above(self, upper: str, lower: str) -> bool:
        return self.order.index(upper) <= self.order.index(lower)


@dataclass(frozen=True)
class Import:
    line: int
    target: str  # dotted and absolute
    is_inside_function: bool


def read_map(text: str) -> Rooms:
    [block] = re.findall(r"^```rooms\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    order: list[str] = []
    planned: set[str] = set()
    for line in block.splitlines():
        names, purpose = re.split(r" {3,}", line, maxsplit=1)
        order += names.split()
        if purpose.startswith("planned:"):
            planned |= set(names.split())
    assert len(order) == len(set(order)), "a room stands twice in the map"
    return Rooms(tuple(order), frozenset(planned))


ROOMS = read_map(ARCHITECTURE)


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        yield ".".join(part for part in parts if part != "__init__"), path


def room_of(dotted: str) -> str:
    """The room a module is in; `ttmem` itself is the front door."""
    parts = dotted.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imports_of(source: str, module: str, is_package: bool) -> list[Import]:
    package = module.split(".") if is_package else module.split(".")[:-1]
    found: list[Import] = []

    def visit(node: ast.AST, is_inside_function: bool) -> None:
        if isinstance(node, ast.Import):
            found.extend(Import(node.lineno, name.name, is_inside_function) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            found.extend(Import(node.lineno, _imported(base, name.name), is_inside_function) for name in node.names)
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            visit(child, is_inside_function or is_function)

    visit(ast.parse(source), False)
    return found


def _imported(base: str, name: str) -> str:
    """`from ttmem import view` names a room, `from ttmem import Client` the front door."""
    if base == "ttmem":
        return f"ttmem.{name}" if name in ROOMS.order else "ttmem"
    return base


def faults_of(source: str, module: str, is_package: bool = False) -> list[str]:
    """What a module's imports do that the map forbids."""
    room = room_of(module)
    if room not in ROOMS.order:
        return [f"{module} is in no room of ARCHITECTURE.md"]
    faults = []
    for found in imports_of(source, module, is_package):
        where = f"{module}:{found.line}"
        top = found.target.split(".")[0]
        if top == "ttmem":
            faults += [f"{where} {fault}" for fault in _faults_between(room, room_of(found.target))]
        elif top not in sys.stdlib_module_names and found.is_inside_function and room != "cli":
            faults.append(f"{where} imports {top} inside a function; only cli may")
    return faults


def _faults_between(room: str, imported: str) -> Iterator[str]:
    if imported not in ROOMS.order:
        yield f"imports {imported}, which is in no room of ARCHITECTURE.md"
    elif not ROOMS.stands_above(imported, room):
        yield f"imports downwards: {imported} stands below {room}"
    if imported == "_native" and room not in NATIVE_DOORS:
        yield f"opens _native; only {', '.join(sorted(NATIVE_DOORS))} may"


def test_every_module_keeps_to_the_map() -> None:
    faults = [
        fault
        for module, path in modules()
        for fault in faults_of(path.read_text(encoding="utf-8"), module, is_package=path.name == "__init__.py")
    ]

    assert faults == []


@pytest.mark.parametrize(
    ("module", "source", "fault"),
    [
        ("ttmem.devices", "from ttmem.view.rows import rows", "imports downwards"),
        ("ttmem.devices", "import ttmem.cli.ps", "imports downwards"),
        ("ttmem.devices", "from ttmem import snapshot", "imports downwards"),
        ("ttmem.devices", "from ttmem import Client", "imports downwards"),
        ("ttmem.client.reports", "from ..collector import Collector", "imports downwards"),
        ("ttmem.client.reports", "def late() -> None:\n    from ttmem import collector", "imports downwards"),
        ("ttmem.view.rows", "from ttmem._native import Ledger", "opens _native"),
        ("ttmem.view.rows", "from ttmem import _native", "opens _native"),
        ("ttmem.collector.running", "def late() -> None:\n    import click", "inside a function"),
        ("ttmem.collector.running", "from ttmem.cellar import wine", "no room"),
        ("ttmem.cellar", "", "no room"),
    ],
)
def test_a_module_that_breaks_the_map_is_caught(module: str, source: str, fault: str) -> None:
    [found] = faults_of(source, module)

    assert fault in found


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("ttmem.collector.rows.snapshots", "from ttmem.devices import Pool\nfrom . import names"),
        ("ttmem.client.reports", "from ttmem import _native"),
        (
            "ttmem.cli.ps",
            "import click\ndef late() -> None:\n    import rich\n    from ttmem.collector import Collector",
        ),
        ("ttmem.view.rows", "def late() -> None:\n    import json"),
    ],
)
def test_a_module_that_keeps_to_the_map_is_left_alone(module: str, source: str) -> None:
    assert faults_of(source, module) == []


def test_a_room_is_marked_planned_exactly_as_long_as_it_is_empty() -> None:
    built = {room_of(module) for module, _ in modules()} | {path.stem for path in PACKAGE.glob("*.pyi")}

    assert built == set(ROOMS.order) - ROOMS.planned


def test_only_the_python_door_of_the_core_includes_python_headers() -> None:
    includes = re.compile(r'^\s*#\s*include\s*[<"](Python\.h|nanobind/|pybind11/)', flags=re.MULTILINE)
    sources = [path for path in (ROOT / "native").rglob("*") if path.suffix in {".h", ".hpp", ".c", ".cpp"}]

    opened = {path for path in sources if includes.search(path.read_text(encoding="utf-8"))}

    assert opened
    assert all(path.is_relative_to(ROOT / "native" / "python") for path in opened)


def test_every_path_that_the_architecture_names_is_there() -> None:
    named = set(re.findall(r"`(\w+/[\w./]*)`", ARCHITECTURE))

    assert named
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
