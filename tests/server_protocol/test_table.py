"""The table of faults in README.md is true: every fault is in it, and every test that it names exists."""

import re
from pathlib import Path

HERE = Path(__file__).parent
DAEMON = HERE.parent / "scenario" / "daemon"  # what the server does as any daemon does is tested there
README = (HERE / "README.md").read_text(encoding="utf-8")
FAULTS = 83


def test_every_test_that_the_table_names_exists() -> None:
    defined = {
        name
        for folder in (HERE, DAEMON)
        for path in folder.rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    }

    assert set(re.findall(r"`(test_\w+)`", README)) - defined == set()


def test_every_documented_fault_has_a_row() -> None:
    numbers: list[int] = []
    for cell in re.findall(r"^\| ([\d, to]+) \|", README, flags=re.MULTILINE):
        first, _, last = cell.partition(" to ")
        numbers += range(int(first), int(last) + 1) if last else [int(part) for part in cell.split(",")]

    assert numbers == list(range(1, FAULTS + 1))
