"""A recording of the stock runtime says of a hundred moments what the runtime itself said was alive then."""

import os
import time
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

from tests.support.hooked.crowds import turns
from tests.support.hooked.process import Hooked, StartedHooked
from tests.support.timing.waiting import PATIENCE_SECONDS
from ttmem.collector import Collector
from ttmem.collector.recorded import Moment
from ttmem.devices import Kind, Pool
from ttmem.recording import Meta, Recording, RecordingWriter
from ttmem.sources import Places

MOMENTS, STEPS = 100, 24
L1_SMALL, TRACE = 32_768, 1 << 20
_VIEW = 1


def alive_in(moment: Moment, pid: int) -> tuple[int, Counter[tuple[int, str]]]:
    """The newest sequence among its buffers, and where they lie."""
    [process] = [process for process in moment.snapshot.live if process.pid == pid]
    rows = [row for row in moment.allocations(process.key) if row[1] == Kind.BUFFER.number and not row[4] & _VIEW]
    newest = max((row[13] for row in rows), default=0)
    return newest, Counter((row[7], Pool.numbered(row[3]).name) for row in rows)


def said_by(answer: dict[str, Any]) -> Counter[tuple[int, str]]:
    return Counter((address, name) for address, name, _ in answer["buffers"])


def newest_of(hooked: Hooked) -> int:
    """The sequence of the newest buffer, as a living collector has it."""
    key = hooked.look().process["key"]
    rows = [row for row in hooked.watch.allocations(key) if row[1] == Kind.BUFFER.number and not row[4] & _VIEW]
    return max((row[13] for row in rows), default=0)


def test_what_a_recording_has_alive_is_what_the_runtime_had(hooked_of: StartedHooked, tmp_path: Path) -> None:
    hooked = hooked_of("n150")
    collector = Collector(Places(uid=os.geteuid(), directory=str(hooked.journals)))
    writer = RecordingWriter(tmp_path / "run.ttmem", collector.ledger, meta=Meta())
    noted: list[tuple[int, int, Counter[tuple[int, str]]]] = []
    with hooked.opened(l1_small=L1_SMALL, trace=TRACE) as device:
        assert collector.wait_settled(PATIENCE_SECONDS)  # a process that other tests used has a long history
        writer.flush()
        requests = turns(5, grid=device.grid, dram_bank_count=device.views["DRAM"][0], steps=STEPS)
        for request in islice(requests, MOMENTS):
            answer = hooked.ask(request)
            at_ns = time.monotonic_ns()
            assert collector.wait_settled(PATIENCE_SECONDS)
            writer.flush()
            noted.append((at_ns, newest_of(hooked), said_by(answer)))
    collector.tick()
    writer.close()

    recording = Recording(tmp_path / "run.ttmem")
    assert recording.lost_record_count == 0
    assert sum(said.total() for _, _, said in noted) > MOMENTS
    for at_ns, newest, said in noted:
        assert alive_in(Moment(recording, at_ns=at_ns), hooked.pid) == (newest, said)
