"""Programs find another place for their journal when the first is somebody else's or full, and viewers look there."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.processes.compiled import compiled
from tests.support.processes.native_programs import CLIENT_LIBRARY, ROOT
from tests.support.processes.programs import command_of

OWN, OTHER = 3_100_000_001, 3_100_000_002  # users of nobody, in a /dev/shm of this test alone
JOURNAL_BYTES = 16 << 20

PROGRAM = """
#include <stdio.h>
#include <ttmem/client.h>
int main(void) {
    ttmem_launch(0, 1);
    return printf("%s", ttmem_journal_path()) < 0;
}
"""


def can_mount() -> bool:
    command = ["unshare", "--mount", "--propagation", "private", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return os.geteuid() == 0 and subprocess.run(command, capture_output=True).returncode == 0


pytestmark = pytest.mark.skipif(
    not can_mount(), reason="NOT TESTED: only root, where it may mount, can be two users in a /dev/shm of its own"
)


class Outcome(NamedTuple):
    """Where the journals of the programs are, what each wrote to stderr, and the findings of a viewer."""

    paths: list[str]
    said: list[str]
    findings: list[list[str]]


Staged = Callable[..., Outcome]


@pytest.fixture(scope="module")
def staged() -> Iterator[Staged]:
    """Runs a program that reports, and then viewers of its user and of root, which must find the same journals."""
    place = Path(tempfile.mkdtemp(prefix="ttmem-places-", dir="/var/tmp"))  # other users must be able to read it
    place.chmod(0o755)
    library = place / CLIENT_LIBRARY.name
    library.write_bytes(CLIENT_LIBRARY.read_bytes())
    program = compiled(place / "program", PROGRAM, f"-I{ROOT}/native/include", str(library), f"-Wl,-rpath,{place}")

    def stage(
        *made: tuple[str, int, str], uid: int = OWN, times: int = 1, shm: str = "64m", run: str = "64m", **settings: str
    ) -> Outcome:
        asked = {
            "sizes": {"/dev/shm": shm, "/run/user": run},
            "made": made,
            "uid": uid,
            "times": times,
            "program": str(program),
            "environ": {"TTMEM": "1", **settings},
        }
        command = ["unshare", "--mount", "--propagation", "private", *command_of("journals.small_places")]
        done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        answer = json.loads(done.stdout)
        assert answer["codes"] == [0] * times
        assert answer["seen"] == [answer["kept"], answer["kept"]]
        return Outcome(answer["paths"], answer["said"], answer["findings"])

    yield stage
    shutil.rmtree(place)


FIRST = f"/dev/shm/ttmem-{OWN}"


@pytest.mark.slow
def test_the_first_place_is_used_while_no_other_user_has_made_it(staged: Staged) -> None:
    [path], [said], findings = staged()

    assert (os.path.dirname(path), said, findings) == (FIRST, "", [])


@pytest.mark.parametrize("kind", ["directory", pytest.param("link", marks=pytest.mark.slow)])
def test_a_directory_that_another_user_made_does_not_stop_tracking(staged: Staged, kind: str) -> None:
    paths, said, findings = staged((FIRST, OTHER, kind), times=2)

    [place] = {os.path.dirname(path) for path in paths}  # the second program found what the first had made
    assert place.startswith(f"{FIRST}.")
    note = f"ttmem: {FIRST} belongs to uid {OTHER}, not to uid {OWN}; the journal of this program is in {place}\n"
    assert said == [note, note]
    assert [(name, at) for name, at, _ in findings] == [("directory_ignored", FIRST)]


@pytest.mark.slow
def test_root_reports_as_well_when_another_user_made_its_directory(staged: Staged) -> None:
    [path], [said], [finding] = staged(("/dev/shm/ttmem-0", OTHER, "directory"), uid=0)

    assert path.startswith("/dev/shm/ttmem-0.")
    assert f"/dev/shm/ttmem-0 belongs to uid {OTHER}, not to uid 0" in said
    assert finding[2] == (
        f"belongs to uid {OTHER}, not to uid 0 of its name; ignored, programs of uid 0 report in the next of their "
        "places instead"
    )


@pytest.mark.slow
def test_the_users_runtime_directory_is_the_next_place_whether_or_not_the_environment_names_it(staged: Staged) -> None:
    own = f"/run/user/{OWN}"
    for settings in ({}, {"XDG_RUNTIME_DIR": own}):
        [path], _, _ = staged((FIRST, OTHER, "directory"), (own, OWN, "directory"), **settings)

        assert os.path.dirname(path) == f"{own}/ttmem"


@pytest.mark.slow
def test_a_runtime_directory_of_another_user_is_no_place(staged: Staged) -> None:
    theirs = f"/run/user/{OTHER}"
    [path], _, _ = staged((FIRST, OTHER, "directory"), (theirs, OTHER, "directory"), XDG_RUNTIME_DIR=theirs)

    assert path.startswith(f"{FIRST}.")


@pytest.mark.slow
def test_directories_made_in_its_name_beforehand_are_skipped(staged: Staged) -> None:
    false = [(f"{FIRST}{end}", OTHER, "directory") for end in ("", ".00000000", ".1", ".ffffffff")]
    [path], _, findings = staged(*false)

    assert path.startswith(f"{FIRST}.")
    assert os.path.dirname(path) not in {name for name, _, _ in false}
    assert len(findings) == 1  # one note, however many there are


def test_a_full_shared_memory_is_said_in_one_true_sentence(staged: Staged) -> None:
    [path], [said], _ = staged(shm="8m", run="8m")

    assert path == ""
    assert said == (
        f"ttmem: {FIRST}: no room for a journal: it needs 15.6 MiB, and 8.0 MiB are free there (No space left on "
        "device); make room, lower TTMEM_TABLE, or set TTMEM_DIR to another file system; the program "
        "runs on untracked\n"
    )


@pytest.mark.slow
def test_when_shared_memory_is_full_another_file_system_is_tried(staged: Staged) -> None:
    own = f"/run/user/{OWN}"
    [path], [said], _ = staged((own, OWN, "directory"), shm="8m")

    assert os.path.dirname(path) == f"{own}/ttmem"
    assert said.startswith(f"ttmem: {FIRST}: no room for a journal: it needs 15.6 MiB, and 8.0 MiB are free there")
    assert said.endswith(f"; the journal of this program is in {own}/ttmem\n")


@pytest.mark.slow
def test_journals_of_the_dead_make_room_for_the_living(staged: Staged) -> None:
    paths, said, _ = staged(times=4, shm=str(2 * JOURNAL_BYTES + (8 << 20)))

    assert all(paths)
    assert said == [""] * 4
