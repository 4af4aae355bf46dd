"""What this machine lets tests do; what it does not is skipped, and said so."""

import subprocess

import pytest

from tests.support.processes.children import IN_A_CONTAINER


def _works(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def needs(what: str, *command: str) -> pytest.MarkDecorator:
    """A mark that skips where a command does not work."""
    return pytest.mark.skipif(not _works(*command), reason=f"NOT TESTED: {what} is not permitted here")


needs_containers = needs("making a pid namespace", *IN_A_CONTAINER, "true")
needs_chosen_pids = needs(
    "choosing the next pid", *IN_A_CONTAINER, "sh", "-c", "echo 100 >/proc/sys/kernel/ns_last_pid"
)
needs_mounts = needs(
    "mounting a file system", "unshare", "--mount", "sh", "-c", "mount -t tmpfs -o size=64k none /dev/shm"
)
