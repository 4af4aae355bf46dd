"""What a port tells of sites."""

from tests.support.simulated.figures import a_device, a_dump, a_process, a_snapshot, an_incident
from ttmem.daemon.queries.frames import encoded_for, encoded_frame, without_directories
from ttmem.snapshot import Snapshot
from ttmem.snapshot.codec import decoded
from ttmem.snapshot.dump import Dump
from ttmem.snapshot.incidents import Frame

FRAME = {"file": "models/llama/model.py", "line": 118, "function": "forward"}
SITE = {"frames": (FRAME,), "text": "/models/ada/model.py:7 main", "operation": "ttnn.matmul"}


def test_sites_name_files_without_their_directories() -> None:
    told = without_directories(
        {"path": "/dev/shm/x.journal", "site": SITE, "allocations": [{"stack": ["/models/ada/a.py:3 in f", "b.py:4"]}]}
    )

    assert told["site"] == {
        "frames": [{**FRAME, "file": "model.py"}],
        "text": "model.py:7 main",
        "operation": "ttnn.matmul",
    }
    assert told["allocations"] == [{"stack": ["a.py:3 in f", "b.py:4"]}]
    assert told["path"] == "/dev/shm/x.journal"


def test_the_unix_socket_gets_all_of_it() -> None:
    snapshot = a_snapshot(devices=[a_device(0), a_device(1)], processes=[a_process(incidents=[an_incident()])])

    answer = encoded_frame(snapshot)

    assert decoded(answer.as_shown(is_public=False), Snapshot) == snapshot
    assert b"models/llama" in answer.as_shown(is_public=False)
    assert b"models/llama" not in answer.as_shown(is_public=True)
    [process] = decoded(answer.as_shown(is_public=True), Snapshot).processes
    assert process.incidents[0].site is not None
    assert process.incidents[0].site.frames[0] == Frame("model.py", 118, "forward")


def test_stacks_of_allocations_are_shortened_likewise() -> None:
    private, public = (encoded_for(a_dump(), is_public=is_public) for is_public in (False, True))

    assert b"/srv/model.py:6 make" in private
    assert b"/srv" not in public
    assert b'"model.py:6 make"' in public
    assert decoded(public, Dump).count == a_dump().count


def test_what_has_no_sites_is_sent_as_it_is() -> None:
    snapshot = a_snapshot(devices=[a_device(0)])

    assert encoded_frame(snapshot).public is None
