"""The recorded session of a simulated Wormhole, played again: the same addresses, and the figures that were read there.

tests/data/simulated_wormhole/events.jsonl is what a preloaded library saw of the stock runtime: two tensors, an
addition, a product, and a trace with an addition inside.
"""

import json
from pathlib import Path
from typing import Any

from tests.support.stand_in.host import CHIP, Host, HostLook
from tests.support.stand_in.stories import a_matmul, an_add
from ttmem.devices import BinaryStatus, Kind, Pool

RECORDED = Path(__file__).parents[2] / "data" / "simulated_wormhole" / "events.jsonl"
MESH = 1
TYPES = {0: "DRAM", 1: "L1", 4: "TRACE"}
ADD, MATMUL = 1, 3  # the runtime's numbers


def events(kind: str) -> list[dict[str, Any]]:
    lines = RECORDED.read_text(encoding="utf-8").splitlines()
    return [event for event in map(json.loads, lines) if event["ev"] == kind]


def asked_bytes(look: HostLook, pool: Pool) -> int:
    """Of tensors and traces, as the runtime's own counters count."""
    return sum(told.requested_bytes for told in look.buffers if told.pool is pool)


def tensor(identity: int) -> str:
    [event] = [event for event in events("alloc") if event["uid"] == identity]
    return f"buffer {identity} {MESH} {TYPES[event['type']]} {event['size']} {event['page']}"


def test_the_session_comes_out_as_it_was_recorded(host: Host) -> None:
    host.tell(f"open {MESH} 1 0", f"dispatch {MESH}")
    opened = host.look()
    addresses = {identity: int(host.tell(tensor(identity))) for identity in (0, 2, 4)}
    host.tell(*an_add(ADD), "program 2", "drop 2", "enqueue 1")
    added = host.look()
    addresses[10] = int(host.tell(tensor(10)))
    host.tell(*a_matmul(MATMUL), "program 4", "drop 4", "enqueue 2", "free 4")
    multiplied = host.look()
    addresses[16] = int(host.tell("begin 1", tensor(16)))
    host.tell("enqueue 1", f"end 1 0 18 {14_336}")
    captured = host.look()
    host.tell("release 1 0")
    released = host.look()

    recorded = {event["uid"]: event["addr"] for event in events("alloc")}
    assert addresses == {identity: recorded[identity] for identity in addresses}
    assert opened.buffers == []
    assert [told.id for told in added.buffers] == [0, 2, 4]
    assert [told.id for told in multiplied.buffers] == [0, 10, 2]
    assert [asked_bytes(multiplied, pool) for pool in (Pool.DRAM, Pool.L1)] == [16_384, 8192]
    assert asked_bytes(captured, Pool.TRACE) == 14_336
    assert [told.address for told in captured.buffers if told.pool is Pool.TRACE] == [recorded[18]]
    assert released.used(CHIP, Pool.TRACE) == 0


def test_circular_buffers_of_the_addition_are_the_recorded_ones(host: Host) -> None:
    host.tell(f"open {MESH} 1 0", *an_add(ADD), "enqueue 1")
    look = host.look()

    assert [(told.address, told.per_bank_bytes, told.core_count) for told in look.circular] == [
        (event["addr"], event["size"], event["cores"]) for event in events("cb")
    ]
    assert look.planned_bytes(CHIP) == 884_736  # as the runtime's own counter had it


def test_kernels_sum_up_to_the_recorded_texts(host: Host) -> None:
    """The text of a program on a core is the sum of its binaries there, each padded to 16."""
    host.tell(f"open {MESH} 1 0", f"dispatch {MESH}", *an_add(ADD), *a_matmul(MATMUL), "enqueue 1", "enqueue 2")
    kernels = host.look().kernels
    recorded = [event["text_size"] for event in events("finalize_kernel_bins") if event["text_size"]]
    texts = [sum(told.per_bank_bytes for told in kernels if told.program == program) for program in (ADD, MATMUL)]
    largest = max(told.per_bank_bytes for told in kernels if told.kind is Kind.KERNEL_DISPATCH)

    assert [largest, *texts] == recorded


def test_statuses_are_committed_as_recorded(host: Host) -> None:
    host.tell(f"open {MESH} 1 0", *an_add(ADD), *a_matmul(MATMUL), "enqueue 1", "enqueue 2")
    statuses = [status for status, _ in host.look().programs(CHIP).values()]

    assert [status.number for status in statuses] == [event["status"] for event in events("workload_binary_status")]
    assert statuses == [BinaryStatus.COMMITTED] * 2
