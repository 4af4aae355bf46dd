"""`ttmem inspect` as a user runs it."""

import json
import subprocess
import sys
from pathlib import Path

SAMPLE = Path(__file__).parents[1] / "data" / "shm" / "special" / "two-b-both-attached.bin"


def inspect(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", "ttmem", "inspect", *arguments], capture_output=True, text=True)


def test_a_file_is_printed_as_one_line_of_json() -> None:
    result = inspect(str(SAMPLE))
    document = json.loads(result.stdout)

    assert (result.returncode, result.stderr, result.stdout.count("\n")) == (0, "", 1)
    assert (document["kind"], [process["pid"] for process in document["processes"]]) == ("region", [31792, 31811])


def test_what_cannot_be_read_is_one_line_and_exit_code_1(tmp_path: Path) -> None:
    result = inspect(str(tmp_path / "none"))

    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert result.stderr.startswith(f"ttmem: {tmp_path}/none: cannot be read")


def test_a_bad_flag_is_exit_code_2() -> None:
    assert inspect("--most", "0", str(SAMPLE)).returncode == 2
