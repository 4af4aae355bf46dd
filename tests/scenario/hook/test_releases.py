"""Other releases of the runtime: what they do not export is not told, never guessed; the rest is told as ever, and
`ttmem doctor` says beforehand which is which."""

from pathlib import Path

import pytest

from tests.support.hooked.process import hook_path
from tests.support.stand_in.build import (
    BASELESS,
    CURRENT,
    FUTURE,
    HOLLOW,
    NAMELESS,
    OLD,
    OLDEST,
    STRIPPED,
    StandIn,
)
from tests.support.stand_in.host import CHIP, Host, HostLook
from tests.support.stand_in.stories import NEARLY_ALL_L1, a_matmul, an_add
from ttmem.devices import BinaryStatus, Kind, Pool
from ttmem.doctor.entries import hook_entries
from ttmem.doctor.installation import of_library
from ttmem.doctor.runtime import presences, shown
from ttmem.tracking import CoreType, FoundBy

BUFFERS = (
    "open 1 1 0",
    "buffer 2 1 DRAM 8192 2048",
    "buffer 4 1 L1 8192 2048",
    "buffer 6 1 DRAM 8192 2048",
    "buffer 8 1 TRACE 2048 2048",
    "free 2",
)


@pytest.mark.parametrize("release", [CURRENT, STRIPPED])
def test_a_stripped_library_shows_as_much_as_any(release: str, stand_in: StandIn, journals: Path) -> None:
    with Host(stand_in, journals, release=release) as host:
        host.tell(*BUFFERS, *an_add(), "enqueue 1")
        look = host.look()

    assert sorted(told.id for told in look.buffers) == [4, 6, 8]
    assert (len(look.kernels), len(look.circular), look.launches(CHIP)) == (3, 3, 1)


@pytest.mark.parametrize("release", [OLD, OLDEST])
def test_buffers_of_a_release_without_their_getters_have_all_their_figures(
    release: str, stand_in: StandIn, journals: Path
) -> None:
    """Known by their places; their sizes follow from their pages."""
    with Host(stand_in, journals, release=release) as host:
        addresses = [host.tell(order) for order in BUFFERS]
        look = host.look()

    told = {(one.address, one.pool): one for one in look.buffers}
    assert set(told) == {(int(addresses[3]), Pool.DRAM), (int(addresses[2]), Pool.L1), (int(addresses[4]), Pool.TRACE)}
    assert [one.requested_bytes for one in told.values()] == [8192, 2048, 8192]
    assert look.used(CHIP, Pool.DRAM) == 2048 * 12
    assert look.findings == {}


SMALL_BYTES = 32_768
L1_BANKS = 72
SMALL = (f"small {SMALL_BYTES}", "open 1 1 0", "buffer 2 1 L1 8192 2048", "buffer 4 1 L1_SMALL 2048 2048 1")


@pytest.mark.parametrize("release", [CURRENT, OLD, OLDEST])
def test_small_buffers_are_distinguished_also_where_only_their_address_differs(
    release: str, stand_in: StandIn, journals: Path
) -> None:
    with Host(stand_in, journals, release=release) as host:
        host.tell(*SMALL)
        look = host.look()
        host.tell("free 4")
        freed = host.look()

    assert sorted((one.pool, one.per_bank_bytes) for one in look.buffers) == [(Pool.L1, 2048), (Pool.L1_SMALL, 2048)]
    assert look.used(CHIP, Pool.L1_SMALL) == 2048 * L1_BANKS
    assert freed.used(CHIP, Pool.L1_SMALL) == 0
    assert freed.findings == {}


@pytest.mark.parametrize("release", [CURRENT, OLD])
def test_a_refusal_of_small_memory_names_it_also_where_only_addresses_differ(
    release: str, stand_in: StandIn, journals: Path
) -> None:
    with Host(stand_in, journals, release=release) as host:
        host.tell(*SMALL)
        before = host.look()
        host.tell(f"buffer 6 1 L1_SMALL {SMALL_BYTES} 2048 1")
        look = host.look()

    [(_, pool, *_)] = look.refusals_since(before)
    assert pool is Pool.L1_SMALL


def test_where_small_buffers_cannot_be_distinguished_they_are_unknown_and_not_zero(
    stand_in: StandIn, journals: Path
) -> None:
    with Host(stand_in, journals, release=BASELESS) as host:
        host.tell(*SMALL)
        look = host.look()
        seen = host.document()

    [chip] = seen["device_info"]
    [process] = seen["processes"]
    assert {one.pool for one in look.buffers} == {Pool.L1}
    assert look.findings == {"undivided_l1": 1}
    assert "l1_small" not in chip["memory"]
    assert chip["memory"]["l1"]["used_bytes"] == 2 * 2048 * L1_BANKS <= chip["memory"]["l1"]["capacity_bytes"]
    assert (chip["memory"]["l1"]["is_complete"], chip["memory"]["l1"]["reason"]) == (False, "undivided")
    assert (process["is_complete"], process["reason"]) == (False, "undivided")
    assert process["findings"] == {"undivided_l1": 1}


@pytest.mark.parametrize("release", [CURRENT, OLD])
def test_a_trace_without_a_region_is_shown_as_one(release: str, stand_in: StandIn, journals: Path) -> None:
    with Host(stand_in, journals, release=release) as host:
        host.tell("region off", "open 1 1 0", "buffer 2 1 DRAM 8192 2048", "begin 1", "end 1 0 118 14336")
        look = host.look()
        host.tell("release 1 0", "buffer 4 1 DRAM 14336 2048")
        released = host.look()

    [trace] = look.of(Kind.TRACE_BUFFER)
    assert (trace.pool, trace.requested_bytes, trace.reserved_bytes) == (Pool.DRAM, 14_336, 2048 * 12)
    assert len(look.buffers) == 1
    assert look.used(CHIP, Pool.DRAM) == 2 * 2048 * 12
    assert released.of(Kind.TRACE_BUFFER) == []
    assert len(released.buffers) == 2
    assert (look.findings, released.findings) == ({}, {})


def test_kernels_without_binaries_are_listed_and_not_asked_for_their_sizes(stand_in: StandIn, journals: Path) -> None:
    with Host(stand_in, journals, release=HOLLOW) as host:
        host.tell("open 1 1 0", "binaries off", *an_add(), "enqueue 1")
        hollow = host.look()
        host.tell("clear 1", "binaries on", *an_add(3, workload=3, binaries=12), "enqueue 3")
        look = host.look()

    assert [(kernel.per_bank_bytes, kernel.packed_bytes) for kernel in hollow.kernels] == [(0, ())] * 3
    assert len(look.kernels) == 3
    assert all(kernel.per_bank_bytes for kernel in look.kernels)


def test_a_program_goes_by_the_number_that_the_runtime_has_for_it(stand_in: StandIn, journals: Path) -> None:
    """0, too, which is another thing than a program that nobody knows."""
    with Host(stand_in, journals) as host:
        host.tell("open 1 1 0", *an_add(0), *a_matmul(4), "enqueue 1", "enqueue 2", "buffer 2 1 DRAM 8192 2048")
        look = host.look()
        nothing = host.look()
        host.tell(f"buffer 8 1 L1 {NEARLY_ALL_L1} 2048", "enqueue 1")
        clashed = host.look()
        seen = host.document()

    assert {kernel.program for kernel in look.kernels} == {0, 4}
    assert {one.program for one in look.circular} == {0, 4}
    assert set(look.programs(CHIP)) == {0, 4}
    assert sorted(kernel.id >> 12 for kernel in look.kernels) == [0, 0, 0, 4, 4, 4]
    assert [one.program for one in look.buffers] == [None]
    assert [program for _, program, *_ in clashed.clashes_since(nothing)] == [0]
    assert [clash["program"] for clash in seen["processes"][0]["clashes"]] == [0]
    assert {program["program"] for program in seen["processes"][0]["programs"]} == {0, 4}


@pytest.mark.parametrize("release", [OLD, OLDEST])
def test_places_that_are_used_again_are_not_mixed_up_without_ids(
    release: str, stand_in: StandIn, journals: Path
) -> None:
    with Host(stand_in, journals, release=release) as host:
        host.tell("open 1 1 0", "together 4 churn 1 %0000 400", "buffer 2 1 DRAM 8192 2048")
        look = host.look()

    assert [told.address for told in look.buffers] == [1_048_640]
    assert look.findings == {}


@pytest.mark.parametrize("release", [CURRENT, OLD])
def test_a_late_free_is_not_taken_for_one_on_the_mesh_that_is_open_now(
    release: str, stand_in: StandIn, journals: Path
) -> None:
    with Host(stand_in, journals, release=release) as host:
        late = host.tell("open 1 1 0", "buffer 2 1 DRAM 8192 2048")
        now = host.tell("close 1", "open 3 1 0", "buffer 4 3 DRAM 8192 2048")
        host.tell("free 2")
        look = host.look()

    assert late == now
    assert [told.address for told in look.buffers] == [int(now)]
    assert look.findings == {}


def test_programs_of_the_oldest_release_are_shown_as_far_as_it_lets_us(stand_in: StandIn, journals: Path) -> None:
    with Host(stand_in, journals, release=OLDEST) as host:
        host.tell("open 1 1 0", *an_add(), "enqueue 1", "enqueue 1")
        look = host.look()
        host.tell("clear 1")
        cleared = host.look()

    assert [told.address for told in look.circular] == [105_824, 109_920, 114_016]
    assert len(look.kernels) == 3
    assert {kernel.found_by for kernel in look.kernels} == {FoundBy.PATH}
    assert look.launches(CHIP) == 2
    assert (cleared.alive, cleared.findings) == ([], {})


def test_a_future_release_with_other_getters_shows_less_and_nothing_wrong(stand_in: StandIn, journals: Path) -> None:
    with Host(stand_in, journals, release=FUTURE) as host:
        said = host.tell(*BUFFERS, *an_add(), "enqueue 1")
        journal_names = [path.name for path in journals.iterdir()]
        told = host.look_if_any()

    assert said == "launched"
    assert told is None or (told.alive, told.findings) == ([], {}), journal_names


def test_a_runtime_without_names_is_left_alone(stand_in: StandIn, journals: Path) -> None:
    with Host(stand_in, journals, release=NAMELESS) as host:
        said = host.tell(*BUFFERS, *an_add(), "enqueue 1")

    assert said == "launched"
    assert list(journals.iterdir()) == []


def test_nothing_is_written_where_tracking_is_off(stand_in: StandIn, journals: Path) -> None:
    with Host(stand_in, journals, TTMEM="0") as host:
        said = host.tell(*BUFFERS, *an_add(), "enqueue 1")

    assert said == "launched"
    assert list(journals.iterdir()) == []


def test_old_and_new_releases_in_one_process_are_asked_in_their_own_way(stand_in: StandIn, journals: Path) -> None:
    with Host(stand_in, journals) as host:
        host.tell("open 1 1 0", "buffer 2 1 DRAM 8192 2048")
        host.load("old", OLD)
        host.tell("open 3 1 1", "buffer 2 3 L1 8192 2048")
        host.tell("use first", "buffer 4 1 L1 8192 2048")
        look = host.look()

    assert {(told.pool, told.chips) for told in look.buffers} == {
        (Pool.DRAM, (CHIP,)),
        (Pool.L1, (CHIP,)),
        (Pool.L1, (CHIP + 1,)),
    }
    assert look.of(Kind.BUFFER) == look.alive


STORY = (
    "open 1 1 0",
    "buffer 2 1 DRAM 8192 2048",
    "buffer 3 1@0 L1 131072 1024 0,0-3,0",
    "buffer 4 1 DRAM 99999999999999 2048",
    *an_add(),
    "enqueue 1",
    "begin 1",
    "enqueue 1",
    "end 1 0 118 14336",
    "replay 1 0",
    f"buffer 6 1 L1 {NEARLY_ALL_L1} 2048",
    "enqueue 1",
)


def promised(library: Path) -> dict[str, bool]:
    found = presences(hook_entries(str(hook_path())), of_library(str(library), {}))
    return {what.feature.name: what.level != "none" for what in shown(found)}


def told(look: HostLook | None, nothing: HostLook) -> dict[str, bool]:
    if look is None:
        return {}
    programs = look.programs(CHIP).values()
    return {
        "devices": look.open_chips == [CHIP],
        "buffers": any(told.pool is Pool.DRAM for told in look.buffers),
        "buffers by core": any(told.parts for told in look.buffers),
        "out of memory": look.refusals_since(nothing) != [],
        "circular buffers": look.circular != [],
        "clashes": look.clashes_since(nothing) != [],
        "kernels": look.kernels != [],
        "binary status": any(status is BinaryStatus.COMMITTED for status, _ in programs),
        "launches": look.launches(CHIP) > 0,
        "kernel ring": look.ring(CHIP, CoreType.TENSIX)["launches"] > 0,
        "traces": look.launches(CHIP) == 2,  # one by hand, one by a replay
    }


@pytest.mark.parametrize("release", [CURRENT, STRIPPED, OLD, OLDEST, FUTURE, NAMELESS])
def test_doctor_promises_what_the_hook_shows(release: str, stand_in: StandIn, journals: Path) -> None:
    with Host(stand_in, journals, release=release, TT_METAL_ALLOCATOR_MODE_HYBRID="1") as host:
        host.tell(STORY[0])
        nothing = host.look_if_any()
        host.tell(*STORY[1:])
        look = host.look_if_any()
    seen = told(look, nothing) if nothing else {}
    expected = promised(stand_in.library(release))

    assert {name: seen.get(name, False) for name in expected} == expected
