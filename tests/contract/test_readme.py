"""What the README shows works: the two commands come first, every verb exists, every example runs."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from ttmem.cli.program import program as main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
RUN_HELP = subprocess.run(["sh", str(ROOT / "run"), "help"], capture_output=True, text=True, check=True).stdout


def code_of(text: str) -> str:
    """Everything between backticks: blocks and spans."""
    blocks = re.findall(r"^```\w*\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return "\n".join([*blocks, *re.findall(r"`([^`\n]+)`", prose)])


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)


def verbs_after(command: str) -> list[str]:
    return sorted(set(re.findall(rf"(?:^|[\s;|&]){re.escape(command)} ([a-z]+)\b", code_of(README), re.MULTILINE)))


def test_the_two_commands_stand_by_line_15() -> None:
    first_screen = README.splitlines()[:15]

    assert any(line.startswith("./run demo") for line in first_screen)
    assert any(line.startswith("./run test") for line in first_screen)


def test_the_readme_shows_verbs_at_all() -> None:
    assert {"demo", "test", "ttmem"} <= set(verbs_after("./run"))
    assert {"ps", "run"} <= set(verbs_after("ttmem"))


@pytest.mark.parametrize("verb", verbs_after("./run"))
def test_every_verb_of_the_run_script_exists(verb: str) -> None:
    assert re.search(rf"^  {verb}\b", RUN_HELP, flags=re.MULTILINE)


@pytest.mark.parametrize("verb", verbs_after("ttmem"))
def test_every_verb_of_the_program_exists(verb: str) -> None:
    result = CliRunner().invoke(main, [verb, "--help"])

    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#:]+)\)", README))
def test_every_link_leads_to_a_file(link: str) -> None:
    assert (ROOT / link).exists()


@pytest.mark.parametrize("source", blocks("python"))
def test_every_python_example_runs(source: str, tmp_path: Path) -> None:
    environment = {**os.environ, "TTMEM": "1", "TTMEM_DIR": str(tmp_path)}

    ended = subprocess.run([sys.executable, "-c", source], env=environment, capture_output=True, text=True)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout or list(tmp_path.glob("*.journal"))


def test_the_cpp_example_compiles_without_a_warning(tmp_path: Path) -> None:
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    assert compiler, "the core was built, so there is a compiler"
    source = tmp_path / "example.cpp"
    [example] = blocks("cpp")
    source.write_text(example)
    strictly = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'native/include'}"]

    ended = subprocess.run([*compiler.split(), *strictly, str(source)], capture_output=True, text=True)

    assert (ended.returncode, ended.stderr) == (0, "")
