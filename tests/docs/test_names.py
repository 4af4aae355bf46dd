"""What pages name exists: verbs of the program and of the run script; and the README begins with what matters."""

import re
import subprocess

import pytest
from click.testing import CliRunner

from tests.support.docs.pages import ROOT, pages, text_of
from ttmem.cli.program import program

RUN_HELP = subprocess.run(["sh", str(ROOT / "run"), "help"], capture_output=True, text=True, check=True).stdout
README = text_of("README.md").splitlines()
NAMING = (*pages(), "CONTRIBUTING.md")


def code_of(text: str) -> str:
    """Everything between backticks: blocks and spans."""
    blocks = re.findall(r"^```\w*\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return "\n".join([*blocks, *re.findall(r"`([^`\n]+)`", prose)])


def verbs_after(command: str) -> list[str]:
    code = "\n".join(code_of(text_of(page)) for page in NAMING)
    return sorted(set(re.findall(rf"^(?:\$ )?{re.escape(command)} ([a-z]+)\b", code, re.MULTILINE)))


def test_how_to_install_and_try_it_stands_by_line_15_of_the_readme() -> None:
    assert any(line.startswith("pip install ttmem") for line in README[:15])
    assert any(line.startswith("ttmem demo") for line in README[:15])


def test_the_readme_is_one_screen() -> None:
    assert len(README) <= 45


def test_pages_show_verbs_at_all() -> None:
    assert {"test", "lint"} <= set(verbs_after("./run"))
    assert {"ps", "run", "explain"} <= set(verbs_after("ttmem"))


@pytest.mark.parametrize("verb", verbs_after("./run"))
def test_every_verb_of_the_run_script_exists(verb: str) -> None:
    assert re.search(rf"^  {verb}\b", RUN_HELP, flags=re.MULTILINE)


@pytest.mark.parametrize("verb", verbs_after("ttmem"))
def test_every_verb_of_the_program_exists(verb: str) -> None:
    result = CliRunner().invoke(program, [verb, "--help"])

    assert result.exit_code == 0, result.output
