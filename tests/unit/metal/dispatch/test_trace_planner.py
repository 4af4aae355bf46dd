"""Plans of traces, replayed byte by byte: every program must find its binary whole when it is launched."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ttmem.metal.dispatch.trace_planner import PlannedNode, ProgramTooLarge, TraceNode, TracePlan, plan_trace
from ttmem.metal.state.layout.shelf import STALE_AFTER
from ttmem.tracking import CoreType

BASE, RING_BYTES = 1_000, 96
ETHERNET_BASE, ETHERNET_BYTES = 9_000, 24
RINGS = {CoreType.TENSIX: (BASE, RING_BYTES), CoreType.ACTIVE_ETH: (ETHERNET_BASE, ETHERNET_BYTES)}
WORKERS = 3


def a_node(program: int, *, config: int = 4, binary: int = 16, ethernet: int = 0, sub_device: int = 0) -> TraceNode:
    return TraceNode(
        program=program,
        config_bytes=config,
        binary_bytes=binary,
        worker_count=WORKERS,
        ethernet_bytes=ethernet,
        has_ethernet_kernels=ethernet > 0,
        sub_device=sub_device,
    )


def planned(nodes: list[TraceNode]) -> TracePlan:
    return plan_trace(nodes, RINGS)


def test_a_binary_used_again_is_sent_once() -> None:
    plan = planned([a_node(1)] * 3)

    assert [node.send_binary for node in plan.nodes] == [True, False, False]
    assert len({node.binary_address for node in plan.nodes}) == 1
    assert (plan.hit_count, plan.miss_count, plan.saved_bytes) == (2, 1, 32)


def test_a_plan_says_that_it_is_an_estimate() -> None:
    assert planned([]).is_estimate


def test_binaries_that_come_again_lie_at_the_bottom_and_all_else_at_the_top() -> None:
    first, once, again = planned([a_node(1), a_node(2), a_node(1)]).nodes

    assert first.binary_address == again.binary_address == BASE
    assert first.config_address == BASE + RING_BYTES - 4
    assert once.binary_address == once.config_address - 16 == BASE + RING_BYTES - 4 - 4 - 16


def test_what_is_needed_last_gives_way() -> None:
    soon, last, next_ = (a_node(program, config=0, binary=32) for program in (1, 2, 3))
    nops = [a_node(9, config=0, binary=0)] * 8  # enough launches for nobody to wait
    newcomer = a_node(4, config=0, binary=30)

    plan = planned([soon, last, next_, *nops, newcomer, next_, soon, newcomer, last])

    assert plan.nodes[11].binary_address == plan.nodes[1].binary_address == BASE + 32
    assert [node.send_binary for node in plan.nodes[11:]] == [True, False, False, False, True]


def test_ethernet_binaries_are_always_sent_again_and_wait_for_the_one_before() -> None:
    first, second = planned([a_node(1, ethernet=8)] * 2).nodes

    assert (first.send_binary, second.send_binary) == (True, True)
    assert (second.wait_for, second.sync_count) == (0, WORKERS)


def test_ethernet_binaries_inside_the_ring_need_no_wait_while_there_is_room() -> None:
    plan = plan_trace([a_node(1, ethernet=8)] * 3, RINGS, is_ethernet_code_fixed=False)

    assert [node.wait_for for node in plan.nodes] == [None, None, None]
    assert [node.send_binary for node in plan.nodes] == [True, True, True]


def test_the_first_launch_waits_for_whatever_ran_before() -> None:
    first, second = planned([a_node(1)] * 2).nodes

    assert (first.sync_count, first.is_stalled_first) == (0, True)
    assert (second.sync_count, second.is_stalled_first) == (None, False)


def test_the_eighth_launch_waits_for_a_free_launch_message() -> None:
    plan = planned([a_node(1, config=0)] * 9)

    assert [node.wait_for for node in plan.nodes] == [None] * 7 + [0, 1]
    assert not any(node.is_stalled_first for node in plan.nodes[1:])
    assert plan.nodes[8].sync_count == 2 * WORKERS


def test_sub_devices_have_the_ring_for_themselves() -> None:
    plan = planned([a_node(1, sub_device=0), a_node(1, sub_device=1), a_node(1, sub_device=0)])

    assert [node.send_binary for node in plan.nodes] == [True, True, False]


def test_a_program_that_finds_only_pieces_waits_for_all_and_starts_over() -> None:
    once = a_node(1, config=0, binary=20)  # at the top, so that arguments go below it rather than wait

    plan = planned([once, a_node(2, config=10, binary=80)])

    large = plan.nodes[1]
    assert (large.config_address, large.binary_address) == (BASE + 86, BASE + 6)
    assert (large.send_binary, large.wait_for, large.is_stalled_first) == (True, 0, True)
    replayed(plan)


def test_a_program_larger_than_the_ring_is_refused() -> None:
    with pytest.raises(ProgramTooLarge, match=r"program 7: 4 \+ 93 bytes do not fit a ring of 96"):
        planned([a_node(7, config=4, binary=93)])


# Programs differ in their sizes; a program always has the same ones.
PROGRAMS = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 76), st.sampled_from([0, 0, 0, 8, 24])), min_size=1, max_size=8
)
ORDERS = st.lists(st.tuples(st.integers(0, 7), st.sampled_from([0, 0, 0, 1])), max_size=60)


@given(PROGRAMS, ORDERS, st.booleans())
@example(
    [(0, 14, 0), (14, 43, 0), (0, 0, 0), (0, 0, 0), (13, 14, 0), (0, 26, 0)],
    [(0, 0), (5, 1), (1, 1), (0, 1), (1, 1), *[(0, 0)] * 8, (4, 1)],
    False,
)
def test_every_launch_of_a_replay_finds_what_it_needs(
    programs: list[tuple[int, int, int]], order: list[tuple[int, int]], is_ethernet_code_fixed: bool
) -> None:
    nodes = []
    for choice, sub_device in order:
        program = choice % len(programs)
        config, binary, ethernet = programs[program]
        nodes.append(a_node(program, config=config, binary=binary, ethernet=ethernet, sub_device=sub_device))

    plan = plan_trace(nodes, RINGS, is_ethernet_code_fixed=is_ethernet_code_fixed)

    assert [node.node for node in plan.nodes] == nodes
    replayed(plan)


def replayed(plan: TracePlan) -> None:
    sub_devices = {planned.node.sub_device for planned in plan.nodes}
    for sub_device in sub_devices:
        replay = Replay(is_alone=len(sub_devices) == 1)
        for index, node in enumerate(plan.nodes):
            if node.node.sub_device == sub_device:
                replay.launch(index, node)


class Replay:
    """A core as the replay sees it: every byte belongs to whoever wrote it last.

    Launches end in order, but only those that somebody waited for are known to have ended; all others may still run,
    and nothing they use may be written.

    With several sub-devices the allocator's rule for old regions (`Shelf`, STALE_AFTER) counts the launches of all of
    them, though a sub-device waits for its own alone: what is older than that counts as over here, too.
    """

    def __init__(self, *, is_alone: bool) -> None:
        self.is_alone = is_alone
        self.owners: dict[int, object] = {}
        self.running: dict[int, set[int]] = {}  # the bytes each launch uses that may not be over
        self.finished_count = 0
        self.counts: dict[int, int] = {}  # workers done when a node is

    def launch(self, index: int, planned: PlannedNode) -> None:
        node = planned.node
        config = self.inside(planned.config_address, node.config_bytes, BASE, RING_BYTES)
        binary = self.inside(planned.binary_address, node.binary_bytes, BASE, RING_BYTES)
        ethernet = self.inside(planned.ethernet_address, node.ethernet_bytes, ETHERNET_BASE, ETHERNET_BYTES)
        assert not config & binary, "the arguments of a launch lie in its own binary"
        if not self.is_alone:
            self.running = {one: used for one, used in self.running.items() if index - one <= STALE_AFTER}
        if planned.is_stalled_first:
            self.wait(planned)
        self.write(config, ("config", index))
        self.write(ethernet, ("ethernet", index))
        self.wait(planned)
        if planned.send_binary:
            self.write_binary(binary, node.program)
        assert all(self.owners.get(byte) == ("binary", node.program) for byte in binary), "its binary is not whole"
        assert all(self.owners.get(byte) == ("config", index) for byte in config), "its arguments are gone"
        self.finished_count += node.worker_count
        self.counts[index] = self.finished_count
        self.running[index] = config | binary | ethernet

    def wait(self, planned: PlannedNode) -> None:
        if planned.wait_for is None:
            return
        assert planned.sync_count == self.counts[planned.wait_for]
        self.running = {index: used for index, used in self.running.items() if index > planned.wait_for}

    def write(self, written: set[int], owner: object) -> None:
        for index, used in self.running.items():
            assert not used & written, f"node {index} may still run from these bytes"
        self.owners.update(dict.fromkeys(written, owner))

    def write_binary(self, written: set[int], program: int) -> None:
        """Sending a binary again over itself changes no byte of it, so it may."""
        owner = ("binary", program)
        self.write({byte for byte in written if self.owners.get(byte) != owner}, owner)

    @staticmethod
    def inside(address: int, size: int, base: int, ring_bytes: int) -> set[int]:
        if size == 0:
            return set()
        assert base <= address <= address + size <= base + ring_bytes, "outside the ring"
        return set(range(address, address + size))
