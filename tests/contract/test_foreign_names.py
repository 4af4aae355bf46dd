"""Of other packages only public names are used: what begins with `_` may change in any release of theirs."""

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from textual.geometry import Size
from textual.widget import Widget

from tools.hops.source import Sources, private_names, sources

PACKAGE = Path(__file__).parents[2] / "src" / "ttmem"


@pytest.fixture(scope="module")
def modules() -> Sources:
    return sources(PACKAGE)


@pytest.fixture(scope="module")
def classes(modules: Sources) -> list[type]:
    """Classes of the product that inherit from a class of another package, the standard library not counted."""
    return [cls for name, tree in modules.items() for cls in classes_of(name, tree) if any(foreign_bases(cls))]


def test_no_module_uses_a_private_name_of_another_package(modules: Sources) -> None:
    assert private_names(modules) == []


def classes_of(name: str, tree: ast.Module) -> Iterator[type]:
    """Only where a third-party package is imported at all; other modules need not be loaded."""
    imported = {part.split(".")[0] for node in ast.walk(tree) for part in modules_named(node)}
    if imported - sys.stdlib_module_names - {"ttmem"}:
        module = importlib.import_module(name.removesuffix(".__init__"))
        yield from (cls for cls in vars(module).values() if isinstance(cls, type) and cls.__module__ == module.__name__)


def modules_named(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []


def foreign_bases(cls: type) -> Iterator[type]:
    own = sys.stdlib_module_names | {"ttmem"}
    return (base for base in cls.__mro__ if base.__module__.split(".")[0] not in own)


def own_private_names(cls: type) -> set[str]:
    """Methods, class attributes and attributes of `self` that the source of the class names."""
    return set(re.findall(r"(?:\bself\.|\bdef |^    )(_[a-z]\w*)", inspect.getsource(cls), flags=re.MULTILINE))


def inherited_private_names(cls: type) -> set[str]:
    """What its foreign bases have, or give their instances."""
    return {name for base in foreign_bases(cls) for name in private_names_of(base)}


@cache
def private_names_of(base: type) -> set[str]:
    """Finding its source parses its whole module, so each base is asked once."""
    found = {name for name in vars(base) if name.startswith("_")}
    with suppress(OSError, TypeError):  # one that is written in C
        found |= set(re.findall(r"\bself\.(_\w+)", inspect.getsource(base)))
    return found


def test_a_private_name_of_ours_hides_none_of_a_foreign_base(classes: list[type]) -> None:
    hiding = {cls.__name__: own_private_names(cls) & inherited_private_names(cls) for cls in classes}

    assert {name: hidden for name, hidden in hiding.items() if hidden} == {}


def test_a_name_that_hides_one_of_the_base_is_caught() -> None:
    class Hiding(Widget):
        def _repaint(self) -> None:
            self._size = Size(1, 1)

    assert own_private_names(Hiding) == {"_repaint", "_size"}
    assert "_size" in inherited_private_names(Hiding)


def test_the_app_and_its_widget_are_checked(classes: list[type]) -> None:
    assert {"Monitor", "Canvas"} <= {cls.__name__ for cls in classes}
