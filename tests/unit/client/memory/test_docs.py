"""The examples of docs/python.md print what stands below them, and its tables name what there is."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import ttmem
from tests.support.processes.programs import tracked
from ttmem.client.memory.listing import LiveAllocation
from ttmem.devices import Pool

PAGE = (Path(__file__).parents[4] / "docs" / "python.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```\n\n```\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(("source", "output"), EXAMPLES)
def test_an_example_prints_what_stands_below_it(source: str, output: str, tmp_path: Path) -> None:
    program = f"exec(compile({source!r}, 'example', 'exec'), {{}})"
    environ = tracked(tmp_path, TTMEM="0")
    done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True)

    assert done.stdout == output


def test_every_example_has_its_output() -> None:
    assert len(EXAMPLES) == PAGE.count("```python") == 2


def test_every_question_is_described() -> None:
    described = set(re.findall(r"^\| `(\w+)\(device=None", PAGE, flags=re.MULTILINE))
    asked = {name for name in ttmem.__all__ if "mem" in name and not name.startswith(("Ttmem", "report_"))}

    assert described == asked


def test_every_key_of_the_list_and_every_pool_is_described() -> None:
    [table] = re.findall(r"^\| key \| means \|\n(.*?)\n\n", PAGE, flags=re.DOTALL | re.MULTILINE)
    keys = {key for line in table.splitlines() for key in re.findall(r"`(\w+)`", line.split("|")[1])}

    assert keys == set(LiveAllocation.__annotations__)
    assert all(f"`{pool.word}`" in PAGE for pool in Pool if pool is not Pool.UNKNOWN)
