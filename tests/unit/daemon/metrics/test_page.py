"""What stands on a page, by what is known: figures with the right labels, sums that add up, nothing that is unknown."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.support.faces.scraped import NOTHING, a_lifetime, rows_of, scraped, value
from tests.support.simulated.figures import GIB, MIB, NOON_NS, a_busy_snapshot, a_device, a_server_snapshot, a_snapshot
from tests.support.simulated.overviews import a_chip, a_device_usage, an_overview
from tests.support.simulated.random_rows import snapshots
from tests.support.simulated.read_figures import a_read_snapshot
from ttmem.daemon.metrics.exporter import Extras
from ttmem.devices import Pool
from ttmem.snapshot import PoolUsage, Snapshot, replace
from ttmem.snapshot.telemetry import ChipTelemetry
from ttmem.view.queries import MEMORY_FIELDS, memory_rows

DRAM = {"device": "0", "memory": "dram"}


def sums(samples: Any, name: str, by: str) -> dict[tuple[str, str], float]:
    """A metric summed over one of its labels, by device and memory."""
    found: dict[tuple[str, str], float] = {}
    for (its, labels), number in samples.items():
        if its == name:
            given = {key: text for key, text in labels if key != by}
            place = given["device"], given["memory"]
            found[place] = found.get(place, 0) + number
    return found


@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@given(snapshots())
def test_any_figures_make_a_page_that_adds_up(snapshot: Snapshot) -> None:
    found = scraped(rows_of(snapshot, a_lifetime(0, 1), Extras(processes=snapshot.live, has_aliases=True)))

    assert value(found, "ttmem_up") == 1
    assert min(number for (name, _), number in found.items() if name != "ttmem_l1_headroom_bytes") >= 0
    used, free, capacity = (sums(found, f"ttmem_memory_{name}_bytes", "kind") for name in ("used", "free", "capacity"))
    assert free.keys() <= capacity.keys()
    for place in free:
        assert used[place] + free[place] == pytest.approx(max(used[place], capacity[place]))


def test_a_page_of_nothing_still_says_that_somebody_answers() -> None:
    found = scraped(rows_of(a_snapshot()))

    assert value(found, "ttmem_up") == 1
    assert value(found, "ttmem_build_info", version="1.2.3", hostname="box") == 1
    assert value(found, "ttmem_clients", source="journal", state="live") == 0
    assert value(found, "ttmem_source_age_seconds", source="snapshot") == 0.25
    assert value(found, "ttmem_source_age_seconds", source="journal") is None


def test_figures_of_a_chip_are_those_of_the_table() -> None:
    found = scraped(rows_of(a_busy_snapshot(), a_lifetime(0)))

    assert value(found, "ttmem_memory_used_bytes", kind="buffer", **DRAM) == 9 * GIB
    assert value(found, "ttmem_memory_capacity_bytes", **DRAM) == 12 * GIB
    assert value(found, "ttmem_memory_peak_bytes", **DRAM) == 10 * GIB
    assert value(found, "ttmem_memory_allocations", **DRAM) == 40
    assert value(found, "ttmem_kernels", device="0", type="application") == 2
    assert value(found, "ttmem_kernel_bytes", device="0", type="fabric") == 255_104
    assert value(found, "ttmem_circular_buffers_resident_bytes", device="0") == 2 * MIB
    assert value(found, "ttmem_kernel_ring_bytes", device="0", core_type="tensix", state="live") == 48_000
    assert value(found, "ttmem_kernel_ring_bytes", device="0", core_type="active_eth", state="free") is None
    assert value(found, "ttmem_launches_total", device="0") == 12_345
    assert value(found, "ttmem_launches_total", device="1") is None


def test_binaries_of_programs_are_a_kind_of_their_own() -> None:
    pools = [(0, 0, 5 * MIB, 5 * MIB, 3, 6 * MIB, NOON_NS, NOON_NS, False)]
    snapshot = a_snapshot(devices=[a_device()], device_pools=pools, device_kinds=[(0, 8, MIB, 1, False)])
    found = scraped(rows_of(snapshot))

    assert value(found, "ttmem_memory_used_bytes", kind="buffer", **DRAM) == 4 * MIB
    assert value(found, "ttmem_memory_used_bytes", kind="program_binary", **DRAM) == MIB


def test_a_memory_that_nothing_was_ever_taken_of_is_free() -> None:
    found = scraped(rows_of(a_snapshot(devices=[a_device()])))

    assert value(found, "ttmem_memory_used_bytes", kind="buffer", **DRAM) == 0
    assert value(found, "ttmem_memory_free_bytes", **DRAM) == 12 * GIB
    assert value(found, "ttmem_memory_capacity_bytes", device="0", memory="trace") is None


def test_unknown_is_absent_and_never_nought() -> None:
    found = scraped(rows_of(a_server_snapshot()))

    assert value(found, "ttmem_memory_used_bytes", device="server:1", memory="dram") == 1 * GIB
    for name in ("capacity_bytes", "free_bytes", "largest_free_block_bytes"):
        assert value(found, f"ttmem_memory_{name}", device="server:1", memory="dram") is None
    assert value(found, "ttmem_l1_worst_core_used_bytes", device="server:1") is None


def test_what_was_read_is_never_one_series_with_what_was_counted() -> None:
    snapshot = a_read_snapshot()
    found = scraped(rows_of(snapshot))
    [read] = [pool for usage in snapshot.devices for pool in usage.pools if pool.read_bytes and pool.pool is Pool.DRAM]

    assert value(found, "ttmem_memory_read_bytes", **DRAM) == read.read_bytes
    assert value(found, "ttmem_memory_used_bytes", kind="buffer", **DRAM) == read.used_bytes
    assert value(found, "ttmem_memory_free_bytes", **DRAM) is None  # others hold some of it, nobody knows how much
    for usage in snapshot.devices:
        if usage.launch_count is None:
            label = str(usage.device.index)
            assert not [key for key in found if key[0].startswith("ttmem_kernel") and ("device", label) in key[1]]


def test_the_largest_free_block_is_told_where_it_is_known() -> None:
    usage = a_device_usage(0)
    pools = tuple(replace(pool, largest_free_bytes=77) if pool.pool is Pool.L1 else pool for pool in usage.pools)
    found = scraped(rows_of(an_overview(0, 0, devices=(replace(usage, pools=pools),))))

    assert value(found, "ttmem_memory_largest_free_block_bytes", device="0", memory="l1") == 77
    assert value(found, "ttmem_memory_largest_free_block_bytes", **DRAM) is None


def test_the_fullest_core_is_told_as_it_is_and_as_it_might_be() -> None:
    usage = replace(a_device_usage(0), planned_core_bytes=1_000_000, fullest_core_bytes=700_000, headroom_bytes=-4096)
    found = scraped(rows_of(an_overview(0, 0, devices=(usage,))))

    assert value(found, "ttmem_l1_fullest_core_bytes", device="0") == 700_000
    assert value(found, "ttmem_l1_planned_bytes", device="0") == 1_000_000
    assert value(found, "ttmem_l1_headroom_bytes", device="0") == -4096
    assert value(found, "ttmem_l1_worst_core_used_bytes", device="0") == 1_000_000
    assert value(found, "ttmem_l1_worst_core_resident_bytes", device="0") == 700_000


def test_more_held_than_a_chip_has_leaves_nothing_free_and_no_sum_below_nought() -> None:
    usage = a_device_usage(0)
    pools: tuple[PoolUsage, ...] = (replace(usage.pools[0], used_bytes=13 * GIB),)
    found = scraped(rows_of(an_overview(0, 0, devices=(replace(usage, pools=pools),))))

    assert value(found, "ttmem_memory_free_bytes", **DRAM) == 0


def test_what_the_runtime_keeps_back_is_unknown_wherever_one_asks() -> None:
    snapshot = a_busy_snapshot()
    [row, *_] = memory_rows(snapshot, ())
    [reserved] = [field for field in MEMORY_FIELDS if field.name == "dram.reserved"]

    assert reserved.value(row) is None
    assert not [name for name, _ in scraped(rows_of(snapshot)) if "reserved" in name]


def test_two_chips_of_one_index_are_two_series() -> None:
    first, second = a_device_usage(0), a_device_usage(1)
    second = replace(second, device=a_chip(1, index=0))
    found = scraped(rows_of(an_overview(0, 0, devices=(second, first)), NOTHING, Extras(has_aliases=True)))

    assert value(found, "ttmem_memory_used_bytes", kind="buffer", **DRAM) == first.pools[0].used_bytes
    other = {"device": str(second.device.uuid), "memory": "dram"}
    assert value(found, "ttmem_memory_used_bytes", kind="buffer", **other) == second.pools[0].used_bytes
    assert value(found, "tt_device_dram_total_megabytes", chip=other["device"]) == 12 * 1024


def test_a_chip_of_a_galaxy_has_the_tray_and_place_of_its_bus() -> None:
    chip = replace(a_device_usage(0), device=a_chip(0, board="galaxy"))
    empty = dict.fromkeys(ChipTelemetry.__struct_fields__)
    driver = ChipTelemetry(**{**empty, "node": 5, "pci_bus_id": "0000:83:00.0", "commands": (), "notes": ()})  # type: ignore[arg-type]
    extras = Extras({0: driver}, has_aliases=True)
    found = scraped(rows_of(an_overview(0, 0, devices=(chip,)), NOTHING, extras))

    info = {"device": "0", "dev_node": "/dev/tenstorrent/5", "tray": "2", "chip": "3", "pci_bus_id": "0000:83:00.0"}
    assert value(found, "ttmem_device_info", uuid=str(chip.device.uuid), **info) == 1
    assert value(found, "tt_device_dram_used_megabytes", tray="2", chip="3", hostname="box", unit="MB") == 1024


def test_the_names_of_tt_telemetry_are_there_on_request_only() -> None:
    overview = an_overview(2, 0)
    plain = scraped(rows_of(overview))
    asked = scraped(rows_of(overview, NOTHING, Extras(has_aliases=True)))

    assert not [name for name, _ in plain if name.startswith("tt_")]
    assert value(asked, "tt_device_dram_total_megabytes", chip="1") == 12 * 1024
    assert value(asked, "tt_dram_total_megabytes", hostname="box") == 24 * 1024
    used = sum(usage.pools[0].used_bytes for usage in overview.devices)
    assert value(asked, "tt_dram_used_megabytes") == round(used / MIB)
