"""Where journals are looked for: by whom, and in which order."""

import os
import sys
import threading
from pathlib import Path

import pytest

from ttmem.sources import Place, Places, Roots
from ttmem.sources.namespaces import MountNamespaces


def roots_in(folder: Path) -> Roots:
    roots = Roots(shm=str(folder / "shm"), run=str(folder / "run"), proc=str(folder / "proc"))
    for root in (roots.shm, roots.run, roots.proc):
        os.mkdir(root)
    return roots


def a_process_in(proc: Path, pid: int, namespace: str, uid_map: str = "0 0 4294967295\n") -> Path:
    """A made-up process; returns its /dev/shm."""
    (proc / str(pid) / "ns").mkdir(parents=True)
    os.symlink(namespace, proc / str(pid) / "ns" / "mnt")
    (proc / str(pid) / "uid_map").write_text(uid_map)
    shm = proc / str(pid) / "root" / "dev" / "shm"
    shm.mkdir(parents=True)
    return shm


def test_a_directory_of_the_environment_is_the_only_place(tmp_path: Path) -> None:
    roots = roots_in(tmp_path)
    (Path(roots.shm) / "ttmem-5").mkdir()
    environ = {"TTMEM_DIR": "/somewhere", "XDG_RUNTIME_DIR": "/run/user/5"}

    assert Places.from_environment(environ, uid=0, roots=roots).listed() == [Place("/somewhere", None)]


def test_an_empty_setting_is_no_setting(tmp_path: Path) -> None:
    roots = roots_in(tmp_path)
    places = Places.from_environment({"TTMEM_DIR": "", "XDG_RUNTIME_DIR": ""}, uid=5, roots=roots)

    assert places.listed() == [
        Place(str(Path(roots.shm) / "ttmem-5"), 5),
        Place(str(Path(roots.run) / "5" / "ttmem"), 5),
    ]


def test_a_user_looks_into_its_own_places_and_learns_of_others(tmp_path: Path) -> None:
    roots = roots_in(tmp_path)
    for name in ("ttmem-5", "ttmem-7", "ttmem-x", "other-8"):
        (Path(roots.shm) / name).mkdir()
    (Path(roots.run) / "7").mkdir()
    places = Places.from_environment({"XDG_RUNTIME_DIR": "/run/user/5"}, uid=5, roots=roots)

    assert places.listed() == [
        Place(str(Path(roots.shm) / "ttmem-5"), 5),
        Place("/run/user/5/ttmem", 5),
        Place(str(Path(roots.run) / "5" / "ttmem"), 5),
        Place(str(Path(roots.shm) / "ttmem-7"), 7),
    ]


def test_a_runtime_directory_is_listed_once(tmp_path: Path) -> None:
    roots = roots_in(tmp_path)
    places = Places.from_environment({"XDG_RUNTIME_DIR": str(Path(roots.run) / "5")}, uid=5, roots=roots)

    assert [place.path for place in places.listed()].count(str(Path(roots.run) / "5" / "ttmem")) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: only root can give a directory away")
def test_a_further_directory_counts_only_if_it_is_its_users_own(tmp_path: Path) -> None:
    roots = roots_in(tmp_path)
    for name, owner in (("ttmem-5.1f", 5), ("ttmem-5.2f", 7), ("ttmem-7.3f", 7), ("ttmem-x.4f", 5)):
        (Path(roots.shm) / name).mkdir()
        os.chown(Path(roots.shm) / name, owner, owner)
    listed = Places(uid=5, roots=roots).listed()

    assert {os.path.basename(place.path) for place in listed if "." in os.path.basename(place.path)} == {
        "ttmem-5.1f",
        "ttmem-7.3f",
    }


def test_root_also_looks_into_runtime_directories_and_other_mount_namespaces(tmp_path: Path) -> None:
    roots = roots_in(tmp_path)
    (Path(roots.run) / "7").mkdir()
    a_process_in(Path(roots.proc), 1, "mnt:[1]")
    os.symlink(Path(roots.proc) / "1", Path(roots.proc) / "self")
    (a_process_in(Path(roots.proc), 50, "mnt:[2]") / "ttmem-0").mkdir()
    (a_process_in(Path(roots.proc), 51, "mnt:[2]") / "ttmem-0").mkdir()

    listed = Places(uid=0, roots=roots).listed()

    assert Place(str(Path(roots.run) / "7" / "ttmem"), 7) in listed
    assert [place.path for place in listed if "proc" in place.path] == [f"{roots.proc}/50/root/dev/shm/ttmem-0"]


def test_a_uid_in_a_user_namespace_is_seen_from_outside(tmp_path: Path) -> None:
    roots = roots_in(tmp_path)
    a_process_in(Path(roots.proc), 1, "mnt:[1]")
    os.symlink(Path(roots.proc) / "1", Path(roots.proc) / "self")
    (a_process_in(Path(roots.proc), 50, "mnt:[2]", "0 100000 65536\n") / "ttmem-1000").mkdir()

    [place] = [place for place in Places(uid=0, roots=roots).listed() if "proc" in place.path]

    assert place.owner_uid == 101_000


def test_the_runtimes_counters_are_looked_for_in_shared_memory_or_where_it_is_set(tmp_path: Path) -> None:
    roots = roots_in(tmp_path)

    def listed(environ: dict[str, str]) -> list[str]:
        return Places.from_environment(environ, uid=5, roots=roots).stock_listed()

    assert listed({}) == listed({"TTMEM_DIR": "/somewhere"}) == listed({"TTMEM_STOCK_SHM_DIR": ""}) == [str(roots.shm)]
    assert listed({"TTMEM_STOCK_SHM_DIR": "/copies"}) == ["/copies"]
    assert Places(uid=0, roots=roots).stock_listed() == []


def test_root_also_looks_for_the_counters_of_containers(tmp_path: Path) -> None:
    roots = roots_in(tmp_path)
    a_process_in(Path(roots.proc), 1, "mnt:[1]")
    os.symlink(Path(roots.proc) / "1", Path(roots.proc) / "self")
    private = a_process_in(Path(roots.proc), 50, "mnt:[2]")
    for process, theirs in ((60, roots.shm), (70, private)):  # two more containers that share one or the other
        shared = a_process_in(Path(roots.proc), process, f"mnt:[{process}]")
        shared.rmdir()
        shared.symlink_to(theirs)

    def listed(**environ: str) -> list[str]:
        return Places.from_environment(environ, uid=0, roots=roots).stock_listed()

    assert listed() == [str(roots.shm), str(private)]
    assert listed(TTMEM_STOCK_SHM_DIR="/copies") == ["/copies"]


def test_others_are_looked_up_at_most_twice_a_second(tmp_path: Path) -> None:
    roots = roots_in(tmp_path)
    now = [100.0]
    places = Places(uid=5, roots=roots, clock=lambda: now[0])
    own_count = len(places.listed())
    (Path(roots.shm) / "ttmem-7").mkdir()

    now[0] += 0.4
    assert len(places.listed()) == own_count
    now[0] += 0.2
    assert len(places.listed()) == own_count + 1


def test_threads_that_look_at_once_look_around_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second comes while the first goes through all processes: it waits for what the first finds."""
    is_looking, has_come = threading.Event(), threading.Event()
    looked: list[str] = []

    def others(namespaces: MountNamespaces) -> list[int]:
        looked.append(threading.current_thread().name)
        is_looking.set()
        has_come.wait()
        return []

    def clock() -> float:
        if threading.current_thread().name == "second":
            has_come.set()
        return 100.0

    monkeypatch.setattr(MountNamespaces, "others", others)
    places = Places(uid=0, roots=roots_in(tmp_path), clock=clock)
    threads = [threading.Thread(target=places.listed, name=name) for name in ("first", "second")]
    interval = sys.getswitchinterval()
    try:
        sys.setswitchinterval(1000)  # the second goes on until it has to wait
        threads[0].start()
        is_looking.wait()
        threads[1].start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)

    assert looked == ["first"]
