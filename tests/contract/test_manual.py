"""docs/man/ttmem.1 is the manual of the program as it is: every verb and flag, and nothing that man complains about.

After a change of a flag: UPDATE_GOLDEN=1 ./run test tests/contract/test_manual.py, then read the difference.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from ttmem.cli import HELP, VERBS
from ttmem.cli.manual import manual
from ttmem.cli.program import program

PAGE = Path(__file__).parents[2] / "docs" / "man" / "ttmem.1"


def test_the_page_is_that_of_the_program() -> None:
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(manual(), encoding="utf-8")

    assert PAGE.read_text(encoding="utf-8") == manual()


def test_every_flag_of_every_verb_is_in_it() -> None:
    text = PAGE.read_text(encoding="utf-8").replace("\\-", "-")
    for verb in VERBS:
        command = program.get_command(click.Context(program), verb)
        assert command is not None
        part = re.split(r"^\.S[SH] ", text.split(f'.SS "ttmem {verb} ', 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
        for option in (one for one in command.params if isinstance(one, click.Option) and not one.hidden):
            for flag in option.opts:
                assert re.search(rf"{re.escape(flag)}\b", part), (verb, flag)


def test_exit_codes_are_those_that_help_names() -> None:
    text = PAGE.read_text(encoding="utf-8").split(".SH EXIT STATUS", 1)[1].split(".SH", 1)[0]
    named = set(re.findall(r"\b(\d+) [a-z]", HELP.split("Exit codes:", 1)[1]))

    assert set(re.findall(r"\\fB(\d+)\\fR", text)) == named == {"0", "1", "2", "3", "4", "5", "130"}


@pytest.mark.skipif(not shutil.which("groff"), reason="NO groff HERE: the manual was not tried (Debian: groff)")
def test_man_reports_no_error() -> None:
    result = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", str(PAGE)], capture_output=True, text=True, check=True, errors="replace"
    )

    assert result.stderr == ""
    assert "TTMEM(1)" in result.stdout
