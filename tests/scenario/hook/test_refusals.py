"""What the stand-in refuses, as incidents: kept with the figures of its words, wherever the buffer was to be."""

from pathlib import Path
from typing import Any

from tests.support.stand_in.build import StandIn
from tests.support.stand_in.host import Host
from ttmem.devices import Pool

DRAM_BANKS, PAGE = 12, 2048
OUT_OF_MEMORY, CLASH = 1, 2
KNOWN_CHIP = 0  # the number of the only one that is opened


def the_incident(host: Host) -> dict[str, Any]:
    [incident] = host.look().process["incidents"]
    return dict(incident)


def test_a_refusal_is_an_incident_with_the_figures_of_its_words(host: Host) -> None:
    host.tell(
        "open 1 1 0 1", *(f"buffer {number} 1 DRAM {8 * PAGE * DRAM_BANKS} {PAGE}" for number in (2, 4, 6)), "free 4"
    )
    said = host.tell(f"buffer 8 1 DRAM {1 << 40} {PAGE}").removeprefix("throws ")
    incident = the_incident(host)
    bank_bytes = incident["space_end_address"] - incident["space_begin_address"]

    assert (incident["kind"], incident["pool"], incident["is_mesh"], incident["text"]) == (
        OUT_OF_MEMORY,
        Pool.DRAM,
        True,
        said,
    )
    assert (incident["is_of_text"], incident["is_read_later"], incident["is_per_core"]) == (True, False, False)
    free, largest = bank_bytes - 16 * PAGE, bank_bytes - 24 * PAGE
    assert (incident["requested_bytes"], incident["bank_count"]) == (1 << 40, DRAM_BANKS)
    assert incident["requested_per_bank_bytes"] == -(-(1 << 40) // PAGE // DRAM_BANKS) * PAGE
    assert (incident["free_per_bank_bytes"], incident["largest_free_per_bank_bytes"]) == (free, largest)
    assert (incident["free_bytes"], incident["largest_free_bytes"]) == (free * DRAM_BANKS, largest * DRAM_BANKS)
    assert f"but bank size is {bank_bytes} B" in said


def test_a_refusal_without_figures_is_an_incident_that_says_they_were_read_later(host: Host) -> None:
    host.tell("small 32768", "open 1 1 0")
    said = host.tell("buffer 4 1 L1_SMALL 131072 2048").removeprefix("throws ")
    incident = the_incident(host)

    assert incident["text"] == said == "L1_SMALL only supports sharded allocations"
    assert (incident["is_of_text"], incident["is_read_later"]) == (False, True)
    assert (incident["requested_bytes"], incident["requested_per_bank_bytes"]) == (131072, None)
    assert (incident["free_per_bank_bytes"], incident["largest_free_per_bank_bytes"]) == (32768, 32768)


def test_a_refusal_of_a_buffer_by_core_reports_each_core_and_nothing_of_all(stand_in: StandIn, journals: Path) -> None:
    with Host(stand_in, journals, TT_METAL_ALLOCATOR_MODE_HYBRID="1") as host:
        said = host.tell("open 1 1 0 1", f"buffer 4 1@1 L1 {4 << 30} {1 << 20} 0,0-3,0").removeprefix("throws ")
        incident = the_incident(host)

    assert said.startswith("Out of Memory")
    assert (incident["is_per_core"], incident["is_of_text"], incident["is_mesh"]) == (True, True, False)
    assert (incident["requested_bytes"], incident["bank_count"]) == (4 << 30, 4)
    assert (incident["requested_per_bank_bytes"], incident["free_bytes"]) == (1 << 30, None)


def test_a_refusal_on_an_unknown_chip_is_an_incident_of_no_known_chip(host: Host) -> None:
    host.tell("open 1 1 0")
    said = host.tell(f"buffer 4 nowhere DRAM {1 << 40} {PAGE}").removeprefix("throws ")
    incident = the_incident(host)

    assert (incident["text"], incident["requested_bytes"]) == (said, 1 << 40)
    assert KNOWN_CHIP not in incident["devices"]


def test_a_clash_is_an_incident_with_the_figures_of_its_words(host: Host) -> None:
    host.tell("open 1 1 0", "buffer 2 1 L1 73728 2048", "program 1", "kernel 1 data a/b.cpp 0,0-7,7 44")
    address = host.look().buffers[0].address
    host.tell("cb 1 0,0-7,7 700 2048", "workload 1 1 2048 6 1")
    said = host.tell("enqueue 1").removeprefix("throws ")
    incident = the_incident(host)

    assert "clash with L1 buffers" in said
    assert (incident["kind"], incident["pool"], incident["text"]) == (CLASH, Pool.L1, said)
    assert (incident["program"], incident["cores"], incident["is_of_text"]) == (1, "0,0-7,7", True)
    assert incident["lowest_buffer_address"] == address
    assert said.endswith(f"region ends at {incident['cb_end_address']}")
    assert incident["devices"] == (KNOWN_CHIP,)
