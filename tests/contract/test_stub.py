"""The stub of the native core tells the truth: every name in it is there, takes what it says, and nothing is hidden."""

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from ttmem import _native

STUB = Path(__file__).parents[2] / "src" / "ttmem" / "_native.pyi"
TREE = ast.parse(STUB.read_text(encoding="utf-8"))

Parameters = list[tuple[str, bool]]  # name, and whether it may be left out


def documented(owner: str = "") -> dict[str, ast.FunctionDef]:
    """The functions that the stub describes, of a class or of the module."""
    body: list[ast.stmt] = TREE.body
    if owner:
        [found] = [node for node in body if isinstance(node, ast.ClassDef) and node.name == owner]
        body = found.body
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef)}


def parameters_of(function: ast.FunctionDef) -> Parameters:
    positional = [*function.args.posonlyargs, *function.args.args]
    required = len(positional) - len(function.args.defaults)
    return [(argument.arg, place >= required) for place, argument in enumerate(positional) if argument.arg != "self"]


def told_by(function: Any) -> ast.FunctionDef:
    """What the function itself says about its parameters, in the first line of its documentation."""
    first = inspect.getdoc(function) or ""
    signature = re.sub(r"\s+", " ", first.partition("\n\n")[0])
    signature = re.sub(r" -> .*", "", signature)
    [node] = ast.parse(f"def {signature}: ...").body
    assert isinstance(node, ast.FunctionDef)
    return node


def public(owner: object) -> set[str]:
    return {name for name in dir(owner) if not name.startswith("_")}


CLIENT = documented("client")
TESTING = documented("testing")
LEDGER = {name: node for name, node in documented("Ledger").items() if not name.startswith("_")}


def test_the_module_has_what_the_stub_has() -> None:
    classes = {node.name for node in TREE.body if isinstance(node, ast.ClassDef)}

    assert public(_native) == classes | set(documented())
    assert public(_native.client) == set(CLIENT)
    assert public(_native.Ledger) == set(LEDGER)
    assert public(_native.testing) == set(TESTING)


@pytest.mark.parametrize("name", CLIENT)
def test_a_reporting_function_takes_what_the_stub_says(name: str) -> None:
    assert parameters_of(told_by(getattr(_native.client, name))) == parameters_of(CLIENT[name])


@pytest.mark.parametrize("name", CLIENT)
def test_a_reporting_function_takes_its_arguments_by_position_only(name: str) -> None:
    names = [argument for argument, _ in parameters_of(CLIENT[name])]

    assert [argument.arg for argument in CLIENT[name].args.posonlyargs] == names
    if names:
        with pytest.raises(TypeError):
            getattr(_native.client, name)(**dict.fromkeys(names, 0))


@pytest.mark.parametrize("name", LEDGER)
def test_a_method_of_the_ledger_takes_what_the_stub_says(name: str) -> None:
    assert parameters_of(told_by(getattr(_native.Ledger, name))) == parameters_of(LEDGER[name])


@pytest.mark.parametrize("name", TESTING)
def test_a_function_for_tests_takes_what_the_stub_says(name: str) -> None:
    assert parameters_of(told_by(getattr(_native.testing, name))) == parameters_of(TESTING[name])


def test_the_ledger_is_made_as_the_stub_says() -> None:
    assert parameters_of(documented("Ledger")["__init__"]) == []
    assert isinstance(_native.Ledger(), _native.Ledger)
    assert isinstance(_native.testing.tapped_ledger(), _native.Ledger)


@pytest.mark.parametrize("name", sorted(name for name in CLIENT if name.startswith("report_")))
def test_a_hot_function_has_no_python_frame(name: str) -> None:
    assert inspect.isbuiltin(getattr(_native.client, name))
