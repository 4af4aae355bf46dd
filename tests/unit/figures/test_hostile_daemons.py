"""Daemons that answer something else than figures of ours: one sentence says so, and our own collector counts."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes.programs import a_program
from tests.support.server.false_daemons import Behaviour, a_false_daemon, a_short_directory, an_answer, some_answers
from tests.support.simulated.figures import a_busy_snapshot
from ttmem.figures import FigureSource
from ttmem.snapshot import Snapshot, replace
from ttmem.snapshot.codec import encoded

PROGRAM = ("chip = ttmem.open_device(5, index=3)", "ttmem.report_buffer_alloc(chip, 1, 4096)", "meet()")
OLD = b'{"schema":1,"time":"2026-01-01T00:00:00+00:00","time_ns":1767225600000000000,"device_info":[],"processes":[]}'
DEEP = b"[" * 10_000 + b"]" * 10_000


@pytest.fixture
def main() -> Iterator[Path]:
    with a_short_directory() as directory:
        yield directory


def with_first_pool(**changes: Any) -> bytes:
    """The busy snapshot, whose first figures are others."""
    document = json.loads(encoded(a_busy_snapshot()))
    document["devices"][0]["pools"][0].update(changes)
    return json.dumps(document).encode()  # which writes NaN, too


def without(name: str) -> bytes:
    document = json.loads(encoded(a_busy_snapshot()))
    del document["processes"][0][name]
    return json.dumps(document).encode()


HOSTILE = {
    "schema 1": (OLD, "expected figures of schema 2, found schema 1; both sides must be of one version"),
    "schema 3": (b'{"schema":3}', "found schema 3"),
    "garbage": (b"\x00\xff garbage", "found no JSON"),
    "nothing": (b"", "found no JSON"),
    "no object": (b"[1, 2]", "found others"),
    "half of it": (encoded(a_busy_snapshot())[:-9], "found no JSON"),
    "too deep": (DEEP, "found "),
    "too deep in a field": (b'{"schema":2,"weather":' + DEEP + b"}", "nested too deep"),
    "a negative count": (with_first_pool(used_bytes=-1), ">= 0"),
    "a huge count": (with_first_pool(used_bytes=1 << 70), "<= 9007199254740992"),
    "more than JSON has": (with_first_pool(used_bytes=(1 << 53) + 1), "<= 9007199254740992"),
    "not a number": (with_first_pool(used_bytes=float("nan")), "found no JSON"),
    "a share that is none": (with_first_pool(share=float("nan")), "found no JSON"),
    "a wrong word": (with_first_pool(pool="hbm"), "Invalid enum value 'hbm'"),
    "a wrong origin": (with_first_pool(origin="guessed"), "Invalid enum value 'guessed'"),
    "a missing field": (without("state"), "missing required field `state`"),
    "a text for a number": (with_first_pool(used_bytes="9"), "Expected `int`, got `str`"),
}


def answers_of(look: Callable[[FigureSource], Snapshot], main: Path, answer: Behaviour) -> tuple[Snapshot, int]:
    """What a viewer shows, and the pid of the program that is there."""
    environ = {
        "TTMEM_DIR": str(main),
        "TTMEM_SYSTEM_DIR": str(main / "system"),
        "TTMEM_STOCK_SHM_DIR": str(main / "no"),
    }
    with (
        a_program(main, *PROGRAM) as program,
        a_false_daemon(main, answer),
        FigureSource(environ, uid=os.geteuid()) as source,
    ):
        program.arrive()
        return look(source), program.pid


@pytest.mark.parametrize("look", [FigureSource.snapshot, FigureSource.overview], ids=["snapshot", "overview"])
@pytest.mark.parametrize(("text", "words"), HOSTILE.values(), ids=HOSTILE.keys())
def test_it_is_skipped_with_one_sentence(
    main: Path, look: Callable[[FigureSource], Snapshot], text: bytes, words: str
) -> None:
    snapshot, pid = answers_of(look, main, an_answer(text))
    [note] = [finding for finding in snapshot.findings if finding.name == "daemon_ignored"]

    assert (snapshot.source, [process.pid for process in snapshot.processes]) == ("embedded collector", [pid])
    assert note.path == f"{main}/daemon.sock"
    assert words in note.text
    assert "\n" not in note.text
    assert note.text.endswith("; the journals were read without it")


@pytest.mark.parametrize(
    "text", [OLD, b"{", DEEP, with_first_pool(used_bytes=-1)], ids=["old", "half", "deep", "below"]
)
def test_a_close_up_that_makes_no_sense_is_our_own(main: Path, text: bytes) -> None:
    """Also of a daemon whose overview is sound."""
    sound = replace(a_busy_snapshot(), places=(str(main),))
    answer = some_answers({"/overview": sound, **dict.fromkeys(("/process", "/chip", "/dump", "/history"), text)})
    seen: list[object] = []

    def look(source: FigureSource) -> Snapshot:
        seen.append(source.dump(kernels=False, device=None, most=5).source)
        seen.append(source.chip("3").device.index)
        seen.append(source.history(60).series[0].latest_bytes)
        return source.snapshot()

    snapshot, pid = answers_of(look, main, answer)

    assert seen == ["embedded collector", 3, 4096]
    assert [process.pid for process in snapshot.processes] == [pid]


def test_an_old_viewer_learns_the_version_from_the_first_field() -> None:
    """Viewers of schema 1 compare the number of that name first, and read the journals themselves if it is another."""
    document = json.loads(encoded(a_busy_snapshot()))

    assert next(iter(document.items())) == ("schema", 2)
