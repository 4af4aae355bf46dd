"""The runtime's counters in a container with shared memory of its own: root sees them, and whose they are."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes.children import IN_A_CONTAINER, only_child
from tests.support.processes.permitted import needs_containers, needs_mounts
from tests.support.timing.waiting import wait_until
from ttmem.devices import Pool
from ttmem.snapshot import ReadChip
from ttmem.sources import Places
from ttmem.sources.stock_shm.regions import StockCounters

ROOT = Path(__file__).parents[2]
INSIDE = """\
import mmap, os, subprocess, sys, time
from pathlib import Path
from tests.support.machine.stock_regions import Slot, a_region, put
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", "/dev/shm"], check=True)
region = put(Path("/dev/shm"), int(sys.argv[1]), a_region(Slot(os.getpid(), (4096, 0, 0, 0, 0), time.time_ns())))
mapped = mmap.mmap(os.open(region, os.O_RDWR), 0)
print(os.getpid(), flush=True)
sys.stdin.read()
"""


@needs_containers
@needs_mounts
@pytest.mark.skipif(os.geteuid() != 0, reason="only root looks into containers")
def test_root_sees_the_counters_of_a_container_from_outside() -> None:
    chip = random.SystemRandom().randrange(1 << 60)
    places = Places.from_environment({}, uid=0)
    counters = StockCounters(places.stock_listed)

    def seen() -> list[ReadChip]:
        return [one for one in counters.read().chips if one.unique_id == chip]

    command = [*IN_A_CONTAINER, "--mount", sys.executable, "-c", INSIDE, str(chip)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            inner = int(process.stdout.readline())
            [found] = wait_until(seen)
            [owner] = found.processes

            assert (owner.pid, owner.used[Pool.DRAM]) == (only_child(process.pid), 4096)
            assert (inner, owner.container != os.stat("/proc/self/ns/pid").st_ino) == (1, True)
        finally:
            process.kill()
    wait_until(lambda: not seen())
