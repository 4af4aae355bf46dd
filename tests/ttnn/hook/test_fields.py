"""The getters of a buffer in the wheel are of the kind that need not be called: the hook reads what they load."""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

from tests.support.ttnn.stock import Stock

NATIVE = Path(__file__).parents[3] / "native"
NAMES = ("id", "size", "page_size", "device", "type", "layout", "address", "allocator")  # as read_getters takes them

READER = """
#include "hook/fields.cpp"
extern "C" int are_read(const void* const* of) {
    ttmem::hook::BufferFields fields{};
    ttmem::hook::read_getters({of[0], of[1], of[2], of[3], of[4], of[5], of[6], of[7]}, fields);
    return fields.state.load() == ttmem::hook::FieldsState::read;
}
"""

# In the wheel's own Python; the last time one getter is not what it should be.
ASKED = """
import ctypes, json, sys
metal, reader = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(sys.argv[2])
places = [ctypes.cast(getattr(metal, name), ctypes.c_void_p).value for name in json.loads(sys.argv[3])]
ask = lambda places: reader.are_read((ctypes.c_void_p * len(places))(*places))
print(json.dumps([ask(places), ask([places[1], *places[1:-1], places[0]])]))
"""


def exported(name: str) -> str:
    """The runtime's name of a getter."""
    [found] = re.findall(rf'TTMEM_GETTER\(buffer_{name}, "(\w+)"', (NATIVE / "hook" / "getters.def").read_text())
    return str(found)


def test_the_hook_reads_them(stock: Stock, tmp_path: Path) -> None:
    library = tmp_path / "reader.so"
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    command = [*compiler, "-std=c++20", "-O1", "-shared", "-fPIC", "-x", "c++", "-", f"-I{NATIVE}", "-o", str(library)]
    subprocess.run(command, input=READER, text=True, check=True, capture_output=True)

    names = json.dumps([exported(name) for name in NAMES])
    asked = [str(stock.python), "-c", ASKED, str(stock.metal_library), str(library), names]
    answer = subprocess.run(asked, check=True, capture_output=True, text=True).stdout

    assert json.loads(answer) == [1, 0]
