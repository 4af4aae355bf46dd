"""Real processes behind the pids of a region: living, ended, not yet waited for, reused, of another pid namespace."""

import mmap
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.machine.stock_regions import Slot, a_region, put
from tests.support.processes.children import IN_A_CONTAINER, only_child, state_of
from tests.support.processes.permitted import needs_containers
from tests.support.timing.waiting import wait_until
from ttmem.sources.stock_shm.owners import LivingOwners
from ttmem.sources.stock_shm.region import CounterSums, ProcessSlot

MAPPING = """\
import mmap, os, sys
file = os.open(sys.argv[1], os.O_RDWR)
mapped = mmap.mmap(file, 0)
print(os.getpid(), flush=True)
sys.stdin.read()
"""
FOREVER = CounterSums()


@pytest.fixture
def region(tmp_path: Path) -> Path:
    return put(tmp_path, 5, a_region(Slot(1)))


@contextmanager
def an_attached_process(region: Path, prefix: Sequence[str] = ()) -> Iterator["subprocess.Popen[str]"]:
    """A process that has the region mapped, as the runtime would; `inner_pid` is how it knows itself."""
    command = [*prefix, sys.executable, "-IS", "-c", MAPPING, str(region)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def inner_pid(process: "subprocess.Popen[str]") -> int:
    """Heard once it has mapped the region."""
    assert process.stdout is not None
    return int(process.stdout.readline())


def slot_of(pid: int, last_update_ns: int | None = None) -> ProcessSlot:
    return ProcessSlot(0, pid, "python", FOREVER, time.time_ns() if last_update_ns is None else last_update_ns)


def key_of(region: Path) -> tuple[int, int]:
    facts = region.stat()
    return facts.st_dev, facts.st_ino


def test_a_process_that_has_the_region_mapped_lives(region: Path) -> None:
    with an_attached_process(region) as process:
        pid = inner_pid(process)
        owner = LivingOwners().owner_of(key_of(region), os.geteuid(), slot_of(pid))

    assert owner is not None
    assert (owner.pid, owner.uid, owner.container) == (pid, os.geteuid(), None)
    assert owner.command.startswith(sys.executable)
    assert abs(owner.start_time_ns - time.time_ns()) < 60_000_000_000


def test_a_stamp_from_before_its_start_matters_not_if_it_has_the_region_mapped(region: Path) -> None:
    with an_attached_process(region) as process:
        assert LivingOwners().owner_of(key_of(region), os.geteuid(), slot_of(inner_pid(process), 1))


def test_a_process_that_was_killed_is_gone(region: Path) -> None:
    owners = LivingOwners()
    with an_attached_process(region) as process:
        pid = inner_pid(process)
        slot = slot_of(pid)
        assert owners.owner_of(key_of(region), os.geteuid(), slot)
    owners.begin()

    assert owners.owner_of(key_of(region), os.geteuid(), slot) is None


def test_a_zombie_is_gone(region: Path) -> None:
    with an_attached_process(region) as process:
        pid = inner_pid(process)
        process.kill()
        wait_until(lambda: state_of(pid) == "Z")

        assert LivingOwners().owner_of(key_of(region), os.geteuid(), slot_of(pid)) is None
        assert LivingOwners(has_mappings=False).owner_of(key_of(region), os.geteuid(), slot_of(pid)) is None


def test_a_living_process_without_the_region_is_another_one(region: Path) -> None:
    assert LivingOwners().owner_of(key_of(region), os.geteuid(), slot_of(os.getpid())) is None


def test_of_a_copied_region_pid_and_start_decide(region: Path) -> None:
    owners = LivingOwners(has_mappings=False)

    assert owners.owner_of(key_of(region), os.geteuid(), slot_of(os.getpid()))
    assert owners.owner_of(key_of(region), os.geteuid(), slot_of(os.getpid(), 1)) is None, "the pid was given out again"


def test_a_process_of_a_user_who_may_not_open_the_region_is_another_one(region: Path) -> None:
    owners = LivingOwners(has_mappings=False)
    is_root = os.geteuid() == 0

    assert bool(owners.owner_of(key_of(region), os.geteuid() + 1, slot_of(os.getpid()))) == is_root


def test_a_thread_of_the_kernel_uses_no_device(region: Path) -> None:
    assert LivingOwners(has_mappings=False).owner_of(key_of(region), 0, slot_of(2)) is None


def test_every_process_that_has_the_region_mapped_is_found_without_a_slot(region: Path) -> None:
    owners = LivingOwners()
    with an_attached_process(region) as process, open(region, "r+b") as file, mmap.mmap(file.fileno(), 0):
        pid = inner_pid(process)

        assert sorted(owner.pid for owner in owners.attached_to(key_of(region))) == sorted([pid, os.getpid()])
    owners.begin()
    assert pid not in [owner.pid for owner in owners.attached_to(key_of(region))]


@needs_containers
def test_a_process_of_another_namespace_is_found_by_the_pid_it_has_there(region: Path) -> None:
    owners = LivingOwners()
    with an_attached_process(region, (*IN_A_CONTAINER, "sh", "-c", '"$@"; true', "sh")) as process:
        inner = inner_pid(process)
        outer = only_child(only_child(process.pid))
        owner = owners.owner_of(key_of(region), os.geteuid(), slot_of(inner))

        assert inner != outer
        assert owner is not None
        assert owner.pid == outer
        assert owner.container not in (None, os.stat("/proc/self/ns/pid").st_ino)
        slot = slot_of(inner)
    wait_until(lambda: not Path(f"/proc/{outer}").exists())
    owners.begin()

    assert owners.owner_of(key_of(region), os.geteuid(), slot) is None
