"""docs/rules.md names a test for every rule, and every test it names exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
RULES = {part.splitlines()[0]: part for part in re.split(r"^### ", TEXT, flags=re.MULTILINE)[1:]}
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TEXT)))


@cache
def names_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_names_a_test_that_holds_it(rule: str) -> None:
    held_by = RULES[rule].partition("Held by:")[2]

    assert re.search(r"`tests/[\w/]+\.py::test_\w+`", held_by)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_gives_its_reason(rule: str) -> None:
    assert re.search(r"^Why: ", RULES[rule], flags=re.MULTILINE)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_says_what_the_seeds_would(rule: str) -> None:
    assert "seeds" in RULES[rule]


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_sets_the_figure_of_the_seeds_beside_ours(rule: str) -> None:
    table = "\n".join(re.findall(r"^\|.*$", RULES[rule], flags=re.MULTILINE))

    assert "seeds" in table
    assert "ours" in table


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_every_named_test_exists(path: str, name: str) -> None:
    assert name in names_in(path)


def test_there_are_rules_at_all() -> None:
    assert len(RULES) > 15
    assert len(NAMED) > 30
