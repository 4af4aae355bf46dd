"""What /proc tells, asked about real processes."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ttmem.sources import procfs
from ttmem.sources.namespaces import MountNamespaces
from ttmem.sources.procfs import read_host, user_name


def test_a_process_has_a_parent_and_a_start() -> None:
    stat = procfs.stat_of(os.getpid())

    assert stat is not None
    assert stat.parent == os.getppid()
    assert stat.start_ticks > 0


def test_a_command_with_brackets_and_blanks_does_not_confuse(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    fields = " ".join(str(number) for number in range(4, 53))
    (tmp_path / "7" / "stat").write_text(f"7 (a) b ) R 1 {fields}\n")

    assert procfs.stat_of(7, tmp_path) == procfs.Stat(
        parent=1, start_ticks=21, state="R", cpu_ticks=13 + 14, resident_pages=23
    )


def test_a_process_that_is_not_there_has_no_stat() -> None:
    assert procfs.stat_of(2**22 + 1) is None


def test_descent_is_followed_to_the_top() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert procfs.is_descendant(child.pid, os.getpid())
        assert procfs.is_descendant(child.pid, child.pid)
        assert not procfs.is_descendant(os.getpid(), child.pid)
        child.communicate(b"\n")


def test_a_setting_is_found_in_the_environment_a_process_was_started_with() -> None:
    environ = {**os.environ, "TTMEM_TEST_MARK": "abc"}
    with subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()"], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()  # by then it runs the program and not the fork of this one
        found = procfs.environment_of(child.pid)
        assert found is not None
        assert "TTMEM_TEST_MARK=abc" in found
        child.communicate(b"\n")


def test_a_process_that_is_not_there_has_no_environment() -> None:
    assert procfs.environment_of(2**22 + 1) == set()


def test_the_host_is_the_one_we_run_on() -> None:
    host = read_host()

    assert (host.hostname, host.kernel) == (os.uname().nodename, os.uname().release)


def test_a_uid_without_a_name_is_shown_as_a_number() -> None:
    assert user_name(0) == "root"
    assert user_name(3_999_999_999) == "3999999999"


def in_namespace(proc: Path, pid: int | str, namespace: int) -> None:
    link = proc / str(pid) / "ns" / "mnt"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(f"mnt:[{namespace}]")


def test_of_each_other_mount_namespace_one_process_is_listed(tmp_path: Path) -> None:
    for pid, namespace in (("self", 1), (1, 1), (30, 2), (7, 2), (9, 3)):
        in_namespace(tmp_path, pid, namespace)

    assert MountNamespaces(tmp_path).others() == [7, 9]


def test_a_young_process_that_moves_into_a_container_is_noticed_at_once(tmp_path: Path) -> None:
    in_namespace(tmp_path, "self", 1)
    in_namespace(tmp_path, 7, 1)
    namespaces = MountNamespaces(tmp_path)
    before = namespaces.others()
    in_namespace(tmp_path, 7, 2)

    assert (before, namespaces.others()) == ([], [7])


def test_an_old_process_that_moves_is_noticed_after_a_while(tmp_path: Path) -> None:
    in_namespace(tmp_path, "self", 1)
    in_namespace(tmp_path, 7, 1)
    namespaces = MountNamespaces(tmp_path)
    for _ in range(10):
        namespaces.others()
    in_namespace(tmp_path, 7, 2)

    looks = [namespaces.others() for _ in range(11)]

    assert (looks[0], looks[-1]) == ([], [7])


def test_a_pid_that_is_used_again_is_looked_at_again(tmp_path: Path) -> None:
    in_namespace(tmp_path, "self", 1)
    in_namespace(tmp_path, 7, 1)
    namespaces = MountNamespaces(tmp_path)
    for _ in range(10):
        namespaces.others()
    (tmp_path / "7").rename(tmp_path / "gone")
    namespaces.others()
    in_namespace(tmp_path, 7, 2)

    assert namespaces.others() == [7]


def test_processes_are_listed_only_when_it_is_not_known_which_are_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    last_pid = tmp_path / "sys" / "kernel" / "ns_last_pid"
    last_pid.parent.mkdir(parents=True)
    last_pid.write_text("30\n")
    for pid, namespace in (("self", 1), (1, 1), (7, 2), (30, 2)):
        in_namespace(tmp_path, pid, namespace)
    namespaces = MountNamespaces(tmp_path)
    assert namespaces.others() == [7]
    listed: list[object] = []
    real = os.listdir

    def noted(folder: Path) -> list[str]:
        listed.append(folder)
        return real(folder)

    monkeypatch.setattr(os, "listdir", noted)

    assert [namespaces.others(), listed] == [[7], []]
    in_namespace(tmp_path, 30, 3)  # young, and looked at whether somebody came or not
    assert [namespaces.others(), listed] == [[7, 30], []]
    in_namespace(tmp_path, 33, 4)  # the one before it has ended already
    last_pid.write_text("33\n")
    assert [namespaces.others(), listed] == [[7, 30, 33], []]
    (tmp_path / "7").rename(tmp_path / "gone")
    assert [namespaces.others(), len(listed)] == [[30, 33], 1]
    in_namespace(tmp_path, 5, 4)  # by its own choice, or all pids were used up
    last_pid.write_text("5\n")
    assert [namespaces.others(), len(listed)] == [[5, 30], 2]


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(2, 5), st.integers(0, 3)), min_size=4, max_size=12))
def test_what_is_listed_is_what_a_first_look_would_list(story: list[tuple[int, int]]) -> None:
    """Pids are given away in a circle; 0 ends a process, another number is the namespace it begins in or moves to."""
    with tempfile.TemporaryDirectory() as folder:
        proc = Path(folder)
        (proc / "sys" / "kernel").mkdir(parents=True)
        in_namespace(proc, "self", 1)
        (proc / "sys" / "kernel" / "ns_last_pid").write_text("1\n")
        namespaces = MountNamespaces(proc)
        for pid, namespace in story:
            is_new = not (proc / str(pid)).exists()
            if not namespace:
                shutil.rmtree(proc / str(pid), ignore_errors=True)
            else:
                in_namespace(proc, pid, namespace)
            if namespace and is_new:
                (proc / "sys" / "kernel" / "ns_last_pid").write_text(f"{pid}\n")
            namespaces._young.update(dict.fromkeys(namespaces._known, 2))  # whoever moves is young

            assert namespaces.others() == MountNamespaces(proc).others()
