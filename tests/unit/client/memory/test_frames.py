"""Frames are found in every Python that a workload may run on: the one file that depends on the version, by itself."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.support.pythons import VERSIONS, include_of, python_of

ROOT = Path(__file__).parents[4]
# The calls give the interpreter lock away, as the stock runtime's do.
PROGRAM = """\
import ctypes, sys, threading

class Frame(ctypes.Structure):
    _fields_ = [("code", ctypes.c_void_p), ("identity", ctypes.c_uint64), ("instruction", ctypes.c_int)]

library = ctypes.CDLL(sys.argv[1])
library.ttmem_frame_text.restype = ctypes.c_size_t

def stack(most=16, room=500):
    frames, text = (Frame * 16)(), ctypes.create_string_buffer(room)
    texts = []
    for at in range(library.ttmem_python_frames(frames, most)):
        size = library.ttmem_frame_text(ctypes.byref(frames[at]), text, room)
        texts.append(text.raw[:size].decode())
    return texts, [(frame.identity, frame.instruction) for frame in frames]

class Model:
    def forward(self, depth):
        if depth:
            return self.forward(depth - 1)
        return next(self.tokens())

    def tokens(self):
        yield stack()

texts, marks = Model().forward(2)
for text in texts:
    print(text.rpartition("/")[2])
print(stack(3, 500)[0] == stack()[0][:3], stack(0)[0], stack(1, 20)[0])

def again():
    return stack()[1][1]

print(again() == again(), again() == marks[1])
kept = []
thread = threading.Thread(target=lambda: kept.append(stack()[0]))
thread.start()
thread.join()
print([text.split()[-1].rpartition(".")[2] for text in kept[0]][:2])
"""
TOLD = """\
model.py:12 stack
model.py:24 {Model.}tokens
model.py:21 {Model.}forward
model.py:20 {Model.}forward
model.py:20 {Model.}forward
model.py:26 <module>
True [] ['']
True False
['stack', '<lambda>']
"""


def built(version: str, directory: Path) -> tuple[str, Path]:
    python = python_of(version)
    if python is None:
        pytest.skip(f"no Python {version} with its headers is on this machine")
    library = directory / f"frames-{version}.so"
    compiler = shlex.split(os.environ.get("CC", "cc"))
    flags = ["-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'native'}", "-isystem"]
    source = str(ROOT / "native" / "python" / "frames.c")
    subprocess.run([*compiler, *flags, str(include_of(python)), source, "-o", str(library)], check=True)
    return python, library


@pytest.mark.parametrize("version", VERSIONS)
def test_a_thread_reads_its_own_frames_without_the_lock(version: str, tmp_path: Path) -> None:
    python, library = built(version, tmp_path)
    script = tmp_path / "model.py"
    script.write_text(PROGRAM, encoding="utf-8")

    done = subprocess.run([python, str(script), str(library)], capture_output=True, text=True, timeout=30)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == TOLD.replace("{Model.}", "" if version == "3.10" else "Model.")
