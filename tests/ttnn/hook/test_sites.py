"""Lines of Python on the stock wheel, in a program that imports nothing of ours: threads, methods, operations."""

import subprocess
import sys

import pytest

from tests.support.ttnn.runtime import _environment, counters_of
from tests.support.ttnn.stock import Stock
from ttmem.sources.inspected.journal import journal_document

# Each tensor lives in a place of its own, so that its buffer is found by its size.
MODEL = """\
import os, sys, threading
import ttnn
device = ttnn.open_device(device_id=0)
kept = []
def tensor(rows):
    kept.append(ttnn.empty([1, 1, rows, 32], ttnn.bfloat16, ttnn.TILE_LAYOUT, device, ttnn.DRAM_MEMORY_CONFIG))
class Attention:
    def forward(self, rows):
        tensor(rows)
def add(rows):
    ones = ttnn.ones([1, 1, rows, 32], dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
    kept.append(ttnn.add(ones, ones))
    kept.append(ones)
tensor(3200)
Attention().forward(6400)
for _ in range(3): Attention().forward(9600)
thread = threading.Thread(target=tensor, args=(12800,)); thread.start(); thread.join()
add(16000)
assert "ttmem" not in sys.modules
os._exit(0)
"""
BYTES_OF_A_ROW = 64


@pytest.fixture(scope="module")
def stacks(stock: Stock, tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[str]]:
    """Rows of a tensor -> the lines behind each of its buffers."""
    place = tmp_path_factory.mktemp("sites")
    environ, chips = _environment(stock, place, "n150", is_slow=False)
    (place / "model.py").write_text(MODEL)
    private = {"TTMEM_DIR": str(place / "journals"), "TTMEM_SYSTEM_DIR": str(place)}
    command = [sys.executable, "-m", "ttmem", "run", "--no-summary", "--", str(stock.python), str(place / "model.py")]
    result = subprocess.run(command, env=environ | private, cwd=place, capture_output=True, text=True)
    for chip in chips:
        counters_of(chip).unlink(missing_ok=True)
    assert result.returncode == 0, result.stderr[-2000:]
    [path] = (place / "journals").glob("*.journal")
    with path.open("rb") as file:
        document = journal_document(str(path), file, 10_000)
    assert document["sites_off"] is None
    found: dict[int, list[str]] = {}
    for entry in document["live"]:
        if entry["kind"] == "buffer" and entry["pool"] == "dram":
            rows = entry["requested_bytes"] // BYTES_OF_A_ROW
            found.setdefault(rows, []).append(entry.get("site_text", ""))
    return found


def lines(text: str) -> list[str]:
    """Without the directories above the file."""
    return [frame.rpartition("/")[2] for frame in text.splitlines()]


def test_a_tensor_names_the_lines_of_the_program_and_none_of_ttnns(stacks: dict[int, list[str]]) -> None:
    assert [lines(text) for text in stacks[3200]] == [["model.py:6 tensor", "model.py:14 <module>"]]
    [text] = stacks[6400]
    forward = "Attention.forward" if "Attention" in text else "forward"  # a Python 3.10 knows no longer name
    assert lines(text) == ["model.py:6 tensor", f"model.py:9 {forward}", "model.py:15 <module>"]


def test_equal_lines_are_one_site(stacks: dict[int, list[str]]) -> None:
    assert len(stacks[9600]) == 3
    assert len(set(stacks[9600])) == 1


def test_a_thread_has_its_own_lines(stacks: dict[int, list[str]]) -> None:
    [text] = stacks[12800]
    assert lines(text)[0] == "model.py:6 tensor"
    assert "<module>" not in text


def test_outputs_of_operations_name_the_line_that_called_them(stacks: dict[int, list[str]]) -> None:
    assert sorted(lines(text)[0] for text in stacks[16000]) == ["model.py:11 add", "model.py:12 add"]
