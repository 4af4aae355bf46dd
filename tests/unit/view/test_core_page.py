"""Parts of a core that share addresses are more together than the core: the page says so."""

import pytest

from ttmem.analysis.room.answers import RunTime
from ttmem.analysis.room.cores import CoreHighest, CoresReport
from ttmem.snapshot.values import TimeNs
from ttmem.view.page import PageOptions
from ttmem.view.pages.room import cores_page


def page(size_bytes: int) -> str:
    core = CoreHighest(
        chips=(),
        core=(0, 0),
        when=RunTime(TimeNs(0), TimeNs(0)),
        size_bytes=size_bytes,
        core_bytes=None,
        ring_bytes=1024,
        buffer_bytes=8192,
        circular_bytes=512 << 10,
        listed_bytes=(512 << 10) + 8192,
        sums=(),
        more_sum_count=0,
    )
    report = CoresReport(path="run", certainty="measured", why="", by=("kind",), asked=(0, 0), cores=(core,))
    return "".join(span.text for line in cores_page(report, PageOptions(None, is_ascii=True)) for span in line)


@pytest.mark.parametrize(("shared_bytes", "is_said"), [(0, False), (7520, True)])
def test_addresses_of_several_are_counted_once_and_that_is_said(shared_bytes: int, is_said: bool) -> None:
    text = page((512 << 10) + 8192 + 1024 - shared_bytes)

    assert "circular buffers of the program that ran last 512 KiB" in text
    assert ("7.34 KiB where several lie are counted once above" in text) is is_said
