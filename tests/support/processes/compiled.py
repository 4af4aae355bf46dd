"""Small C programs and libraries for tests, compiled when they are needed."""

import os
import shlex
import subprocess
from pathlib import Path

GREETING = """
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    const char* preload = getenv("LD_PRELOAD");
    printf("preload: %s\\n", preload ? preload : "none");
    return 3;
}
"""


def compiled(made: Path, source: str, *options: str) -> Path:
    """A program or library made of one C source; its directory must be the test's own."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    command = [*compiler, "-x", "c", "-", "-x", "none", "-o", str(made), *options]
    subprocess.run(command, input=source, text=True, check=True, capture_output=True)
    return made
