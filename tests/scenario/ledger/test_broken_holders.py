"""A chip that somebody has open whose journal broke: what is held there is unknown, never nothing, and every face says
so."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.journals.watching import Watch
from tests.support.processes.children import Actor
from ttmem.devices import Pool
from ttmem.monitor.parts.chips.figures import chip_views
from ttmem.monitor.parts.drawing import MonitorFrame
from ttmem.snapshot import Snapshot
from ttmem.snapshot.codec import decoded, encoded
from ttmem.view.page import PageOptions
from ttmem.view.pages.ps import page
from ttmem.view.queries.memory import memory_rows

CHIP = 0x1A2B
HOLD = (
    f"import ttmem; chip = ttmem.open_device({CHIP}, index=0, grid=(2, 2), kernel_ring_bytes=64, "
    "capacities={'dram': 1 << 30, 'l1': 1 << 20}); ttmem.report_buffer_alloc(chip, 7, 4096)"
)


def broken(watch: Watch, actor: Actor) -> Snapshot:
    """What is seen once the journal of a living process was cut."""
    watch.process(actor.pid)
    os.truncate(actor.journal, 8192)
    watch.process(actor.pid, lambda row: row["reason"] == "damaged")
    return watch.collector.snapshot()


@pytest.fixture
def actor(journals: Path) -> Iterator[Actor]:
    with Actor(journals) as actor:
        actor.do(HOLD)
        yield actor
        with suppress(ProcessLookupError):
            actor.kill()  # what it maps of its journal is gone


def test_what_is_held_there_is_unknown(watch: Watch, actor: Actor) -> None:
    [usage] = broken(watch, actor).devices
    found = {pool.pool: pool for pool in usage.pools}

    assert (usage.reason, usage.l1_used_bytes, usage.planned_core_bytes, usage.age_ms) == ("damaged", None, None, None)
    assert [usage.used_bytes(pool) for pool in (Pool.DRAM, Pool.L1, Pool.TRACE)] == [None, None, None]
    assert (found[Pool.DRAM].free_bytes, found[Pool.DRAM].largest_free_bytes) == (None, None)


def test_every_face_marks_it(watch: Watch, actor: Actor) -> None:
    snapshot = broken(watch, actor)
    lines = ["".join(span.text for span in line) for line in page(snapshot, PageOptions(width=100))]
    [csv] = memory_rows(snapshot, ())
    [chip] = chip_views(MonitorFrame(overview=snapshot), is_ascii=False)

    assert any(line.startswith("0!") and "[N/A]" in line for line in map(str.strip, lines)), lines
    assert (csv.used_bytes(Pool.DRAM), csv.usage.l1_used_bytes) == (None, None)
    assert (chip.mark[0], chip.dram.used_bytes, chip.l1.used_bytes) == ("?", None, None)


def test_the_same_is_shown_at_a_glance_and_by_a_daemon(watch: Watch, actor: Actor) -> None:
    snapshot = broken(watch, actor)
    [usage] = snapshot.devices

    assert watch.collector.overview().devices == snapshot.devices
    [again] = decoded(encoded(snapshot), Snapshot).devices
    assert (again.doubt, again.reason, again.used_bytes(Pool.L1)) == (usage.doubt, usage.reason, None)


def test_once_its_holder_is_gone_nothing_is_held(watch: Watch, actor: Actor) -> None:
    broken(watch, actor)
    actor.kill()
    actor.reap()
    watch.ended(actor.pid)

    [usage] = watch.collector.snapshot().devices

    assert (usage.reason, usage.used_bytes(Pool.DRAM)) == ("", 0)
