"""Files of other kinds as `ttmem inspect` tells them: regions, checkpoints, and what is neither."""

import json
import os
import random
import socket
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.faces.documents import described
from tests.support.machine.stock_regions import NOON_NS, Slot, a_region, put
from tests.support.server.server_bytes import alloc, cb_alloc
from tests.support.server.server_serving import an_engine, short_directory
from ttmem.errors import NothingToRead
from ttmem.sources.inspected import inspected

SAMPLES = sorted((Path(__file__).parents[3] / "data" / "shm").rglob("*.bin"))
MOST = 50


@pytest.mark.parametrize("path", random.Random(0).sample(SAMPLES, 5), ids=lambda path: path.stem)
def test_a_real_region_is_recognised_by_its_bytes(path: Path) -> None:
    given = inspected(str(path), most=MOST)

    assert (given["kind"], given["version"], given["bytes"]) == ("region", 3, 8576)
    assert described("A region") == set(given) - {"path", "kind", "bytes"}
    assert json.loads(json.dumps(given)) == given


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_a_region_is_shown_whichever_processes_live(tmp_path: Path, version: int) -> None:
    slot = Slot(2**22 + 5, (7, 0, 0, 0, 9), NOON_NS, b"gone")
    path = put(tmp_path, 5, a_region(slot, version=version, references=2, device_id=3))
    given = inspected(str(path), most=MOST)
    [process] = given["processes"]

    assert (given["version"], given["references"], given["device_id"]) == (version, 2, 3)
    assert (process["pid"], process["name"], process["dram"], process["cb"]) == (2**22 + 5, "gone", 7, 9)
    assert process["last_update_ns"] == NOON_NS
    assert given["state"] == ("ready" if version == 4 else None)
    assert ("0.81.1" in given["layout"]) == (version == 3)


def test_a_checkpoint_is_shown_whichever_processes_live(tmp_path: Path) -> None:
    path = tmp_path / "daemon.checkpoint"
    with an_engine() as engine, engine.line() as line:
        line.say(alloc(0x1000, 4096, device=2), cb_alloc(0x2000, 512, device=3))
        line.counters()
        path.write_bytes(engine.ledger.checkpoint() or b"")
    given = inspected(str(path), most=1)
    [process] = given["processes"]

    assert (given["kind"], given["version"]) == ("checkpoint", 2)
    assert described("A checkpoint") == set(given) - {"path", "kind", "bytes"}
    assert (process["pid"], process["live_count"], len(process["live"])) == (os.getpid(), 2, 1)
    assert {2, 3} <= set(process["chips"])
    assert process["live"][0]["reserved_bytes"] in (4096, 512)


def test_a_damaged_checkpoint_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "daemon.checkpoint"
    path.write_bytes(b"TTMEMCP1" + bytes(100))

    with pytest.raises(NothingToRead, match="a checkpoint that cannot be read: it is of version 0"):
        inspected(str(path), most=MOST)


@pytest.mark.parametrize(
    ("data", "found"),
    [(b"", "found 0 bytes and nothing in them"), (b"hello, you", "found 10 bytes that begin with 68 65 6c 6c 6f")],
)
def test_a_file_of_another_user_is_refused_with_all_one_needs(tmp_path: Path, data: bytes, found: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)

    with pytest.raises(NothingToRead) as refused:
        inspected(str(path), most=MOST)
    for words in (str(path), "expected a journal", "checkpoint", "region", found, "/dev/shm/tt_device_*_memory"):
        assert words in str(refused.value)


def test_a_file_with_the_name_of_a_region_says_why_it_is_none(tmp_path: Path) -> None:
    with pytest.raises(NothingToRead, match="found version 7"):
        inspected(str(put(tmp_path, 5, b"\7" + bytes(8575))), most=MOST)


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with short_directory() as directory, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(directory / "s"))
        for path, words in (
            (tmp_path, "found a directory"),
            (tmp_path / "pipe", "found a pipe"),
            (directory / "s", "found a socket; ttmem ps asks the daemon"),
            (tmp_path / "none", "no such file"),
        ):
            with pytest.raises(NothingToRead, match=words):
                inspected(str(path), most=MOST)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    head=st.sampled_from([b"", b"TMEMJNL1", b"TMEMJNL9", b"TTMEMCP1", b"\3\0\0\0", b"\4\0\0\0"]),
    body=st.binary(max_size=200),
    size_bytes=st.sampled_from([0, 100, 8536, 8576, 9000]),
)
def test_any_bytes_are_shown_or_refused(tmp_path: Path, head: bytes, body: bytes, size_bytes: int) -> None:
    path = tmp_path / "file"
    path.write_bytes((head + body).ljust(size_bytes, b"\0"))
    try:
        kind = inspected(str(path), most=MOST)["kind"]
    except NothingToRead as refused:
        kind = str(refused)

    assert kind == "region" or kind.startswith(f"{path}: ")
