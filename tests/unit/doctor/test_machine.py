"""What a doctor says about the machine: journals, room, the runtime's counters, cards, a daemon, the kernel."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import ttmem
from tests.support.processes.programs import a_program
from tests.support.server.false_daemons import Behaviour, a_false_daemon, an_answer
from ttmem.doctor.checks import Check, Status
from ttmem.doctor.machine import JOURNAL_BYTES, machine_checks
from ttmem.sources.journal_versions import JOURNAL_VERSION

SAMPLES = Path(__file__).parents[2] / "data" / "shm"


def said(topic: str, place: Path, *, uid: int | None = None, **settings: str) -> Check:
    """The worst that is said about a topic."""
    defaults = {"TTMEM_DIR": str(place), "TTMEM_STOCK_SHM_DIR": str(place), "TTMEM_SYSTEM_DIR": str(place)}
    environ = {**defaults, **settings}
    own = os.geteuid() if uid is None else uid
    found = [check for check in machine_checks(environ, uid=own, cards=str(place / "cards")) if check.topic == topic]
    return max(found, key=lambda check: check.status)


@pytest.fixture
def short_directory() -> Iterator[Path]:
    """The path of a socket has 107 bytes at most."""
    with tempfile.TemporaryDirectory(prefix="ttmem-") as directory:
        yield Path(directory)


def test_a_directory_of_ones_own_is_right(tmp_path: Path) -> None:
    assert said("journals", tmp_path).status is Status.PASS


def test_a_directory_that_can_be_made_is_right_too(tmp_path: Path) -> None:
    check = said("journals", tmp_path, TTMEM_DIR=str(tmp_path / "yet"))

    assert (check.status, "will be made" in check.text) == (Status.PASS, True)


def a_link(place: Path) -> Path:
    (place / "directory").mkdir()
    (place / "link").symlink_to("directory")
    return place / "link"


def somebodys(place: Path) -> Path:
    os.chown(place, 65_534, -1)
    return place


@pytest.mark.parametrize(
    ("directory_in", "words"),
    [
        (lambda place: place / "not" / "yet", "is not there either"),
        (a_link, "is a link, and those are not followed"),
        pytest.param(
            somebodys,
            "belongs to uid 65534",
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away"),
        ),
    ],
)
def test_a_directory_that_a_program_would_refuse_is_a_failure(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], directory_in: Callable[[Path], Path], words: str
) -> None:
    directory = directory_in(tmp_path)
    check = said("journals", tmp_path, TTMEM_DIR=str(directory))
    reporting = [sys.executable, "-c", "import ttmem; ttmem.open_device(5)"]
    subprocess.run(reporting, env={**os.environ, "TTMEM": "1", "TTMEM_DIR": str(directory)}, check=True)

    assert "the program runs on untracked" in capfd.readouterr().err
    assert (check.status, words in check.text) == (Status.FAIL, True)


def test_a_directory_of_another_user_is_a_failure_with_advice(tmp_path: Path) -> None:
    if os.geteuid() == 0:  # what is root's may be meant for all
        os.chown(tmp_path, 65_534, -1)
    check = said("journals", tmp_path, uid=os.geteuid() + 1)

    assert (check.status, "belongs to uid" in check.text, "TTMEM_DIR" in check.next_step) == (Status.FAIL, True, True)


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: only root can give a directory away")
def test_a_default_directory_of_another_user_is_a_warning_since_there_are_other_places(tmp_path: Path) -> None:
    uid = 3_200_000_000 + os.getpid()  # of nobody
    squatted = Path(f"/dev/shm/ttmem-{uid}")
    squatted.mkdir(mode=0o700)
    try:
        os.chown(squatted, uid + 1, -1)
        check = said("journals", tmp_path, uid=uid, TTMEM_DIR="")
    finally:
        squatted.rmdir()

    assert (check.status, "programs report in the next place" in check.text) == (Status.WARN, True)


def test_a_file_in_place_of_the_directory_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert said("journals", tmp_path, TTMEM_DIR=str(tmp_path / "file")).status is Status.FAIL


@pytest.mark.parametrize(
    ("free_bytes", "status"),
    [(JOURNAL_BYTES - 1, Status.FAIL), (JOURNAL_BYTES * 2, Status.WARN), (JOURNAL_BYTES * 100, Status.PASS)],
)
def test_room_is_counted_in_journals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_bytes: int, status: Status
) -> None:
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_bavail=free_bytes, f_frsize=1))

    assert said("room", tmp_path).status is status


def test_a_journal_is_about_as_large_as_is_said(tmp_path: Path) -> None:
    with a_program(tmp_path, "ttmem.open_device(5)", "meet()") as program:
        program.arrive()
        [journal] = tmp_path.glob("*.journal")
        size_bytes = journal.stat().st_blocks * 512  # of its holes only what is written takes room

    assert JOURNAL_BYTES / 2 < size_bytes <= JOURNAL_BYTES


def test_regions_of_the_runtime_are_counted_and_their_layout_named(tmp_path: Path) -> None:
    region = min(path for path in SAMPLES.rglob("*.bin"))
    shutil.copy(region, tmp_path / "tt_device_77_memory")

    check = said("counters", tmp_path)

    assert (check.status, check.text) == (Status.PASS, f"1 region of the runtime's own in {tmp_path} (layout 3)")


def test_a_damaged_region_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "tt_device_77_memory").write_bytes(b"nothing")

    assert said("counters", tmp_path).status is Status.WARN


@pytest.mark.parametrize(
    ("word", "step"),
    [(9, "a newer runtime needs a newer ttmem"), (0, "the runtime makes a new one if it is removed")],
)
def test_what_to_do_about_a_region_is_said_once(tmp_path: Path, word: int, step: str) -> None:
    (tmp_path / "tt_device_77_memory").write_bytes(bytes([word]) + bytes(8575))

    check = said("counters", tmp_path)

    assert (check.next_step, check.text.count(step)) == (step, 0)
    assert f"{tmp_path}/tt_device_77_memory: not a region" in check.text


def test_a_region_that_is_a_link_is_to_be_removed(tmp_path: Path) -> None:
    (tmp_path / "tt_device_77_memory").symlink_to("elsewhere")

    assert said("counters", tmp_path).next_step.startswith("remove it")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_region_of_another_user_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "tt_device_77_memory").touch(mode=0)

    assert "belong to others" in said("counters", tmp_path).text


def test_counters_that_are_turned_off_are_a_warning(tmp_path: Path) -> None:
    assert said("counters", tmp_path, TT_METAL_SHM_TRACKING_DISABLED="1").status is Status.WARN


def test_an_inspector_is_found_where_it_was_set_to_listen(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        heard = said("inspector", tmp_path, TT_METAL_INSPECTOR_RPC_SERVER_ADDRESS=address)

    assert heard.text == f"a server listens at {address}"
    assert "nothing" in said("inspector", tmp_path, TT_METAL_INSPECTOR_RPC_SERVER_ADDRESS="127.0.0.1:nonsense").text


def test_cards_are_counted_and_not_opened(tmp_path: Path) -> None:
    (tmp_path / "cards").mkdir()
    os.mkfifo(tmp_path / "cards" / "0")  # whoever opened it would wait

    assert said("cards", tmp_path).text.startswith("1 in ")


UNPRIVILEGED = """
import os, sys
from ttmem.doctor.machine import machine_checks
if os.geteuid() == 0:
    os.setresuid(65534, 65534, 65534)
environ = {"TTMEM_DIR": "/nowhere", "TTMEM_SYSTEM_DIR": "/nowhere", "TT_METAL_INSPECTOR": "0"}
for check in machine_checks(environ, uid=os.geteuid(), cards=sys.argv[1]):
    if check.topic == "cards":
        print(check.status.name, check.text, check.next_step, sep="|")
"""


def test_cards_that_may_not_be_opened_are_a_warning_with_the_next_step() -> None:
    with tempfile.TemporaryDirectory() as place:  # pytest's own are closed to other users
        os.chmod(place, 0o755)
        for number, mode in enumerate((0o666, 0)):
            (Path(place) / str(number)).touch()
            (Path(place) / str(number)).chmod(mode)
        command = [sys.executable, "-c", UNPRIVILEGED, place]

        said_by_it = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert said_by_it == (
        f"WARN|1 of 2 in {place} may not be opened by you|"
        f"ttnn must open them (ttmem never does): ls -l {place} shows who may; join that group (usermod -aG)\n"
    )


def test_a_machine_without_cards_is_no_worse(tmp_path: Path) -> None:
    assert said("cards", tmp_path).status is Status.PASS


def test_a_daemon_that_is_not_there_is_no_worse(tmp_path: Path) -> None:
    assert said("daemon", tmp_path).status is Status.PASS


@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [
        (an_answer({"version": ttmem.__version__}), Status.PASS, "answers at {}"),
        (an_answer({"version": "9.8"}), Status.WARN, f"{{}} is of ttmem 9.8, this is {ttmem.__version__}: "),
        (an_answer(b"nonsense"), Status.WARN, "{}: answers /healthz with something that is no object; "),
    ],
)
def test_a_daemon_is_asked_for_its_version(
    answer: Behaviour, status: Status, words: str, short_directory: Path
) -> None:
    with a_false_daemon(short_directory, answer=answer):
        check = said("daemon", short_directory)

    assert check.status is status
    assert check.text.startswith(words.format(short_directory / "daemon.sock"))
    assert ("systemctl restart ttmem" in check.next_step) is (status is Status.WARN)


def test_a_daemon_that_is_not_well_is_a_warning_with_its_first_reason(short_directory: Path) -> None:
    health = {"version": ttmem.__version__, "reasons": ["the checkpoint cannot be written", "another"]}
    with a_false_daemon(short_directory, answer=an_answer(health, status=503)):
        check = said("daemon", short_directory)

    text = f"{short_directory}/daemon.sock answers, but not all is well: the checkpoint cannot be written"
    assert (check.status, check.text) == (Status.WARN, text)
    assert check.next_step == "ttmem serve --status lists what has failed"


def test_the_socket_of_a_daemon_that_died_is_a_warning_with_the_next_step(short_directory: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(short_directory / "daemon.sock"))

    check = said("daemon", short_directory)

    assert (check.status, "has ended; viewers look without it" in check.text) == (Status.WARN, True)
    assert check.next_step.endswith(f"without one, remove {short_directory}/daemon.sock")


def a_journal(place: Path, pid: int, version: int, magic: bytes = b"TMEMJNL1") -> None:
    (place / f"{pid}-1-ab.journal").write_bytes(magic + version.to_bytes(4, "little") + bytes(100))


@pytest.mark.parametrize(
    ("version", "which"), [(JOURNAL_VERSION - 1, "the ttmem of those programs"), (JOURNAL_VERSION + 1, "this ttmem")]
)
def test_journals_of_another_version_are_named_with_what_to_upgrade(version: int, which: str, tmp_path: Path) -> None:
    a_journal(tmp_path, 12, version)
    a_journal(tmp_path, 13, JOURNAL_VERSION)
    a_journal(tmp_path, 14, version, magic=b"nonsense")
    (tmp_path / "15-1-ab.journal").write_bytes(b"TMEMJNL1")
    os.mkfifo(tmp_path / "16-1-ab.journal")

    check = said("journals", tmp_path)

    expected = f"1 in {tmp_path} of version {version}, which this ttmem cannot read (pid 12)"
    assert (check.status, check.text) == (Status.WARN, expected)
    assert check.next_step == f"upgrade {which}; of programs that have ended, remove the files"


def test_a_kernel_that_cannot_wipe_on_fork_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ttmem.doctor.machine._MADV_WIPEONFORK", 9999)

    assert said("kernel", tmp_path).status is Status.FAIL
