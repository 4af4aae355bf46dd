"""Traces of the stand-in that are replayed over somebody's buffer, as the hook reports them."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.stand_in.build import StandIn
from tests.support.stand_in.host import CHIP, Host
from tests.support.stand_in.stories import an_add
from ttmem.analysis import explain
from ttmem.devices import Pool
from ttmem.sources.inspected import inspected

UNSAFE_REPLAY = 3
BANKS, PAGE = 12, 2048
SIZE = 4 * PAGE * BANKS
TRACE_ID = 0


def dram(identity: int, mesh: str = "1") -> str:
    return f"buffer {identity} {mesh} DRAM {SIZE} {PAGE}"


def incidents_of(host: Host) -> list[dict[str, Any]]:
    return [dict(row) for row in host.look().process["incidents"]]


def captured(host: Host, *inside: str, mesh: int = 1) -> None:
    """A capture on a mesh, with these orders in it."""
    assert host.tell(f"begin {mesh}") == str(TRACE_ID)
    host.tell(*inside)
    host.tell(f"end {mesh} {TRACE_ID} 118 14336")


def test_a_buffer_where_a_trace_writes_is_an_incident_when_it_is_replayed(host: Host) -> None:
    host.tell("open 1 2 0 1 2 3", dram(2))
    captured(host, dram(4), "free 4")
    address = int(host.tell(dram(6)))
    before = incidents_of(host)
    host.tell(*[f"replay 1 {TRACE_ID}"] * 5)
    [incident] = incidents_of(host)
    look = host.look()

    assert before == []
    assert (incident["kind"], incident["pool"], incident["trace"]) == (UNSAFE_REPLAY, Pool.DRAM, TRACE_ID)
    assert (incident["address"], incident["requested_bytes"]) == (address, SIZE)
    assert incident["requested_per_bank_bytes"] == 4 * PAGE
    assert (incident["repeat_count"], len(incident["devices"])) == (4, 4)
    assert not incident["is_uncertain"]
    assert look.findings == {}
    found = explain(host.incident_copy(1))
    assert found.replay is not None
    assert found.replay.entry is not None
    assert int(found.replay.entry.id, 16) == 6


def test_a_buffer_beside_it_or_freed_in_time_is_none(host: Host) -> None:
    host.tell("open 1 1 0", dram(2))
    captured(host, dram(4), "free 4")
    taken = int(host.tell(dram(6)))
    beside = int(host.tell(dram(8)))
    host.tell("free 6", f"replay 1 {TRACE_ID}")

    assert beside >= taken + 4 * PAGE
    assert incidents_of(host) == []


def test_an_output_is_safe_until_it_is_freed(host: Host) -> None:
    host.tell("open 1 1 0")
    captured(host, dram(4))
    host.tell(f"replay 1 {TRACE_ID}", "free 4", dram(6))
    before = incidents_of(host)
    host.tell(f"replay 1 {TRACE_ID}")

    assert before == []
    assert [row["trace"] for row in incidents_of(host)] == [TRACE_ID]


def test_a_buffer_in_l1_below_the_circular_buffers_of_a_captured_program_is_one(host: Host) -> None:
    host.tell("open 1 1 0", "program 1", "kernel 1 data a/b.cpp 0,0-7,7 44", "cb 1 0,0-7,7 512 2048")
    host.tell("workload 1 1 2048 6 1", "enqueue 1")
    captured(host, "enqueue 1")
    host.tell("clear 1", "drop 1", "buffer 8 1 L1 73728 2048", f"replay 1 {TRACE_ID}")
    high = incidents_of(host)
    address = int(host.tell(f"buffer 10 1 L1 {64 * 400 * PAGE} {PAGE}"))
    host.tell(f"replay 1 {TRACE_ID}")
    [incident] = incidents_of(host)

    assert high == []
    assert (incident["pool"], incident["address"]) == (Pool.L1, address)
    assert incident["cb_end_address"] > address


def test_released_and_closed_traces_write_nothing(host: Host) -> None:
    host.tell("open 1 1 0")
    captured(host, dram(4), "free 4")
    host.tell(dram(6), f"release 1 {TRACE_ID}", f"replay 1 {TRACE_ID}", "free 6", "begin 1", dram(8), "free 8")
    host.tell("end 1 1 120 14336", "close 1", "open 1 1 0", dram(10), "replay 1 1")

    assert incidents_of(host) == []


def test_a_capture_that_could_not_be_stored_writes_nothing(host: Host) -> None:
    host.tell("open 1 1 0", "begin 1", dram(4), "free 4")
    said = host.tell(f"end 1 {TRACE_ID} 118 {1 << 40}")
    host.tell(dram(6), dram(8), "free 8", dram(10), f"replay 1 {TRACE_ID}")

    assert said.startswith("throws ")
    assert UNSAFE_REPLAY not in [row["kind"] for row in incidents_of(host)]


@pytest.mark.parametrize("region", ["on", "off"])
def test_traces_leave_records_with_their_bytes(host: Host, journals: Path, region: str) -> None:
    host.tell(f"region {region}", "open 1 1 0")
    captured(host)
    host.tell(*[f"replay 1 {TRACE_ID}"] * 2, f"release 1 {TRACE_ID}")
    look = host.look()
    [journal] = journals.glob("*.journal")
    events = inspected(str(journal), most=100)["recent"]
    told = [event for event in events if event["event"].startswith("Trace")]
    assert [event["event"] for event in told] == ["TraceCaptured", *["TraceReplayed"] * 2, "TraceReleased"]
    assert told[0]["size_bytes"] == -(-14336 // PAGE // BANKS) * PAGE * BANKS
    assert look.findings == {}


def test_buffers_by_core_meet_a_trace_on_their_cores_alone(stand_in: StandIn, journals: Path) -> None:
    with Host(stand_in, journals, TT_METAL_ALLOCATOR_MODE_HYBRID="1") as host:
        host.tell("open 1 1 0 1")
        captured(host, "buffer 4 1@0 L1 8192 2048 0,0-3,0", "free 4")
        host.tell("buffer 6 1@0 L1 8192 2048 4,0-7,0", "buffer 8 1@1 L1 8192 2048 0,0-3,0", f"replay 1 {TRACE_ID}")
        elsewhere = incidents_of(host)
        host.tell("buffer 10 1@0 L1 2048 2048 3,0-3,0", f"replay 1 {TRACE_ID}")
        [incident] = incidents_of(host)
        chips = host.snapshot().processes[0].incidents[0].device_ids

    assert elsewhere == []
    assert (incident["cores"], incident["is_per_core"]) == ("3,0-3,0", True)
    assert chips == (f"{CHIP:#018x}",)


def test_a_program_that_is_built_after_the_capture_lies_elsewhere(host: Host) -> None:
    """Binaries are handed out from above, where no buffer of the capture was."""
    host.tell("open 1 1 0")
    captured(host, dram(4), "free 4")
    host.tell(*an_add(), "enqueue 1", f"replay 1 {TRACE_ID}")

    assert incidents_of(host) == []
