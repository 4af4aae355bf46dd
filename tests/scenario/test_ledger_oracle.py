"""Random stories of several real processes: whatever they report, the ledger says what a simple oracle says.

Four readers watch every story. One drains after each step, so even its peaks must be right. One drains now and then,
often after having been lapped. One attaches late. And one is fed with what the first had read.
"""

import shutil
import tempfile
from operator import index
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.support.journals.agreement import Expected, Seen, one_life
from tests.support.journals.oracle import CB_KINDS, KERNELS, SIZE_MOST, Life, Oracle, OracleProcess
from tests.support.journals.reporters import Nursery, Reporter
from tests.support.simulated.whole_rows import check_overview
from tests.support.timing.waiting import wait_until
from ttmem._native import Ledger, testing
from ttmem.devices import Kind, Pool

VIEW, BY_HANDLE = 1, 2
CHIPS = (0xA0, 0xA1, 0xA2)
MESHES = {7: (1, 2, (0, 1)), 8: (3, 1, (2, 1, 0))}  # id: rows, columns, chips
UNNAMED_TARGETS = (0, 200)
NO_HANDLE = 1 << 62
PROCESSES_MOST = 3

choices = st.integers(0, 1 << 16)
ids = st.one_of(st.integers(1, 6), st.sampled_from([0, 1 << 32, (1 << 64) - 1]))
sizes = st.one_of(
    st.integers(0, 1 << 20), st.sampled_from([0, 1, -1, SIZE_MOST, SIZE_MOST + 1, 1 << 63, 1 << 64, 1 << 70])
)
core_counts = st.sampled_from([0, 1, 64, 65_535])


class Actor:
    """A process and its double in the oracle: everything said to one is told to the other."""

    def __init__(self, name: str, reporter: Reporter, oracle: Oracle) -> None:
        self.name = name
        self.reporter = reporter
        self.truth: OracleProcess = oracle.start(name)
        self.by_handle_only: set[int] = set()
        self.targets: list[int] = list(UNNAMED_TARGETS)
        self.chip_targets: dict[int, int] = {}
        self.phase_numbers: list[int] = []

    def target(self, choice: int) -> int:
        return self.targets[choice % len(self.targets)]

    def made(self, life: Life, handle: int) -> None:
        assert handle != 0
        assert handle not in self.truth.by_handle
        self.truth.by_handle[handle] = life


class Reader:
    """A ledger that attached to processes of a story, and how it calls them."""

    def __init__(self, *, has_tap: bool = False) -> None:
        self.ledger = testing.tapped_ledger() if has_tap else Ledger()
        self.names: dict[int, str] = {}

    def attach(self, actor: Actor) -> None:
        self.names[actor.reporter.attach_to(self.ledger)] = actor.name

    def seen(self) -> Seen:
        return Seen(self.ledger, self.names)

    def expected(self, oracle: Oracle) -> Expected:
        return Expected(oracle, self.names.values())

    def wait_for_ends(self, oracle: Oracle) -> None:
        """Until it knows of every death."""
        ends = {name for name in self.names.values() if not oracle.processes[name].is_alive}
        wait_until(lambda: self.ledger.drain() == 0 and ends <= self._ended())

    def _ended(self) -> set[str]:
        return {
            self.names[row["key"]] for row in testing.flat_rows(self.ledger)["processes"] if row["state"] == "ended"
        }


class Stories(RuleBasedStateMachine):
    """What processes may do, in any order."""

    nursery: Nursery  # set by the test that runs the stories

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="ttmem-stories-"))
        self.oracle = Oracle()
        self.actors: dict[str, Actor] = {}
        self.prompt, self.lazy = Reader(has_tap=True), Reader()
        self.records: dict[str, tuple[bytes, bytes]] = {}
        self.ring = 0
        self.is_agreeing = False

    # ---- the cast

    @initialize(ring=st.sampled_from([64, 1024]))
    def first_process(self, ring: int) -> None:
        self.ring = ring
        self._start()

    @rule()
    @precondition(lambda self: len(self.actors) < PROCESSES_MOST)
    def another_process(self) -> None:
        self._start()

    def _start(self) -> None:
        name = f"p{len(self.actors)}"
        reporter = self.nursery.start(self.directory, TTMEM_TABLE="512", TTMEM_RING=str(self.ring))
        self.actors[name] = Actor(name, reporter, self.oracle)
        self.prompt.attach(self.actors[name])
        self.lazy.attach(self.actors[name])

    def _actor(self, choice: int) -> Actor:
        living = [actor for actor in self.actors.values() if actor.truth.is_alive]
        assume(living)
        return living[choice % len(living)]

    @rule(who=choices)
    def is_killed(self, who: int) -> None:
        actor = self._actor(who)
        actor.reporter.kill()
        self.oracle.end(actor.name)
        self.prompt.wait_for_ends(self.oracle)
        self.lazy.wait_for_ends(self.oracle)

    # ---- targets

    @rule(who=choices, chip=st.integers(0, len(CHIPS) - 1))
    def opens_a_chip(self, who: int, chip: int) -> None:
        actor = self._actor(who)
        target = actor.reporter.open_device(CHIPS[chip])
        actor.truth.open_device(target, CHIPS[chip])
        actor.chip_targets[chip] = target
        self._remember(actor, target)

    @rule(who=choices, mesh_id=st.sampled_from(sorted(MESHES)))
    def opens_a_mesh(self, who: int, mesh_id: int) -> None:
        actor = self._actor(who)
        rows, columns, chips = MESHES[mesh_id]
        assume(all(chip in actor.chip_targets for chip in chips))
        targets = [actor.chip_targets[chip] for chip in chips]
        target = actor.reporter.call("open_mesh", mesh_id, rows, columns, targets)
        actor.truth.open_mesh(target, (mesh_id, rows, columns), targets)
        self._remember(actor, target)

    def _remember(self, actor: Actor, target: int) -> None:
        if target not in actor.targets:
            actor.targets.append(target)

    @rule(who=choices, where=choices)
    def closes_a_target(self, who: int, where: int) -> None:
        actor = self._actor(who)
        target = actor.target(where)
        actor.reporter.call("close_target", target)
        actor.truth.close(target)

    # ---- allocations

    @rule(
        who=choices,
        where=choices,
        id=ids,
        reserved=sizes,
        requested=sizes,
        type=st.integers(0, 6),
        is_view=st.booleans(),
    )
    def allocates_a_buffer(
        self, who: int, where: int, id: int, reserved: int, requested: int, type: int, is_view: bool
    ) -> None:
        actor = self._actor(who)
        target = actor.target(where)
        options = VIEW if is_view else 0
        handle = actor.reporter.call("report_buffer_alloc", target, id, reserved, requested, 0, 0, type, 0, options)
        actor.made(actor.truth.buffer(target, id, reserved, requested, type=type, is_view=is_view), handle)

    @rule(who=choices, where=choices, size=sizes)
    def allocates_a_buffer_to_be_freed_by_handle(self, who: int, where: int, size: int) -> None:
        actor = self._actor(who)
        target = actor.target(where)
        id = 1000 + len(actor.by_handle_only)
        handle = actor.reporter.call("report_buffer_alloc", target, id, size, 0, 0, 0, 0, 0, BY_HANDLE)
        actor.by_handle_only.add(handle)
        actor.made(actor.truth.buffer(target, id, size), handle)

    @rule(
        who=choices,
        where=choices,
        id=ids,
        size=sizes,
        cores=core_counts,
        kind=st.sampled_from([*CB_KINDS, 77]),
        is_view=st.booleans(),
    )
    def allocates_a_circular_buffer(
        self, who: int, where: int, id: int, size: int, cores: int, kind: int, is_view: bool
    ) -> None:
        actor = self._actor(who)
        target = actor.target(where)
        options = VIEW if is_view else 0
        handle = actor.reporter.call("report_cb_alloc", target, id, 0, size, cores, options, 0, kind)
        actor.made(actor.truth.circular_buffer(target, id, size, cores, kind=kind, is_view=is_view), handle)

    @rule(
        who=choices,
        where=choices,
        id=ids,
        kind=st.sampled_from([*KERNELS, 99]),
        binary=sizes,
        cores=core_counts,
        exact=st.one_of(st.just(0), sizes),
        by_rule=st.one_of(st.just(0), sizes),
        pool=st.sampled_from([0, Pool.KERNEL, Pool.ETH]),
    )
    def loads_a_kernel(self, who: int, where: int, **kernel: int) -> None:
        actor = self._actor(who)
        target = actor.target(where)
        id, kind, binary, cores = (kernel[name] for name in ("id", "kind", "binary", "cores"))
        exact, by_rule, pool = (kernel[name] for name in ("exact", "by_rule", "pool"))
        handle = actor.reporter.call("report_kernel_load", target, id, kind, binary, cores, exact, by_rule, 0, pool)
        life = actor.truth.kernel(target, id, kind, binary, cores, exact=exact, by_rule=by_rule, pool=pool)
        actor.made(life, handle)

    # ---- frees, right and wrong ones

    @rule(who=choices, which=choices)
    def frees_by_handle(self, who: int, which: int) -> None:
        actor = self._actor(who)
        handles = [handle for handle, life in actor.truth.by_handle.items() if not life.ended]
        assume(handles)
        self._free(actor, handles[which % len(handles)])

    @rule(who=choices, which=choices)
    def frees_by_handle_again(self, who: int, which: int) -> None:
        actor = self._actor(who)
        assume(not actor.truth.awaited_frees())
        handles = [handle for handle, life in actor.truth.by_handle.items() if life.ended]
        self._free(actor, handles[which % len(handles)] if handles else NO_HANDLE)

    @rule(who=choices, which=choices)
    def frees_what_a_close_has_ended(self, who: int, which: int) -> None:
        actor = self._actor(who)
        handles = [handle for handle, life in actor.truth.by_handle.items() if life.ended == "closed"]
        assume(handles)
        handle = handles[which % len(handles)]
        life = actor.truth.by_handle[handle]
        if which % 2 or handle in actor.by_handle_only or life.key in actor.truth.live:
            self._free(actor, handle)
        else:
            self._free_id(actor, *life.key)

    def _free(self, actor: Actor, handle: int) -> None:
        actor.reporter.call("report_free", handle)
        actor.truth.free(handle)

    @rule(who=choices, which=choices)
    def frees_by_id(self, who: int, which: int) -> None:
        actor = self._actor(who)
        unindexed = {actor.truth.by_handle[handle].key for handle in actor.by_handle_only}
        keys = [key for key in actor.truth.live if key not in unindexed]
        assume(keys)
        self._free_id(actor, *keys[which % len(keys)])

    @rule(
        who=choices,
        where=choices,
        kind=st.sampled_from([Kind.BUFFER, *CB_KINDS, *KERNELS, Kind.PROGRAM_BINARY]),
        id=ids,
    )
    def frees_any_id(self, who: int, where: int, kind: Kind, id: int) -> None:
        actor = self._actor(who)
        target = actor.target(where)
        assume(not actor.truth.awaited_frees(target))
        self._free_id(actor, target, kind, id)

    def _free_id(self, actor: Actor, target: int, kind: int | Kind, id: int) -> None:
        if kind == Kind.BUFFER:
            actor.reporter.call("report_buffer_free", target, id)
        elif kind == Kind.PROGRAM_BINARY:
            actor.reporter.call("report_program_end", target, id)
        elif kind in CB_KINDS or kind == Kind.UNKNOWN:
            actor.reporter.call("report_cb_free", target, id, index(kind) or 77)
        else:
            actor.reporter.call("report_kernel_unload", target, id, 99 if kind == Kind.KERNEL_UNKNOWN else index(kind))
        actor.truth.free_id(target, kind, id)

    # ---- programs, phases, shortage

    @rule(who=choices, where=choices, program=st.integers(1, 3), status=st.integers(0, 2), dram_bytes=sizes)
    def changes_a_status(self, who: int, where: int, program: int, status: int, dram_bytes: int) -> None:
        actor = self._actor(who)
        target = actor.target(where)
        actor.reporter.call("report_binary_status", target, program, status, dram_bytes)
        actor.truth.status(target, program, status, dram_bytes)

    @rule(who=choices, where=choices, program=st.integers(0, 3), times=st.integers(1, 40))
    def launches(self, who: int, where: int, program: int, times: int) -> None:
        actor = self._actor(who)
        target = actor.target(where)
        actor.reporter.do(*[("report_launch", target, program)] * times)
        for _ in range(times):
            actor.truth.launch(target, program)

    @rule(who=choices, name=st.sampled_from(["prefill", "decode"]))
    def begins_a_phase(self, who: int, name: str) -> None:
        actor = self._actor(who)
        assume(len(actor.phase_numbers) < 4)
        number = actor.reporter.call("begin_phase", actor.reporter.call("intern", name))
        actor.truth.begin_phase(number, name)
        actor.phase_numbers.append(number)

    @rule(who=choices, which=choices)
    def ends_a_phase(self, who: int, which: int) -> None:
        actor = self._actor(who)
        assume(actor.phase_numbers)
        number = actor.phase_numbers.pop(which % len(actor.phase_numbers))
        actor.reporter.call("end_phase", number)
        actor.truth.end_phase(number)

    @rule(who=choices, where=choices, pool=st.sampled_from(list(Pool)), figures=st.tuples(sizes, sizes, sizes))
    def runs_out_of_memory(self, who: int, where: int, pool: int, figures: tuple[int, int, int]) -> None:
        actor = self._actor(who)
        target = actor.target(where)
        actor.reporter.call("report_out_of_memory", target, pool, *figures)
        actor.truth.no_memory(target, pool, *figures)

    @rule(who=choices, where=choices, program=choices, ends=st.tuples(*[st.integers(0, 1 << 50)] * 2))
    def clashes(self, who: int, where: int, program: int, ends: tuple[int, int]) -> None:
        actor = self._actor(who)
        target = actor.target(where)
        actor.reporter.call("report_clash", target, program, *ends)
        actor.truth.clash(target, program, *ends)

    # ---- the readers

    @invariant()
    def a_reader_that_keeps_up_is_exact(self) -> None:
        self.is_agreeing = False
        self.prompt.ledger.drain()
        seen, expected = self.prompt.seen(), self.prompt.expected(self.oracle)
        check_balances(seen, expected)
        assert seen.findings() == expected.findings()
        assert seen.out_of_memory() == expected.out_of_memory()
        assert seen.clashes() == expected.clashes()
        assert seen.process_peaks() == {place: (peak, False) for place, peak in expected.process_peaks().items()}
        assert seen.device_peaks() == {place: (peak, False) for place, peak in self.oracle.peaks.items()}
        check_overview(self.prompt.ledger)
        for key, name in self.prompt.names.items():
            records, arena = testing.taken(self.prompt.ledger, key)
            self.records[name] = (self.records.get(name, (b"", b""))[0] + records, arena)
        self.is_agreeing = True

    @rule()
    def a_reader_that_looks_now_and_then_is_right(self) -> None:
        check_late(self.lazy, self.oracle)

    @rule()
    def a_reader_that_comes_late_is_right(self) -> None:
        late = Reader()
        for actor in self.actors.values():
            if actor.truth.is_alive:
                late.attach(actor)
        check_late(late, self.oracle)

    @rule(who=choices)
    def what_was_alive_at_the_peak_is_known(self, who: int) -> None:
        actor = self._actor(who)
        seen = self.prompt.seen()
        [key] = [key for key, name in self.prompt.names.items() if name == actor.name]
        numbers = {name: number for number, name in seen.devices.items()}
        for (device, pool), lives in actor.truth.alive_at_peak.items():
            rows, is_whole = testing.alive_at_peak(self.prompt.ledger, key, numbers[device], index(pool))
            assert is_whole
            assert sorted(_charge(seen.one_allocation(row)) for row in rows) == sorted(
                _charge(one_life(actor.truth, life)) for life in lives if life.is_allocation
            )

    @rule()
    def a_replay_says_the_same(self) -> None:
        check_replay(self.records, self.oracle)

    def teardown(self) -> None:
        try:
            if self.is_agreeing:
                check_late(self.lazy, self.oracle)
                check_replay(self.records, self.oracle)
                self._all_are_killed()
        finally:
            for actor in self.actors.values():
                actor.reporter.kill()
            shutil.rmtree(self.directory, ignore_errors=True)

    def _all_are_killed(self) -> None:
        for actor in self.actors.values():
            actor.reporter.kill()
            self.oracle.end(actor.name)
        for reader in (self.prompt, self.lazy):
            reader.wait_for_ends(self.oracle)
            assert_nothing_is_held(testing.flat_rows(reader.ledger))


def _charge(row: tuple[Any, ...]) -> tuple[int, int, int, int]:
    """What one row of the list at the peak charges: status and launches go on after it."""
    return (row[1], row[2], row[3], row[6])


def check_balances(seen: Seen, expected: Expected) -> None:
    """Balances, counts, the list, launches, programs, phases: what must be right for every reader."""
    assert seen.doubts() == {}
    figures, truth = seen.figures(), expected.figures()
    for table in truth:
        assert (table, figures[table]) == (table, truth[table])
    assert seen.allocations() == expected.allocations()
    assert seen.phases() == expected.phases()
    assert seen.open_phases() == expected.open_phases()


def check_late(reader: Reader, oracle: Oracle) -> None:
    """A reader that may have missed something: everything but history is exact, and peaks are never too high."""
    wait_until(lambda: reader.ledger.drain() == 0 and not reader.seen().doubts())
    seen, expected = reader.seen(), reader.expected(oracle)
    check_balances(seen, expected)
    assert seen.findings(is_classified=False) == expected.findings(is_classified=False)
    truth = expected.process_peaks()
    for place, (peak, is_lower_bound) in seen.process_peaks().items():
        assert peak == truth.get(place, 0) or (is_lower_bound and peak < truth[place])
    for device_place, (peak, _) in seen.device_peaks().items():
        assert peak <= oracle.peaks[device_place]
    check_overview(reader.ledger)


def check_replay(records: dict[str, tuple[bytes, bytes]], oracle: Oracle) -> None:
    """Feeding what was read makes the same balances again; ending everybody makes them zero."""
    replay = Ledger()
    names = {testing.feed(replay, *taken, (1, 0, 0, name)): name for name, taken in records.items()}
    for key, name in names.items():
        if not oracle.processes[name].is_alive:
            testing.end(replay, key)
    seen, expected = Seen(replay, names), Expected(oracle, names.values())
    figures, truth = seen.figures(), expected.figures()
    for table in truth:
        assert (table, figures[table]) == (table, truth[table])
    assert seen.allocations() == expected.allocations()
    assert seen.out_of_memory() == expected.out_of_memory()
    assert seen.clashes() == expected.clashes()
    assert seen.process_peaks() == {place: (peak, False) for place, peak in expected.process_peaks().items()}
    for key in names:
        testing.end(replay, key)
    assert_nothing_is_held(testing.flat_rows(replay))


def assert_nothing_is_held(rows: dict[str, Any]) -> None:
    assert [row for row in rows["device_pools"] if any(row[2:5])] == []
    assert rows["device_kinds"] == []
    assert [row["open_count"] for row in rows["devices"] if row["open_count"]] == []


def run_stories(nursery: Nursery, *, examples: int, steps: int) -> None:
    run_state_machine_as_test(
        type("Stories", (Stories,), {"nursery": nursery}),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
            report_multiple_bugs=False,
        ),
    )


def test_the_ledger_agrees_with_the_oracle_after_every_step(nursery: Nursery) -> None:
    run_stories(nursery, examples=6, steps=40)


@pytest.mark.slow
def test_the_ledger_agrees_with_the_oracle_in_long_stories(nursery: Nursery) -> None:
    run_stories(nursery, examples=60, steps=120)
