"""The pages about the faces tell the truth: every flag and every finding stands there, and no other."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pytest

from ttmem.cli.check import check
from ttmem.cli.doctor import doctor
from ttmem.cli.dump import dump
from ttmem.cli.explain import explain
from ttmem.cli.fit import fit
from ttmem.cli.inspect import inspect
from ttmem.cli.ps import ps
from ttmem.cli.run import run
from ttmem.view.queries import APP_FIELDS, MEMORY_FIELDS, Field
from ttmem.view.texts import FINDINGS

DOCS = Path(__file__).parents[2] / "docs" / "reference"


def first_column(page: str, section: str) -> list[str]:
    """The first cells of the table below a heading."""
    text = (DOCS / page).read_text(encoding="utf-8").split(f"## {section}\n", 1)[1]
    table = re.search(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    assert table is not None
    return [row.split("|")[1].strip() for row in table[0].splitlines()[2:]]


@pytest.mark.parametrize(
    ("page", "command"),
    [
        ("ps.md", ps),
        ("dump.md", dump),
        ("run.md", run),
        ("doctor.md", doctor),
        ("inspect.md", inspect),
        ("fit.md", fit),
        ("check.md", check),
        ("explain.md", explain),
    ],
)
def test_every_flag_is_described_and_no_other(page: str, command: click.Command) -> None:
    described = set(re.findall(r"(?<=`)--?[\w-]+", " ".join(first_column(page, "Flags"))))

    options = [option for option in command.params if isinstance(option, click.Option)]
    assert described == {flag for option in options for flag in (*option.opts, *option.secondary_opts)}


def test_every_finding_is_described_and_no_other() -> None:
    described = set(first_column("json.md", "Findings"))

    assert described == set(FINDINGS) - {"damaged"}  # damaged files have a list of their own


@pytest.mark.parametrize(
    ("section", "fields"), [("# Fields of `--query-mem`", MEMORY_FIELDS), ("# Fields of `--query-apps`", APP_FIELDS)]
)
def test_every_field_of_a_query_is_described_with_its_unit_and_no_other(
    section: str, fields: Sequence[Field[Any]]
) -> None:
    text = (DOCS / "tables.md").read_text(encoding="utf-8").split(f"#{section}\n", 1)[1].split("\n#", 1)[0]
    rows = [[cell.strip() for cell in row.split("|")[1:3]] for row in re.findall(r"^\| `.*$", text, flags=re.MULTILINE)]

    assert [(re.findall(r"`([^`]+)`", names), unit) for names, unit in rows] == [
        ([field.name, *field.aliases], field.unit) for field in fields
    ]
