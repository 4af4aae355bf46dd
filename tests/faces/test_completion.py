"""Completion in a shell: verbs, flags with and without a verb, names of fields; and asked for by a real bash."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ttmem.cli import VERBS
from ttmem.cli.completion import SHELLS, completions
from ttmem.cli.program import run_program, run_tt_smi_umd

BIN = Path(sys.executable).parent


def offered(*words: str) -> set[str]:
    """What is offered for the last word of a line."""
    return {item.value for item in completions(list(words[:-1]), words[-1])}


def test_a_line_begins_with_a_verb() -> None:
    assert offered("") == set(VERBS)
    assert offered("d") == {"diff", "dump", "doctor", "demo"}


def test_a_verb_is_followed_by_its_flags() -> None:
    assert offered("fit", "--l1") == {"--l1-per-core"}
    assert offered("check", "--max-") == {"--max-dram", "--max-l1", "--max-core", "--max-growth", "--max-incidents"}


def test_without_a_verb_the_flags_are_those_of_ps_and_top() -> None:
    assert {"--query-mem", "--query-apps", "--query"} <= offered("--qu")
    assert {"-ls", "-lms", "-l"} <= offered("-l")
    assert "--readonly" in offered("--rea")
    assert "--format" in offered("-i", "0", "--fo")


def test_fields_are_offered_after_a_comma_too() -> None:
    assert {"dram.used", "dram.free"} <= offered("--query-mem", "dram.")
    assert "index,l1.peak_core" in offered("ps", "--query-mem", "index,l1.p")
    assert offered("--query-apps", "pid,use") == {"pid,user", "pid,used_memory", "pid,used_gpu_memory"}
    assert "l1_small" in offered("ps", "--sort", "l1")
    assert "MEMORY,PIDS" in offered("-d", "MEMORY,P")


def test_the_older_name_has_flags_of_its_own_and_all_others() -> None:
    def offered_there(*words: str) -> set[str]:
        return {item.value for item in completions(list(words[:-1]), words[-1], "tt_smi_umd")}

    assert {"--sysfs", "--watch", "-r", "--query-mem", "--readonly", "-s"} <= offered_there("-")
    assert offered_there("--query-mem", "dram.us") == {"dram.used"}
    assert offered_there("--sys") == {"--sysfs"}
    assert not set(VERBS) & offered_there("")


@pytest.mark.parametrize("name", ["ttmem", "tt_smi_umd"])
@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_gets_its_script(shell: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_program if name == "ttmem" else run_tt_smi_umd

    assert run(["--completion", shell]) == 0
    assert f"_{name.upper()}_COMPLETE={shell}_complete" in capsys.readouterr().out


def test_another_shell_is_refused() -> None:
    result = subprocess.run([BIN / "ttmem", "--completion", "csh"], capture_output=True, text=True)

    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("bash"), reason="NO bash HERE: completion was not tried in it")
def test_a_real_bash_completes(tmp_path: Path) -> None:
    script = """
        eval "$(ttmem --completion bash)"
        COMP_WORDS=(ttmem che); COMP_CWORD=1; _ttmem_completion ttmem; echo "${COMPREPLY[@]}"
        eval "$(tt_smi_umd --completion bash)"
        COMPREPLY=(); COMP_WORDS=(tt_smi_umd --sysf); COMP_CWORD=1; _tt_smi_umd_completion tt_smi_umd
        echo "${COMPREPLY[@]}"
        COMPREPLY=(); COMP_WORDS=(ttmem --help-query-m); COMP_CWORD=1; _ttmem_completion ttmem; echo "${COMPREPLY[@]}"
    """
    environ = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "TTMEM_DIR": str(tmp_path)}
    result = subprocess.run(
        ["bash", "--norc", "-c", script], env=environ, capture_output=True, text=True, check=True, cwd=tmp_path
    )

    assert (result.stdout.splitlines(), result.stderr) == (["check", "--sysfs", "--help-query-mem"], "")
