"""A directory of regions: what is read of it, what is passed over with one finding, and that nothing is touched."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.machine.stock_regions import NOON_NS, KnownOwners, Slot, a_region, put
from tests.support.processes.permitted import needs
from ttmem.devices import Pool
from ttmem.snapshot import Readings
from ttmem.sources.stock_shm.regions import StockCounters

needs_root = needs("becoming another user", "test", "0", "-eq", str(os.geteuid()))


def read(*directories: Path, alive: tuple[int, ...] = ()) -> Readings:
    return StockCounters(lambda: map(str, directories), owners=KnownOwners(alive), clock_ns=lambda: NOON_NS).read()


def test_no_directory_and_an_empty_one_give_nothing(tmp_path: Path) -> None:
    assert read(tmp_path / "none", tmp_path) == Readings()


def test_other_files_of_shared_memory_are_left_alone(tmp_path: Path) -> None:
    for name in ("sem.x", "tt_device_5_memory.bak", "tt_device_x_memory", "tt_device__memory"):
        (tmp_path / name).write_bytes(a_region())

    assert read(tmp_path).places == ()


def test_a_chip_is_named_by_its_file(tmp_path: Path) -> None:
    put(tmp_path, 2**64 - 1, a_region(Slot(7, (10, 0, 0, 0, 0)), device_id=3))
    [chip] = read(tmp_path, alive=(7,)).chips

    assert (chip.unique_id, chip.device_index, chip.used[Pool.DRAM]) == (2**64 - 1, 3, 10)


@pytest.mark.parametrize(("version", "unique_id"), [(1, 500), (2, 2**64)])
def test_a_name_that_is_no_unique_id_names_no_chip(tmp_path: Path, version: int, unique_id: int) -> None:
    put(tmp_path, unique_id, a_region(Slot(7), version=version))
    [chip] = read(tmp_path, alive=(7,)).chips

    assert (chip.unique_id, chip.name) == (None, f"tt_device_{unique_id}")


def test_what_no_slot_accounts_for_stays_in_the_total(tmp_path: Path) -> None:
    put(tmp_path, 5, a_region(Slot(7, (10, 0, 0, 0, 0)), Slot(8, (5, 0, 0, 0, 0)), totals=(100, 0, 0, 0, 0)))
    [chip] = read(tmp_path, alive=(7,)).chips

    assert (chip.used[Pool.DRAM], chip.stale[Pool.DRAM]) == (95, 5)


def test_a_total_below_its_slots_is_raised_to_them(tmp_path: Path) -> None:
    put(tmp_path, 5, a_region(Slot(7, (10, 0, 0, 0, 0)), Slot(8, (50, 0, 0, 0, 0)), totals=(20, 0, 0, 0, 0)))
    [chip] = read(tmp_path, alive=(7,)).chips

    assert chip.used[Pool.DRAM] == 10


def test_a_process_that_is_attached_and_has_no_slot_is_shown(tmp_path: Path) -> None:
    put(tmp_path, 5, a_region(Slot(7, (10, 0, 0, 0, 0)), references=2))
    [chip] = read(tmp_path, alive=(7, 9)).chips

    assert [(process.pid, process.last_update_ns) for process in chip.processes] == [(7, NOON_NS), (9, None)]


def finding_about(path: Path) -> str:
    readings = read(path.parent)
    [finding] = readings.findings
    assert (readings.chips, readings.foreign, finding.name, finding.path) == ((), (), "region_ignored", str(path))
    return finding.text


@pytest.mark.parametrize("data", [b"", b"x" * 100, bytes(8576), a_region()[:4000], a_region() * 2])
def test_a_file_that_is_no_region_is_one_finding(tmp_path: Path, data: bytes) -> None:
    assert finding_about(put(tmp_path, 5, data))


def test_a_region_that_its_maker_still_fills_in_is_one_finding(tmp_path: Path) -> None:
    assert "not filled in yet" in finding_about(put(tmp_path, 5, a_region(version=4, init_state=1)))


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(a_region(Slot(1, (5, 0, 0, 0, 0))))
    link = tmp_path / "tt_device_5_memory"
    link.symlink_to(tmp_path / "elsewhere")

    assert "is a link" in finding_about(link)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_pipe_or_a_directory_of_that_name_delays_no_reader(tmp_path: Path, make: "object") -> None:
    path = tmp_path / "tt_device_5_memory"
    assert callable(make)
    make(path)

    assert "not a region" in finding_about(path)


@pytest.mark.parametrize("size_bytes", [100, 20_000], ids=["shrinks", "grows"])
def test_a_file_that_changes_its_size_while_it_is_read_is_one_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size_bytes: int
) -> None:
    path = put(tmp_path, 5, a_region())
    pread = os.pread

    def meanwhile(file: int, count: int, offset: int) -> bytes:
        data = pread(file, count, offset)
        os.truncate(path, size_bytes)
        return data

    monkeypatch.setattr(os, "pread", meanwhile)

    assert "changed its size while it was read" in finding_about(path)


def test_a_damaged_file_takes_nothing_from_the_others(tmp_path: Path) -> None:
    put(tmp_path, 4, b"nonsense")
    put(tmp_path, 5, a_region(Slot(7, (10, 0, 0, 0, 0))))
    readings = read(tmp_path, alive=(7,))

    assert [chip.unique_id for chip in readings.chips] == [5]
    assert len(readings.findings) == 1


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_region_with_any_bytes_changed_or_cut_off_is_a_chip_or_one_finding(
    tmp_path: Path, data: st.DataObject
) -> None:
    damaged = bytearray(a_region(Slot(7, (10, 20, 0, 0, 0)), version=data.draw(st.sampled_from([1, 2, 3, 4]))))
    for at, value in data.draw(st.dictionaries(st.integers(0, 1100), st.integers(0, 255), max_size=8)).items():
        damaged[at] = value
    put(tmp_path, 5, bytes(damaged[: data.draw(st.sampled_from([len(damaged), 8535, 900, 3]))]))
    readings = read(tmp_path, alive=(7,))

    assert len(readings.chips) + len(readings.findings) == 1
    assert all(size >= 0 for chip in readings.chips for size in (*chip.used.values(), *chip.stale.values()))


def test_reading_leaves_no_trace(tmp_path: Path) -> None:
    path = put(tmp_path, 5, a_region(Slot(7)))
    os.utime(path, ns=(1, NOON_NS))
    before = path.stat()
    read(tmp_path)
    after = path.stat()

    assert (after.st_atime_ns, after.st_mtime_ns, after.st_ctime_ns) == (1, NOON_NS, before.st_ctime_ns)
    assert os.listdir(tmp_path) == [path.name]


def test_files_are_opened_for_reading_only_and_links_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, 5, a_region())
    flags_seen: list[int] = []
    real = os.open

    def noted(path: str, flags: int) -> int:
        flags_seen.append(flags)
        return real(path, flags)

    monkeypatch.setattr(os, "open", noted)
    read(tmp_path)
    monkeypatch.undo()

    assert flags_seen
    assert all(flags & os.O_ACCMODE == os.O_RDONLY and flags & os.O_NOFOLLOW for flags in flags_seen)
    assert not any(flags & (os.O_CREAT | os.O_TRUNC) for flags in flags_seen)


@needs_root
def test_what_may_not_be_read_is_listed_as_foreign() -> None:
    with TemporaryDirectory() as open_to_all:
        os.chmod(open_to_all, 0o755)
        path = put(Path(open_to_all), 5, a_region())
        path.chmod(0o600)
        os.seteuid(65_534)
        try:
            readings = read(path.parent)
        finally:
            os.seteuid(0)

    [row] = readings.foreign
    assert (row.path, row.uid, row.what) == (str(path), 0, "counters")
    assert (readings.chips, readings.findings) == ((), ())


def test_of_more_files_than_any_machine_has_chips_a_limited_number_of_a_user_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1000):
        put(tmp_path, number, b"no region")
    opened: list[str] = []
    real = os.open

    def counted(path: str, flags: int) -> int:
        opened.append(path)
        return real(path, flags)

    monkeypatch.setattr(os, "open", counted)
    readings = read(tmp_path)
    *named, rest = readings.findings

    assert len(opened) == len(named) == 256
    assert (rest.count, rest.path) == (744, str(tmp_path))
    assert f"and 744 more files of uid {os.geteuid()}" in rest.text


@needs_root
def test_one_users_files_take_no_place_of_anothers(tmp_path: Path) -> None:
    for number in range(1000):
        put(tmp_path, number, b"no region")
        os.chown(tmp_path / f"tt_device_{number}_memory", 65_534, 65_534)
    put(tmp_path, 2000, a_region(Slot(7, (10, 0, 0, 0, 0))))

    assert [chip.used[Pool.DRAM] for chip in read(tmp_path, alive=(7,)).chips] == [10]


@pytest.mark.parametrize(("file_count", "looks"), [(200, 100), (1000, 4)])
def test_a_crowd_is_looked_at_rarely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_count: int, looks: int
) -> None:
    """On clocks of the test: every look takes 100 ms, and somebody asks ten times a second."""
    for number in range(file_count):
        put(tmp_path, number, b"no region")
    now, cpu, listed = [0.0], [0.0], [0]
    real = os.listdir

    def listdir(path: str) -> list[str]:
        cpu[0] += 0.1
        listed[0] += 1
        return real(path)

    monkeypatch.setattr(os, "listdir", listdir)
    counters = StockCounters(
        lambda: [str(tmp_path)], owners=KnownOwners(()), clock=lambda: now[0], cpu_clock=lambda: cpu[0]
    )
    for _ in range(100):
        assert counters.read().places == (str(tmp_path),)
        now[0] += 0.1

    assert listed[0] <= looks + 1
    assert listed[0] >= looks
