"""A package has the client once: the Python module opens the library for C and C++ hosts beside it, by its path."""

import shutil
import subprocess
import sys
from pathlib import Path

from ttmem import _native

MODULE = Path(_native.__file__)
LOAD = """\
import importlib.machinery, importlib.util, sys
loader = importlib.machinery.ExtensionFileLoader("_native", sys.argv[1])
loader.exec_module(importlib.util.module_from_spec(importlib.util.spec_from_loader("_native", loader)))
"""


def loaded(module: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", LOAD, str(module)], capture_output=True, text=True)


def moved(place: Path) -> Path:
    """The module alone, elsewhere."""
    return Path(shutil.copy(MODULE, place / MODULE.name))


def test_a_module_without_its_library_names_what_is_missing(tmp_path: Path) -> None:
    ran = loaded(moved(tmp_path))

    assert f"ImportError: {tmp_path}/lib/libttmem_client.so" in ran.stderr
    assert "cannot open shared object file" in ran.stderr


def test_a_module_opens_the_library_beside_it_and_no_other(tmp_path: Path) -> None:
    module = moved(tmp_path)
    shutil.copytree(MODULE.parent / "lib", tmp_path / "lib")

    assert loaded(module).returncode == 0


def test_a_library_of_another_version_is_refused_with_what_to_do(tmp_path: Path) -> None:
    module = moved(tmp_path)
    (tmp_path / "lib").mkdir()
    [library] = (MODULE.parent / "lib").glob("libttmem_client.so.?")
    shutil.copy(MODULE.parent / "lib" / "libttmem_hook.so", tmp_path / "lib" / library.name)

    assert f"{tmp_path}/lib/{library.name} is of another version; install ttmem again" in loaded(module).stderr
