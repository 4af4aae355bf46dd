"""`ttmem explain`, and what `ttmem run` ends with: of real processes, living and dead, with a daemon and without."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.processes.programs import a_program
from tests.support.processes.running import python, ttmem
from tests.support.server.server_serving import a_daemon
from ttmem.cli.program import run_program

# A model on simulated chips: 700 KiB of every core are held when 900 KiB are asked for.
MODEL = """
import sys
import ttmem
from ttmem import metal
from ttmem.devices import BufferType

def of_every_core(device, kib):
    return device.create_buffer(metal.memory.BufferSpec(kib * 1024 * 64, kib * 1024, BufferType.L1))

def attention(device):
    return of_every_core(device, 700)

device = metal.open_device("n150", tracker=ttmem.GraphTracker())
with ttmem.phase("decode"):
    kept = attention(device)
    try:
        of_every_core(device, 900)
    except metal.MetalError:
        {handled}
"""
FAILING = MODEL.format(handled="sys.exit(3)")
HANDLING = MODEL.format(handled="small = of_every_core(device, 100)")
# What the commands of docs/troubleshooting/out-of-memory.md end with and say, once a program has failed.
OUTCOMES = {
    "ttmem run -- python model.py": (3, r"OUT OF MEMORY  chip 0, L1: asked 900 KiB per core"),
    "ttmem explain": (0, r"TO MAKE ROOM"),
    "ttmem explain 4711": (0, r"TO MAKE ROOM"),
    "ttmem explain 4711 --json": (0, r'"per_bank_bytes": ?716800'),
    "ttmem ps": (1, r"1 ended process had 1 incident: ttmem ps --all, ttmem explain \d+"),
    "ttmem dump --by site": (1, r"INCIDENTS 1\n OUT OF MEMORY  chip"),
    "ttmem fit --l1-per-core 200KiB": (0, r"^0\ndevice 0 n150: fits .*headroom 1\.33 MiB"),
    "ttmem check --max-incidents 0": (5, r"1 incident > 0"),
}
ASKED = "L1: asked 900 KiB per core on 64 cores, free 661 KiB, largest block 661 KiB per core"


class Said(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def explain(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """`ttmem explain` in this process: most of what a process of its own costs is starting it."""

    def said(*words: str, directory: Path, **settings: str) -> Said:
        for name, value in {"TTMEM_DIR": str(directory), **settings}.items():
            monkeypatch.setenv(name, value)
        capsys.readouterr()
        code = run_program(["explain", *words])
        return Said(code, *capsys.readouterr())

    return said


def pid_of(text: str) -> int:
    found = re.search(r"ttmem explain (\d+)", text)
    assert found is not None, text
    return int(found[1])


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Where the journal of a failed program is, and what `ttmem run` said at its end."""
    directory = tmp_path_factory.mktemp("failed")
    result = ttmem("run", *python(FAILING), directory=directory)
    assert result.returncode == 3, result.stderr
    return directory, result.stderr


def test_a_run_that_fails_ends_with_the_block_of_its_newest_incident(failed: tuple[Path, str]) -> None:
    directory, told = failed
    block = told.split("\n\n")[-1]

    assert block.startswith("  OUT OF MEMORY  chip 0, ")
    assert ASKED in block
    assert "phase decode, its 1st run" in block
    assert re.search(r"held by +700 KiB .* 1 buffer, .* old: freeing it opens a block of 1\.33 MiB", block)
    assert "floor      lowest L1 buffer 0xbf000 is a buffer of 700 KiB per core" in block
    pid = pid_of(block)
    assert block.splitlines()[-2] == f"    next       ttmem explain {pid}   (docs/troubleshooting/out-of-memory.md)"
    [journal] = directory.glob(f"{pid}-*.journal")
    assert block.splitlines()[-1] == f"    journal    {journal}"


@pytest.mark.slow
@pytest.mark.parametrize("command", OUTCOMES)
def test_every_command_of_the_page_does_what_it_says(command: str, failed: tuple[Path, str], tmp_path: Path) -> None:
    directory, told = failed
    pid = pid_of(told)
    (tmp_path / "model.py").write_text(FAILING)
    words = command.replace("4711", str(pid)).replace("python model.py", f"{sys.executable} model.py")
    words = words.replace("ttmem ", f"{sys.executable} -m ttmem ", 1)
    environ = {**os.environ, "TTMEM_DIR": str(tmp_path if command.startswith("ttmem run") else directory)}

    done = subprocess.run(["bash", "-c", words], env=environ, cwd=tmp_path, capture_output=True, text=True)

    code, said = OUTCOMES[command]
    assert (done.returncode, re.search(said, done.stdout + done.stderr) is not None) == (code, True), done


def test_a_run_that_goes_well_has_one_line_for_what_was_refused(tmp_path: Path) -> None:
    result = ttmem("run", *python(HANDLING), directory=tmp_path)

    assert result.returncode == 0
    [line] = [line for line in result.stderr.splitlines() if "out of memory" in line.lower()]
    assert re.match(r" pid \d+ out of memory, and went on; newest: chip 0, L1: asked 900 KiB", line)
    assert "held by" not in result.stderr


NOTHING_HELD = """
import ttmem
chip = ttmem.open_device(0x29, index=3, board="n150", grid=(8, 8))
ttmem.report_out_of_memory(chip, 0, 1 << 30, 1 << 20, 1 << 20)
"""


def test_a_chip_has_its_name_though_nothing_was_ever_held_of_it(tmp_path: Path) -> None:
    result = ttmem("run", *python(NOTHING_HELD), directory=tmp_path)

    [line] = [line for line in result.stderr.splitlines() if "out of memory" in line.lower()]
    assert "newest: chip 3, DRAM: asked 1.00 GiB" in line


@pytest.mark.slow
def test_equal_incidents_of_several_ranks_share_one_block(tmp_path: Path) -> None:
    ranks = f"""
import subprocess, sys
started = [subprocess.Popen([sys.executable, "-c", {FAILING!r}]) for _ in range(3)]
sys.exit(max(rank.wait() for rank in started))
"""

    told = ttmem("run", *python(ranks), directory=tmp_path).stderr

    assert told.count("OUT OF MEMORY") == 1
    assert re.search(r"processes  3 processes alike: pid [\d,-]+\n", told)


@pytest.mark.parametrize("form", ["nothing", "pid", "name", "file", "number"])
def test_a_dead_process_is_explained_however_it_is_named(
    failed: tuple[Path, str], form: str, explain: Callable[..., Said]
) -> None:
    directory, told = failed
    pid = pid_of(told)
    [journal] = directory.glob("*.journal")
    words = {
        "nothing": [],
        "pid": [str(pid)],
        "name": [f"{pid}-1"],
        "file": [str(journal)],
        "number": ["--incident", "1"],
    }[form]

    result = explain(*words, directory=directory)

    assert result.code == 0, result.err
    text = result.out
    assert text.startswith(f" ttmem explain  {pid}-1  ")
    assert "· ended · " in text
    assert ASKED in text
    assert "only 661 KiB are free per core: 239 KiB too little" in text
    assert re.search(r" TO MAKE ROOM .*\n.*\n +700 KiB  0xbf000  ", text)
    assert "opens a block of 1.33 MiB." in text


def test_json_has_the_whole_explanation(failed: tuple[Path, str], explain: Callable[..., Said]) -> None:
    directory, told = failed

    document = json.loads(explain("--json", directory=directory).out)

    [one] = document["explanations"]
    assert (one["pid"], one["incident"]["kind"], one["cause"]) == (pid_of(told), "out_of_memory", "full")
    assert [entry["address"] for entry in one["freeing"]["entries"]] == [0xBF000]
    assert document["processes"][0]["listed_incidents"] == [1]


def test_a_living_process_and_a_daemon_show_the_same(explain: Callable[..., Said]) -> None:
    with a_daemon() as daemon:
        settings = {name: value for name, value in daemon.environment.items() if name.startswith("TTMEM")}
        directory = Path(settings.pop("TTMEM_DIR"))
        with a_program(directory, MODEL.format(handled="pass"), "meet()", **settings) as program:
            program.arrive()
            through = explain(str(program.pid), directory=directory, **settings)
            alone = explain("--no-daemon", str(program.pid), directory=directory, **settings)

    assert (through.code, alone.code) == (0, 0), through.err + alone.err
    assert "· still runs · " in through.out
    assert through.out.splitlines()[1:] == alone.out.splitlines()[1:]  # the first says how long ago


def test_a_wrong_pid_is_a_mistake_and_an_empty_place_has_nothing_to_read(
    failed: tuple[Path, str], tmp_path: Path, explain: Callable[..., Said]
) -> None:
    directory, told = failed
    pid = pid_of(told)

    wrong = explain("1", directory=directory)
    beyond = explain(f"{pid}-7", directory=directory)
    nothing = explain(directory=tmp_path)
    missing = explain(str(tmp_path / "no.journal"), directory=tmp_path)
    (tmp_path / "false.journal").write_bytes(b"no journal" * 1000)
    false = explain(str(tmp_path / "false.journal"), directory=tmp_path)

    assert wrong.code == 1
    assert f"no process 1 reports, and there is no journal of it; known: {pid}" in wrong.err
    assert (beyond.code, f"recorded: {pid}-1" in beyond.err) == (2, True)
    assert (nothing.code, "no process reports" in nothing.err) == (1, True)
    assert (missing.code, false.code) == (2, 1)
    assert all(len(one.err.splitlines()) == 1 for one in (wrong, beyond, nothing, missing, false))
    assert "started by `ttmem run -- COMMAND`" in nothing.err


def test_a_file_that_is_no_journal_is_told_what_is_expected(tmp_path: Path, explain: Callable[..., Said]) -> None:
    (tmp_path / "model.py").write_text("import ttnn")

    said = [explain(str(tmp_path / name), directory=tmp_path) for name in ("model.py", "llama")]

    assert [one.code for one in said] == [2, 2]
    assert all("expected a PID, a journal or a recording" in one.err for one in said)


def test_without_an_incident_it_shows_how_much_room_there_is(tmp_path: Path, explain: Callable[..., Said]) -> None:
    code = MODEL.partition("with ttmem.phase")[0]
    with a_program(tmp_path, code, "kept = attention(device)", "meet()") as program:
        program.arrive()
        result = explain(str(program.pid), directory=tmp_path)
        said = explain("--json", directory=tmp_path)
    as_json = json.loads(said.out)

    assert (result.code, said.code) == (0, 0)
    assert result.out.startswith(f" No incidents of pid {program.pid} ")
    assert re.search(r" CHIP +PLANNED +HEADROOM +L1 BLOCK +DRAM BLOCK +FULLEST CORE\n", result.out)
    assert re.search(r"\n 0 n150 +\d+ KiB +661 KiB +661 KiB +12.0 GiB ", result.out)  # where nothing lies, too
    assert as_json["explanations"] == []
    assert as_json["devices"][0]["blocks"]["l1"]["largest_free_per_bank"] == 676_512


def test_several_journals_of_one_pid_are_listed(
    failed: tuple[Path, str], tmp_path: Path, explain: Callable[..., Said]
) -> None:
    directory, told = failed
    [journal] = directory.glob("*.journal")
    (tmp_path / journal.name).write_bytes(journal.read_bytes())
    pid, ticks, mark = journal.stem.split("-")
    (tmp_path / f"{pid}-{int(ticks) - 1}-{mark}.journal").write_bytes(journal.read_bytes())

    result = explain(pid, directory=tmp_path)
    text = result.out

    assert result.code == 0
    assert f"pid {pid} has 2 journals; ttmem explain FILE chooses one:" in text
    assert text.count(f"{tmp_path}{os.sep}{pid}-") == 2
    assert pid == str(pid_of(told))


def test_all_of_its_incidents_newest_first(tmp_path: Path, explain: Callable[..., Said]) -> None:
    twice = (
        HANDLING
        + "\n    try:\n        of_every_core(device, 1000)\n    except metal.MetalError:\n        sys.exit(4)\n"
    )
    told = ttmem("run", *python(twice), directory=tmp_path).stderr
    pid = pid_of(told)

    one = explain(str(pid), directory=tmp_path).out
    both = explain(str(pid), "--all", directory=tmp_path).out

    assert "asked 1000 KiB" in told
    assert f"Other incidents of pid {pid}: {pid}-1 (out of memory, L1) (ttmem explain {pid} --all)." in one
    assert re.findall(r" ttmem explain  (\S+)  ", both) == [f"{pid}-2", f"{pid}-1"]


def test_incidents_whose_slots_were_taken_are_counted(tmp_path: Path, explain: Callable[..., Said]) -> None:
    tries = "".join(
        f"    try:\n        of_every_core(device, {900 + at})\n    except metal.MetalError:\n        pass\n"
        for at in range(1, 9)
    )
    told = ttmem("run", *python(MODEL.format(handled="pass") + tries + "sys.exit(5)\n"), directory=tmp_path).stderr
    pid = pid_of(told)

    kept = explain(str(pid), "--all", directory=tmp_path)
    taken = explain(f"{pid}-3", directory=tmp_path)

    assert "    before     8 other incidents of pid " in told
    assert re.findall(r" ttmem explain  (\S+)  ", kept.out) == [
        f"{pid}-{number}" for number in (9, 8, 7, 6, 5, 4, 2, 1)
    ]
    assert f"1 earlier incident of pid {pid}, details not kept." in kept.out
    assert (taken.code, f"recorded: {pid}-1" in taken.err) == (2, True)


@pytest.mark.slow
def test_a_process_killed_while_it_was_refused_is_never_said_to_have_had_nothing(
    tmp_path: Path, explain: Callable[..., Said]
) -> None:
    killed = MODEL.format(handled="pass") + (
        f"sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        "import os\n"
        "from ttmem import _native\n"
        "from tests.support.journals.journal_file import leave_unfinished\n"
        "leave_unfinished(_native.client.journal_path())\n"
        "os.kill(os.getpid(), 9)\n"
    )

    result = ttmem("run", *python(killed), directory=tmp_path)
    told = explain(directory=tmp_path)
    listed = ttmem("ps", "--all", "--no-daemon", directory=tmp_path)

    assert result.returncode != 0
    assert "1 incident, details not kept." in result.stderr
    assert (told.code, "details not kept" in told.out, "No incidents" in told.out) == (0, True, False)
    assert "1 incident, details not kept." in listed.stdout


@pytest.mark.slow
def test_a_number_alone_is_the_newest_incident_of_that_number(tmp_path: Path, explain: Callable[..., Said]) -> None:
    [first, second] = [pid_of(ttmem("run", *python(FAILING), directory=tmp_path).stderr) for _ in range(2)]

    newest = explain("--incident", "1", directory=tmp_path)
    older = explain(str(first), "--incident", "1", directory=tmp_path)

    assert newest.out.startswith(f" ttmem explain  {second}-1  ")
    assert older.out.startswith(f" ttmem explain  {first}-1  ")
