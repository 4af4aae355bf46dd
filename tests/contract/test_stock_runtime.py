"""A machine that cannot run the stock runtime says so in one loud line, with what it lacks, and nothing fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.ttnn import stock

ROOT = Path(__file__).parents[2]


def test_without_a_python_for_the_wheel_one_line_says_so(tmp_path: Path) -> None:
    lacking = "import sys, pathlib; from tests.support.ttnn import stock; stock.HOME = pathlib.Path(sys.argv[1])"
    asked = [sys.executable, "-c", f"{lacking}; sys.exit(stock.main())", str(tmp_path / "ttnn")]
    environment = os.environ | {"PATH": str(tmp_path), "PYENV_ROOT": str(tmp_path), "PYTHONPATH": str(ROOT)}

    answer = subprocess.run(asked, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)

    [line] = answer.stderr.splitlines()
    assert answer.returncode == stock.MISSING_STATUS
    assert line.startswith("NOT COMPARED WITH THE STOCK RUNTIME: ")
    assert "Python 3.12 or 3.10" in line


def test_a_wheel_that_cannot_be_had_is_named_with_the_last_words_of_the_installer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stock, "HOME", tmp_path / "home")
    python = tmp_path / "python3.12"
    python.write_text("#!/bin/sh\ncase $* in *venv\\ --clear*) echo no disk; exit 1;; esac; echo 3.12\n")
    python.chmod(0o755)

    with pytest.raises(stock.NotThere, match=r"ttnn 0\.81\.1 cannot be installed here; .* ends with: no disk"):
        stock.install(str(python), stock.RELEASE, tmp_path / "home")


def test_a_wheel_that_was_not_installed_is_not_looked_for_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stock, "HOME", tmp_path)

    with pytest.raises(stock.NotThere, match=r"\./run test-ttnn installs it"):
        stock.installed()
