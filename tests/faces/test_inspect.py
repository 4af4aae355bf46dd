"""`ttmem inspect` as a user runs it."""

import json
from pathlib import Path

import pytest

from ttmem.cli.program import run_program

SAMPLE = Path(__file__).parents[1] / "data" / "shm" / "special" / "two-b-both-attached.bin"


def test_a_file_is_printed_as_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    code = run_program(["inspect", str(SAMPLE)])
    said = capsys.readouterr()
    document = json.loads(said.out)

    assert (code, said.err, said.out.count("\n")) == (0, "", 1)
    assert (document["kind"], [process["pid"] for process in document["processes"]]) == ("region", [31792, 31811])


def test_what_is_not_there_is_one_line_and_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run_program(["inspect", str(tmp_path / "none")])
    said = capsys.readouterr()

    assert (code, said.out, said.err.count("\n")) == (2, "", 1)
    assert said.err.startswith(f"ttmem: {tmp_path}/none: cannot be read")


def test_a_file_of_another_user_is_no_bad_flag(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it may be read is found out by opening it, which root may always do: here the asking says no."""
    monkeypatch.setattr("os.access", lambda path, mode: False)

    assert run_program(["inspect", str(SAMPLE)]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "region"


def test_a_bad_flag_is_exit_code_2() -> None:
    assert run_program(["inspect", "--most", "0", str(SAMPLE)]) == 2
