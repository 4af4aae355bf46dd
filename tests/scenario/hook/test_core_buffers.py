"""Buffers that are on one chip of a mesh, those that are allocated by core among them, as the hook reports them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.faces.scraped import rows_of, scraped, value
from tests.support.processes.running import ttmem
from tests.support.stand_in.build import OLD, StandIn
from tests.support.stand_in.host import CHIP, Host, unequal
from ttmem.devices import BufferLayout, Pool

KIB = 1024
DRAM_BANKS = 12
REFUSED = 1400  # KiB: more than a core has


@pytest.fixture
def host(stand_in: StandIn, journals: Path, release: str) -> Iterator[Host]:
    with Host(stand_in, journals, release=release, TT_METAL_ALLOCATOR_MODE_HYBRID="1") as one:
        yield one


def by_core(identity: int, kib: int, cores: str, core_count: int, chip: str = "1@0") -> str:
    """So many KiB on each core."""
    return f"buffer {identity} {chip} L1 {kib * core_count * KIB} {KIB} {cores}"


def test_a_buffer_by_core_at_one_address_has_one_part_and_is_charged_for_its_cores(host: Host) -> None:
    addresses = host.tell("open 1 1 0", by_core(2, 32, "0,0-3,0", 4)).split()
    look = host.look()
    [told] = look.buffers

    assert (len(addresses), len(set(addresses))) == (4, 1)
    assert told.parts == ((int(addresses[0]), 4, "0,0-3,0"),)
    assert (told.id, told.pool, told.chips, told.core_count) == (2, Pool.L1, (CHIP,), 4)
    assert (told.requested_bytes, told.per_bank_bytes, told.reserved_bytes) == (4 * 32 * KIB, 32 * KIB, 4 * 32 * KIB)
    assert look.form_of(2)[0] is BufferLayout.HEIGHT_SHARDED
    assert look.used(CHIP, Pool.L1) == 4 * 32 * KIB
    assert (look.findings, look.process["complete"]) == ({}, True)


def test_a_buffer_by_core_has_a_part_for_each_address_with_the_cores_that_have_it(host: Host) -> None:
    """The first buffer takes two cores of the second one's square; there the second one lies lower."""
    host.tell("open 1 1 0", by_core(2, 8, "1,0-1,1", 2))
    addresses = [int(address) for address in host.tell(by_core(4, 32, "0,0-2,1", 6)).split()]
    both = host.look()
    host.tell("free 4")
    left = host.look()
    host.tell("free 2")
    empty = host.look()
    [told] = [told for told in both.buffers if told.id == 4]
    free, taken = addresses[0], addresses[1]

    assert addresses == [free, taken, free, free, taken, free]
    assert free > taken
    assert told.parts == ((free, 4, "0,0-0,0;2,0-2,0;0,1-0,1;2,1-2,1"), (taken, 2, "1,0-1,1"))
    assert told.reserved_bytes == 6 * 32 * KIB
    assert both.used(CHIP, Pool.L1) == (2 * 8 + 6 * 32) * KIB
    assert ([told.id for told in left.buffers], left.used(CHIP, Pool.L1)) == ([2], 2 * 8 * KIB)
    assert (empty.alive, empty.used(CHIP, Pool.L1), empty.findings) == ([], 0, {})
    assert unequal(host.tell("tallies")) == []


def test_each_chip_of_a_mesh_has_its_own_buffer_by_core(host: Host) -> None:
    host.tell("open 1 1 0 1", by_core(2, 32, "0,0-3,0", 4, "1@0"), by_core(4, 32, "0,0-3,0", 4, "1@1"), "free 2")
    look = host.look()

    assert [(told.id, told.chips) for told in look.buffers] == [(4, (CHIP + 1,))]
    assert (look.used(CHIP, Pool.L1), look.used(CHIP + 1, Pool.L1)) == (0, 4 * 32 * KIB)


def test_a_buffer_of_one_chip_that_is_not_by_core_is_charged_there_for_all_banks(host: Host) -> None:
    address = host.tell("open 1 1 0 1", "buffer 2 1@1 DRAM 8192 2048")
    look = host.look()
    host.tell("free 2")
    [told] = look.buffers

    assert (told.address, told.chips, told.parts) == (int(address), (CHIP + 1,), ())
    assert (look.used(CHIP, Pool.DRAM), look.used(CHIP + 1, Pool.DRAM)) == (0, 2048 * DRAM_BANKS)
    assert (host.look().alive, look.process["complete"]) == ([], True)


def test_a_buffer_by_core_that_a_capture_only_imagines_is_not_charged_and_no_finding(host: Host) -> None:
    host.tell("open 1 1 0", "capture on", by_core(2, 32, "0,0-3,0", 4), "free 2", "capture off")
    look = host.look()

    assert (look.alive, look.findings, look.process["complete"]) == ([], {}, True)


def test_closing_a_mesh_ends_buffers_by_core_and_their_late_frees_are_no_finding(host: Host) -> None:
    host.tell("open 1 1 0", by_core(2, 8, "1,0-1,0", 1), by_core(4, 32, "0,0-3,0", 4), "close 1")
    closed = host.look()
    host.tell("free 2", "free 4")
    look = host.look()

    assert (closed.alive, closed.used(CHIP, Pool.L1)) == ([], 0)
    assert (look.alive, look.findings) == ([], {})


@pytest.mark.parametrize("release", [OLD])
def test_a_buffer_by_core_of_a_release_that_names_no_devices_is_missing_and_known_to_be(host: Host) -> None:
    host.tell("open 1 1 0", by_core(2, 32, "0,0-3,0", 4), "free 2")
    look = host.look()

    assert (look.alive, look.findings) == ([], {"unknown_device": 1})
    assert (look.process["complete"], look.process["reason"]) == (False, "unknown_device")


def test_a_buffer_by_core_whose_map_of_addresses_is_not_as_expected_is_missing_and_known_to_be(host: Host) -> None:
    """No chip has a column 300: whatever the hook reads there is no map of cores."""
    host.tell("open 1 1 0", by_core(2, 32, "300,0-303,0", 4), by_core(4, 32, "0,0-3,0", 4), "free 2")
    look = host.look()

    assert ([told.id for told in look.buffers], look.findings) == ([4], {"unknown_device": 1})
    assert (look.process["complete"], look.process["reason"]) == (False, "unknown_device")


def test_a_refusal_of_a_buffer_by_core_is_reported_on_its_chip(host: Host) -> None:
    host.tell("open 1 1 0 1", by_core(2, 32, "0,0-3,0", 4, "1@1"))
    before = host.look()
    thrown = host.tell(by_core(4, REFUSED, "0,0-3,0", 4, "1@1"))
    look = host.look()

    assert thrown.startswith("throws Out of Memory: Not enough space to allocate")
    assert look.refusals_since(before) == [(CHIP + 1, Pool.L1, 4 * REFUSED * KIB, 0, 0)]
    assert ([told.id for told in look.buffers], look.findings) == ([2], {})


def test_a_buffer_by_core_that_the_mode_of_the_device_forbids_is_shown_too(stand_in: StandIn, journals: Path) -> None:
    with Host(stand_in, journals) as host:
        host.tell("open 1 1 0")
        before = host.look()
        thrown = host.tell(by_core(2, 32, "0,0-3,0", 4))
        look = host.look()

    assert thrown == "throws Per-core allocation requires AllocatorMode::HYBRID when opening the device"
    [(chip, pool, requested_bytes, *_)] = look.refusals_since(before)
    assert (chip, pool, requested_bytes) == (CHIP, Pool.L1, 4 * 32 * KIB)
    assert (look.alive, look.findings) == ([], {})


def test_a_buffer_whose_device_is_unknown_is_a_finding_and_no_face_is_complete(
    stand_in: StandIn, journals: Path
) -> None:
    with Host(stand_in, journals, TT_METAL_ALLOCATOR_MODE_HYBRID="1") as host:
        host.tell("open 1 1 0", "buffer 2 1 DRAM 8192 2048", "buffer 4 nowhere L1 8192 2048", "free 4")
        host.tell(by_core(6, 32, "0,0-3,0", 4, "nowhere"))
        look = host.look()
        document = host.document()
        metrics = scraped(rows_of(host.snapshot()))
        page = ttmem("ps", "--no-daemon", directory=journals).stdout
        dump, listed = (ttmem("dump", "--no-daemon", *flags, directory=journals).stdout for flags in ((), ("--json",)))
    [process] = document["processes"]

    assert ([told.id for told in look.buffers], look.findings) == ([2], {"unknown_device": 2})
    assert (document["is_complete"], document["reason"]) == (False, "unknown_device")
    assert (process["is_complete"], process["reason"]) == (False, "unknown_device")
    assert process["findings"] == {"unknown_device": 2}
    assert (value(metrics, "ttmem_complete"), value(metrics, "ttmem_findings", finding="unknown_device")) == (0, 2)
    assert "incomplete: unknown_device" in page
    assert "has buffers whose device is not known: they are missing" in page
    assert "lists are not whole" in dump
    assert "has buffers whose device is not known: they are missing" in dump
    assert (json.loads(listed)["is_complete"], json.loads(listed)["unlisted"][0]["reason"]) == (False, "unknown_device")
