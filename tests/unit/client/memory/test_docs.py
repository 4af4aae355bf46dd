"""The tables of docs/reference/python.md name what there is; tests/docs runs its examples."""

import re
from pathlib import Path

import ttmem
from ttmem.client.memory.listing import LiveAllocation
from ttmem.devices import Pool

PAGE = (Path(__file__).parents[4] / "docs" / "reference" / "python.md").read_text(encoding="utf-8")


def test_every_question_is_described() -> None:
    described = set(re.findall(r"^\| `(\w+)\(device=None", PAGE, flags=re.MULTILINE))
    asked = {name for name in ttmem.__all__ if "mem" in name and not name.startswith(("Ttmem", "report_"))}

    assert described == asked


def test_every_key_of_the_list_and_every_pool_is_described() -> None:
    [table] = re.findall(r"^\| key \| means \|\n(.*?)\n\n", PAGE, flags=re.DOTALL | re.MULTILINE)
    keys = {key for line in table.splitlines() for key in re.findall(r"`(\w+)`", line.split("|")[1])}

    assert keys == set(LiveAllocation.__annotations__)
    assert all(f"`{pool.word}`" in PAGE for pool in Pool if pool is not Pool.UNKNOWN)
