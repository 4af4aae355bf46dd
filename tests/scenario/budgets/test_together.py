"""What several processes held together, whoever was found late."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scenario.recording.test_survival import Recorded, allocate
from tests.support.journals.reporters import Nursery, a_nursery
from ttmem.devices import Pool
from ttmem.figures.together import holders_at, together_peaks
from ttmem.recording import Recording

CHIP, SIZE = 0x51, 4096


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with a_nursery() as one:
        yield one


def test_a_process_that_was_found_late_counts_when_it_held(nursery: Nursery, journals: Path, tmp_path: Path) -> None:
    early, late = nursery.start(journals), nursery.start(tmp_path)
    recorded = Recorded(journals, tmp_path / "run.ttmem")
    targets = [one.open_device(CHIP) for one in (early, late)]
    allocate(early, targets[0], 1, 3)
    allocate(late, targets[1], 1, 4)  # 7 together
    early.do(*(("report_buffer_free", targets[0], number) for number in range(1, 4)))
    recorded.take()  # the other has not been found
    late.attach_to(recorded.collector.ledger)
    allocate(early, targets[0], 10, 2)  # 6
    recorded.take()
    recorded.writer.close()
    recording = Recording(tmp_path / "run.ttmem")

    found = together_peaks(recording, 1, recording.last_ns)

    assert found[CHIP, Pool.DRAM].size_bytes == 7 * SIZE
    [holder] = holders_at(recording, CHIP, Pool.DRAM, found[CHIP, Pool.DRAM].time_ns, recording.last_ns)
    assert (holder.size_bytes, holder.count) == (7 * SIZE, 7)
    early.kill()
    late.kill()
