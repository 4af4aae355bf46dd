"""Promise: `ttmem --help` costs at most 60 ms of CPU and a one-shot `ttmem ps` 150 ms.

The table shows three reporting processes on six chips. The baseline is this Python starting and doing nothing.
"""

import os
import statistics
import sys
from collections.abc import Iterator

from benchmarks.figures.rows import Row, row
from benchmarks.stage.actors import ActorFailed, puppet
from benchmarks.stage.setting import Setting

TTMEM = (sys.executable, "-m", "ttmem")


def measure(setting: Setting) -> Iterator[Row]:
    repeats = setting.repeats(15, 2)
    with (
        setting.fresh_directory() as own,
        puppet(own, 1_000),
        puppet(own, 1_000, "handle"),
        puppet(own, 1_000, chip_count=4),
    ):
        # As an installed program runs: its bytecode written at the first start, and found at the next.
        environment = own.environment(TTMEM="0", PYTHONPYCACHEPREFIX=str(own.directory / "bytecode"))
        environment.pop("PYTHONDONTWRITEBYTECODE", None)

        def cpu_ms(command: tuple[str, ...]) -> float:
            _cpu_ms(command, environment)
            return statistics.median(_cpu_ms(command, environment) for _ in range(repeats))

        bare = cpu_ms((sys.executable, "-c", ""))
        yield row("ttmem --help", cpu_ms((*TTMEM, "--help")), "ms CPU", target="<= 60", baseline=bare)
        yield row("ttmem ps", cpu_ms((*TTMEM, "ps")), "ms CPU", target="<= 150", baseline=bare)
        yield row("ttmem -s", cpu_ms((*TTMEM, "-s")), "ms CPU", target="<= 150", baseline=bare)


def _cpu_ms(command: tuple[str, ...], environment: dict[str, str]) -> float:
    """User and system time of one run, its output thrown away."""
    discard = os.open(os.devnull, os.O_WRONLY)
    try:
        pid = os.posix_spawn(command[0], command, environment, file_actions=[(os.POSIX_SPAWN_DUP2, discard, 1)])
    finally:
        os.close(discard)
    _, status, usage = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise ActorFailed(f"{' '.join(command)} ended with status {os.waitstatus_to_exitcode(status)}")
    return 1e3 * (usage.ru_utime + usage.ru_stime)
