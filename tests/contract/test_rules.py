"""docs/understanding/rules.md names a test for every rule, each of them exists, and every figure in its tables is held.

A figure stands in a test that its rule names, or is reckoned here: ours by the runtime model, the others by their rule.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from ttmem import metal
from ttmem.devices import Pool
from ttmem.metal import CoreRanges, Kernel, MeshWorkload, Program

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "understanding" / "rules.md").read_text(encoding="utf-8")
RULES = {part.splitlines()[0]: part for part in re.split(r"^### ", TEXT, flags=re.MULTILINE)[1:]}
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TEXT)))


SERVER = "allocation server"
FIGURE = re.compile(r"\d{1,3}(?:,\d{3})+")
PRODUCTS = sorted(set(re.findall(r"([\d,]+) x ([\d,]+) = ([\d,]+)", TEXT)))
PER_RUN = 1_572_864  # the example by the allocation server's rule: padded binaries x all cores
SERVER_RECKONING = {
    157_286_400: (PER_RUN, 100),
    155_713_536: (PER_RUN, 99),
    3_145_728: (PER_RUN, 2),
    110_592: (55_296, 2),
    47_104: (23, 2048),  # the sizes by which it knows a system program, in pages
    57_344: (28, 2048),
    3_670_016: (57_344, 64),
    393_216: (2048 + 4096, 64),
    320_864_256: (17 * 12, 3 << 19),
}


@cache
def names_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def rows_of(rule: str) -> list[list[str]]:
    """The cells of its tables, the titles first."""
    rows = re.findall(r"^\|(.*)\|$", RULES[rule], flags=re.MULTILINE)
    return [[cell.strip() for cell in row.split("|")] for row in rows if "--" not in row]


def of_the_server(row: list[str], titles: list[str]) -> list[str]:
    """The cells of a row that are the allocation server's: behind its name, or below it."""
    if row[0].startswith(SERVER):
        return row[1:]
    return [cell for cell, title in zip(row, titles, strict=False) if title.startswith(SERVER) and row is not titles]


@cache
def ours_reckoned() -> frozenset[int]:
    """Figures of ours, by the runtime model."""
    with metal.open_device("p150") as blackhole, metal.open_device("n150") as wormhole:
        chip = blackhole.chips[0]
        rings = chip.kernel_ring_bytes * chip.l1_bank_count
        base = metal.architecture("wormhole_b0").l1_unreserved_base
        for _ in range(2):
            metal.enqueue(wormhole, MeshWorkload(_of_twelve_pages()))
        binaries = wormhole.truth()[0].used_bytes[Pool.DRAM]
        changed = _of_twelve_pages()
        circular_buffer = changed.add_circular_buffer(CoreRanges.grid(8, 8), 2048)
        workload = MeshWorkload(changed)
        metal.enqueue(wormhole, workload)
        changed.resize(circular_buffer, 4096)
        metal.enqueue(wormhole, workload)
        taken = wormhole.truth()[0].used_bytes[Pool.CB]
        return frozenset({rings, base, wormhole.chips[0].l1_bank_count * base, binaries, taken})


def _of_twelve_pages() -> Program:
    """A program whose binaries are a page in each of 12 banks."""
    program = Program()
    program.add_kernel(Kernel(name="reader", cores=CoreRanges.grid(8, 8), binaries=(12 * 2048,)))
    return program


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_names_a_test_that_holds_it(rule: str) -> None:
    held_by = RULES[rule].partition("Held by:")[2]

    assert re.search(r"`tests/[\w/]+\.py::test_\w+`", held_by)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_gives_its_reason(rule: str) -> None:
    assert re.search(r"^Why: ", RULES[rule], flags=re.MULTILINE)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_gives_the_figure_of_the_allocation_server_or_says_that_it_has_none(rule: str) -> None:
    told = [cell for row in rows_of(rule) for cell in of_the_server(row, rows_of(rule)[0])]

    assert any(re.search(r"\d|^no\b", cell) for cell in told)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_sets_the_figure_of_the_allocation_server_beside_ours(rule: str) -> None:
    table = "\n".join(re.findall(r"^\|.*$", RULES[rule], flags=re.MULTILINE))

    assert SERVER in table
    assert "ours" in table


@pytest.mark.parametrize("rule", RULES)
def test_every_figure_is_held_by_a_test_of_its_rule_or_computed_here(rule: str) -> None:
    named = set(re.findall(r"`(tests/[\w/]+\.py)::", RULES[rule]))
    tests = "".join((ROOT / path).read_text(encoding="utf-8") for path in named).replace("_", "")
    figures = {int(text.replace(",", "")) for row in rows_of(rule) for text in FIGURE.findall(" ".join(row))}
    multiplied = {int(number.replace(",", "")) for three in PRODUCTS for number in three}

    unheld = {figure for figure in figures if not re.search(rf"(?<!\d){figure}(?!\d)", tests)}
    assert unheld - multiplied - set(SERVER_RECKONING) <= set(ours_reckoned())


@pytest.mark.parametrize(("left", "right", "product"), PRODUCTS)
def test_products_are_what_they_say(left: str, right: str, product: str) -> None:
    left_number, right_number, number = (int(text.replace(",", "")) for text in (left, right, product))

    assert left_number * right_number == number


@pytest.mark.parametrize(("figure", "factors"), SERVER_RECKONING.items())
def test_the_figures_of_the_allocation_server_follow_from_its_rule(figure: int, factors: tuple[int, int]) -> None:
    assert factors[0] * factors[1] == figure


def test_our_figures_are_those_of_the_model() -> None:
    assert set(ours_reckoned()) == {7_772_160, 105_824, 6_772_736, 49_152, 262_144}


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_every_named_test_exists(path: str, name: str) -> None:
    assert name in names_in(path)


def test_there_are_rules_at_all() -> None:
    assert len(RULES) > 15
    assert len(NAMED) > 30
