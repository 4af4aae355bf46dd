"""Python and the native client understand the words that turn tracking on in the same way."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ttmem.switches import is_tracking_asked_for

OFF = ["", "0", "off", "OFF", "Off", "false", "False", "FALSE", "no", "No", "NO"]
ON = ["1", "on", "true", "yes", "2", "00", "offline", " "]
PROBE = """
import json, os, sys
from ttmem import _native
answers = []
for settings in json.load(sys.stdin):
    for name in ("TTMEM", "TT_ALLOC_TRACKING_ENABLED"):
        os.environ.pop(name, None)
    os.environ.update(settings)
    answers.append(_native.client.is_enabled())
print(json.dumps(answers))
"""


def settings_to_try() -> list[dict[str, str]]:
    ours = [{"TTMEM": word} for word in OFF + ON]
    theirs = [{"TT_ALLOC_TRACKING_ENABLED": word} for word in OFF + ON]
    return [{}, *ours, *theirs, *({**one, "TT_ALLOC_TRACKING_ENABLED": "1"} for one in ours)]


@pytest.mark.parametrize(("words", "is_on"), [(OFF, False), (ON, True)])
def test_off_words_are_off_and_all_others_on(words: list[str], is_on: bool) -> None:
    assert {word: is_tracking_asked_for({"TTMEM": word}) for word in words} == dict.fromkeys(words, is_on)


def test_the_native_client_decides_as_python_does() -> None:
    tried = settings_to_try()
    made = subprocess.run(
        [sys.executable, "-c", PROBE], input=json.dumps(tried), capture_output=True, text=True, check=True
    )

    answers = json.loads(made.stdout)
    assert [
        (one, answer) for one, answer in zip(tried, answers, strict=True) if answer != is_tracking_asked_for(one)
    ] == []


@pytest.mark.parametrize("word", ["off", "0"])
def test_a_program_under_ttmem_run_is_not_tracked_when_the_switch_is_off(word: str, tmp_path: Path) -> None:
    reporting = "import os, ttmem; print(ttmem.open_device(5), os.environ.get('LD_PRELOAD'))"
    command = [sys.executable, "-m", "ttmem", "run", "--summary", "--", sys.executable, "-c", reporting]
    environ = {**os.environ, "TTMEM": word, "TTMEM_DIR": str(tmp_path)}
    made = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)

    assert made.stdout == "0 None\n"
    assert made.stderr == f"ttmem: TTMEM={word} is set: the program runs untracked; unset it, or set TTMEM=1\n"
    assert list(tmp_path.iterdir()) == []
