"""Installed without its dependencies, a command says what it lacks in one line; `import ttmem` lacks nothing."""

import subprocess
import sys

import pytest

ENTRY = """
import sys
sys.modules[sys.argv.pop(1)] = None
import ttmem
assert ttmem.memory_allocated() == 0
from ttmem.cli import main
main()
"""


@pytest.mark.parametrize(
    ("package", "verb"), [("click", "ps"), ("uvicorn", "serve"), ("starlette", "serve"), ("msgspec", "serve")]
)
def test_a_command_that_lacks_a_package_names_it(package: str, verb: str) -> None:
    done = subprocess.run([sys.executable, "-c", ENTRY, package, verb], capture_output=True, text=True)

    assert done.returncode == 1
    assert done.stderr.startswith(f"ttmem: {package} is not installed in this Python, and this command needs it; ")
    assert done.stderr.count("\n") == 1


def test_help_needs_none_of_them() -> None:
    done = subprocess.run([sys.executable, "-c", ENTRY, "click", "--help"], capture_output=True, text=True, check=True)

    assert "ttmem [VERB]" in done.stdout
