"""Headroom of a chip: how far the lowest L1 buffer is above the circular buffers of all loaded programs."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.journals.reporters import Nursery, Reporter, a_nursery
from ttmem.collector import Collector
from ttmem.snapshot import DeviceUsage
from ttmem.sources import Places

L1_BYTES, SHARE_BYTES = 1_499_136, 1_393_312  # of a core of wormhole_b0, and what its opener says of each bank
BEGIN = L1_BYTES - SHARE_BYTES
FACTS = (0, "wormhole_b0", "n150", (8, 8), (12, 64), (0, 0, 64 * SHARE_BYTES, *[0] * 7), 70_656)
L1, L1_SMALL = 1, 3  # types of buffers


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with a_nursery() as one:
        yield one


@pytest.fixture
def collector(journals: Path) -> Iterator[Collector]:
    with Collector(Places(uid=os.geteuid(), directory=str(journals))) as one:
        yield one


def the_chip(collector: Collector) -> DeviceUsage:
    assert collector.wait_settled(10.0)
    [snapshot], [overview] = collector.snapshot().devices, collector.overview().devices
    assert overview.headroom_bytes == snapshot.headroom_bytes
    assert overview.headroom_programs == snapshot.headroom_programs
    return snapshot


def put_buffer(reporter: Reporter, identity: int, address: int, buffer_type: int = L1) -> None:
    reporter.call("report_buffer_alloc", 1, identity, 64 * 1024, 64 * 1024, address, 1024, buffer_type)


def put_circular_buffer(reporter: Reporter, identity: int, program: int, size_bytes: int) -> None:
    cores = reporter.call("intern", "0,0-7,7")
    reporter.call("report_cb_alloc", 1, identity, BEGIN, size_bytes, 64, 0, program, 2, 0, cores)


def test_headroom_is_between_the_circular_buffers_and_the_lowest_buffer(
    journals: Path, nursery: Nursery, collector: Collector
) -> None:
    reporter = nursery.start(journals)
    reporter.call("open_device", 0x77, *FACTS)
    empty = the_chip(collector).headroom_bytes
    put_circular_buffer(reporter, 1, 5, 4096)
    without_buffers = the_chip(collector).headroom_bytes
    put_buffer(reporter, 2, BEGIN + 100_000)
    put_buffer(reporter, 3, BEGIN + 1024, L1_SMALL)
    both = the_chip(collector)
    put_circular_buffer(reporter, 4, 6, 100_064)
    short = the_chip(collector)
    reporter.call("report_cb_free", 1, 1)
    reporter.call("report_cb_free", 1, 4)
    without_programs = the_chip(collector).headroom_bytes

    assert empty == SHARE_BYTES
    assert without_buffers == SHARE_BYTES - 4096
    assert (both.headroom_bytes, both.headroom_programs) == (100_000 - 4096, ())
    assert (short.headroom_bytes, short.headroom_programs) == (-64, ((reporter.pid, 6),))
    assert without_programs == 100_000


def test_headroom_is_unknown_if_a_buffer_did_not_say_where_it_lies(
    journals: Path, nursery: Nursery, collector: Collector
) -> None:
    reporter = nursery.start(journals)
    reporter.call("open_device", 0x78, *FACTS)
    put_buffer(reporter, 1, 0)

    assert the_chip(collector).headroom_bytes is None


def test_headroom_needs_no_bounds_of_l1_where_a_core_has_both(
    journals: Path, nursery: Nursery, collector: Collector
) -> None:
    reporter = nursery.start(journals)
    reporter.call("open_device", 0x79, 0, "", "", (0, 0), (0, 0), (0,) * 10, 0)
    nobody = the_chip(collector).headroom_bytes
    put_circular_buffer(reporter, 1, 5, 4096)
    put_buffer(reporter, 2, BEGIN + 100_000)

    assert nobody is None
    assert the_chip(collector).headroom_bytes == 100_000 - 4096
