"""The page about AllocationClient tells the truth: its calls and variables are those of the code."""

import re
from pathlib import Path

import pytest

import ttmem
from ttmem.client import connection
from ttmem.view.texts import FINDINGS
from ttmem.wire import DEFAULT_SOCKET

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "reference" / "allocation-client.md").read_text(encoding="utf-8")
CLIENT = (ROOT / "src" / "ttmem" / "client").glob("*.py")
SOURCES = [*(path for path in CLIENT if path.stem != "recorder_child"), ROOT / "src" / "ttmem" / "switches.py"]
CODE = "".join(path.read_text(encoding="utf-8") for path in SOURCES)


def first_column(section: str) -> list[str]:
    text = PAGE.split(f"## {section}\n", 1)[1]
    table = re.search(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    assert table is not None
    return [row.split("|")[1].strip().strip("`") for row in table[0].splitlines()[2:]]


def test_every_call_is_described_with_its_parameters_and_no_other() -> None:
    calls = {name: call for name, call in vars(ttmem.AllocationClient.__base__).items() if not name.startswith("_")}

    assert set(first_column("Calls")) == {call.__doc__ for call in calls.values()}


def test_every_variable_is_one_that_is_read() -> None:
    named = set(first_column("Environment variables"))

    assert named == set(re.findall(r"\"(TT(?:MEM|_)\w*)\"", CODE)) | {"TTMEM_DIR"}


def test_every_finding_it_names_is_one() -> None:
    named = set(re.findall(r"`(replaced|shrunk_kernel|free_size|unknown_type)`", PAGE))

    assert len(named) == 4
    assert named <= set(FINDINGS)


def test_its_limits_are_those_of_the_code() -> None:
    assert f"{connection.BACKLOG_MESSAGES:,} messages" in PAGE
    assert f"{connection.EXIT_SECONDS:g} s at most" in PAGE
    assert connection.RETRY_SECONDS == 1
    assert f"`{DEFAULT_SOCKET}`" in PAGE


@pytest.mark.parametrize("path", re.findall(r"`(benchmarks/[\w/.]+)`", PAGE))
def test_every_file_it_names_is_there(path: str) -> None:
    assert (ROOT / path).exists()
