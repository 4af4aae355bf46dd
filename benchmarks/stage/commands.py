"""What a whole command takes: CPU time, and memory at the most."""

import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.stage.setting import Setting

# A process has its parent's memory until it becomes the command, and the kernel counts that: the parent is small.
_MEASURED = """
import json, os, sys
null = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
_, status, used = os.wait4(os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=[null]), 0)
print(json.dumps([os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss]))
"""


class Cost(NamedTuple):
    seconds: float  # of CPU
    resident_bytes: int


def cost_of(setting: Setting, command: Sequence[str], *, times: int = 5) -> Cost:
    """The median of some runs, and the most memory of all."""
    costs = [_once(setting, command) for _ in range(setting.repeats(times))]
    return Cost(statistics.median(one.seconds for one in costs), max(one.resident_bytes for one in costs))


def _once(setting: Setting, command: Sequence[str]) -> Cost:
    measured = [sys.executable, "-S", "-c", _MEASURED, *command]
    environ = setting.environment(TTMEM="0")
    done = subprocess.run(measured, env=environ, stdout=subprocess.PIPE, check=True, text=True)
    code, seconds, kilobytes = json.loads(done.stdout)
    if code != 0:
        raise RuntimeError(f"{' '.join(command)} ended with status {code}")
    return Cost(seconds, kilobytes * 1024)
