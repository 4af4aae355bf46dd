"""Refusals of the stand-in, explained: once the named buffers are freed it grants what it refused."""

from tests.support.stand_in.host import Host
from ttmem.analysis import explain

MIB = 1 << 20
BANKS = 12


def of_every_bank(mib: int) -> str:
    return f"DRAM {mib * MIB * BANKS} {MIB}"


def test_the_named_buffer_makes_room(host: Host) -> None:
    host.tell("open 1 1 0", f"buffer 2 1 {of_every_bank(100)}", f"buffer 4 1 {of_every_bank(700)}")
    host.tell(f"buffer 6 1 {of_every_bank(50)}", "free 2")
    asked = f"buffer 8 1 {of_every_bank(500)}"

    assert host.tell(asked).startswith("throws ")
    found = explain(host.incident_copy(1))

    assert (found.cause, found.notes) == ("full", ())
    assert found.freeing is not None
    assert [int(entry.id, 16) for entry in found.freeing.entries] == [4]
    host.tell("free 4")
    assert not host.tell(asked).startswith("throws ")


def test_what_is_in_the_way_of_circular_buffers_is_named(host: Host) -> None:
    host.tell("open 1 1 0", "buffer 2 1 L1 73728 2048", "program 1", "kernel 1 data a/b.cpp 0,0-7,7 44")
    host.tell("cb 1 0,0-7,7 700 2048", "workload 1 1 2048 6 1")

    assert host.tell("enqueue 1").startswith("throws ")
    found = explain(host.incident_copy(1))

    assert found.clash is not None
    [entry] = found.clash.in_the_way
    assert (int(entry.id, 16), entry.address) == (2, found.clash.lowest_address)
    assert found.after == "last"
    host.tell("free 2")
    assert explain(host.incident_copy(1)).after == "no_launch"
    assert not host.tell("enqueue 1").startswith("throws ")
    assert explain(host.incident_copy(1)).after == "went_on"
