"""The monitor with the oldest and the newest release of textual that pyproject.toml allows, each in a directory of its
own: what is tested with the installed one holds with these, too."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LOW, HIGH = re.findall(r'"textual>=([\d.]+),<([\d.]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))[0]
TESTS = (
    *(f"tests/unit/monitor/test_{name}.py" for name in ("app", "canvas", "driver")),
    "tests/faces/test_top.py",
    "tests/contract/test_foreign_names.py",
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def installed(requirement: str, directory: Path) -> dict[str, str]:
    """An environment in which that release is found first."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(directory), requirement]
    result = subprocess.run(pip, capture_output=True, text=True)
    if result.returncode != 0:
        pytest.skip(f"NO {requirement} TO BE HAD, the monitor is not tested with it: {result.stderr.strip()[-200:]}")
    return {**os.environ, "PYTHONPATH": str(directory)}


@pytest.mark.parametrize(("requirement", "version"), [(f"textual=={LOW}", rf"{LOW}\."), (f"textual<{HIGH}", r"\d+\.")])
def test_it_is_drawn_obeys_keys_and_ends_with_every_release(requirement: str, version: str, tmp_path: Path) -> None:
    environ = installed(requirement, tmp_path)
    which = [sys.executable, "-c", "import textual; print(textual.__version__, textual.__file__)"]
    found = subprocess.run(which, env=environ, capture_output=True, text=True, check=True).stdout

    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-m", "not slow", *TESTS],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
    )

    assert re.match(rf"{version}.*{re.escape(str(tmp_path))}", found), found
    assert tests.returncode == 0, f"with textual {found}{tests.stdout[-4000:]}"
