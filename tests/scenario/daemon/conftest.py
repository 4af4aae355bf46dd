"""What stories about the daemon share: a daemon, and a way to start one as somebody else."""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.server.server_serving import Daemon, a_daemon, short_directory

# Another user may not be able to read this Python's files: all are loaded first.
AS_NOBODY = """\
import os, sys
import ttmem.cli.serve, ttmem.cli.program, ttmem.daemon.daemon
import encodings.ascii, encodings.idna, encodings.latin_1
import uvicorn.lifespan.off, uvicorn.loops.asyncio, uvicorn.protocols.http.h11_impl
os.setgroups([int(group) for group in os.environ.get("TEST_GROUPS", "").split()])
os.setgid(65534)
os.setuid(65534)
from ttmem.cli import main
main(["serve", *sys.argv[1:]])
"""


@pytest.fixture
def directory() -> Iterator[Path]:
    with short_directory() as place:
        yield place


@pytest.fixture
def daemon(directory: Path) -> Iterator[Daemon]:
    with a_daemon("--log-events", directory=directory) as one:
        yield one


@pytest.fixture
def as_nobody() -> Sequence[str]:
    """The start of a command that serves as the user nobody."""
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED: only root can become another user")
    return (sys.executable, "-c", AS_NOBODY)
