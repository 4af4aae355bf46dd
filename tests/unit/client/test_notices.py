"""What reporting says goes to stderr, and nowhere else."""

import subprocess
from pathlib import Path

from tests.support.processes.programs import command_of, tracked


def test_without_stderr_nothing_is_written_into_the_programs_own_file(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    journals = tmp_path / "journals"
    journals.mkdir(mode=0o700)
    environ = tracked(journals, TT_METAL_KERNEL_BACKTRACE="1")
    shell = ["sh", "-c", 'exec "$@" 2>&-', "sh", *command_of("client.without_stderr", str(victim))]

    done = subprocess.run(shell, env=environ, stdout=subprocess.PIPE, text=True, check=True)

    assert done.stdout == "done\n"
    assert victim.read_text() == ""
