"""Whose child a process is: asked of the kernel now and then, and given at once."""

import os
from pathlib import Path

from ttmem.collector.rows.snapshots import Parents


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def tell(proc: Path, pid: int, parent: int) -> None:
    (proc / str(pid)).mkdir(exist_ok=True)
    (proc / str(pid) / "stat").write_text(f"{pid} (a) b) S {parent} " + "0 " * 17 + "5 0")


def test_our_own_parent_is_known() -> None:
    assert Parents().parent_of(os.getpid(), None) == os.getppid()


def test_a_process_that_is_gone_has_none(tmp_path: Path) -> None:
    assert Parents(tmp_path).parent_of(7, None) is None


def test_what_was_found_is_good_for_a_few_seconds_then_asked_again(tmp_path: Path) -> None:
    clock = Clock()
    parents = Parents(tmp_path, clock=clock)
    tell(tmp_path, 7, parent=3)
    assert parents.parent_of(7, 100) == 3

    tell(tmp_path, 7, parent=1)  # its parent has ended
    clock.now = 4.9
    assert parents.parent_of(7, 100) == 3
    clock.now = 5.1
    assert parents.parent_of(7, 100) == 1


def test_a_pid_that_is_used_again_is_another_process(tmp_path: Path) -> None:
    parents = Parents(tmp_path)
    tell(tmp_path, 7, parent=3)
    assert parents.parent_of(7, 100) == 3
    tell(tmp_path, 7, parent=4)

    assert parents.parent_of(7, 200) == 4
