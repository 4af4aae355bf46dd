"""Fork, exec, containers and reused pids: every process has its own journal, and nobody inherits figures."""

import os
from pathlib import Path

import pytest

from tests.support.journals.watching import Watch, lock_holder
from tests.support.processes.children import IN_A_CONTAINER, Actor, Writer
from tests.support.processes.native_programs import NativePrograms
from tests.support.processes.permitted import needs_chosen_pids, needs_containers
from tests.support.processes.writer_log import differences
from tests.support.timing.waiting import wait_until

CHIP = 0x1A2B
HOLD = f"import ttmem; chip = ttmem.open_device({CHIP}); handle = ttmem.report_buffer_alloc(chip, 7, 4096)"
WATCH = """
import os, sys
sys.path.insert(0, {root!r})
from pathlib import Path
from tests.support.processes.children import Actor
from tests.support.journals.watching import Watch
watch = Watch(Path({journals!r}))
"""
PID_REUSE = """
hold = {hold!r}
first = Actor(watch.directory)
first.do(hold)
first_key = watch.process(first.pid)["key"]
first.end()
Path("/proc/sys/kernel/ns_last_pid").write_text(str(first.pid - 1))
second = Actor(watch.directory)
"""
ROOT = str(Path(__file__).parents[2])


def events_of(watch: Watch, pid: int) -> int:
    """How many events the row of a pid has seen, once all there are were read."""
    rows = watch.come_to_rest()
    return sum(row["events"] for row in rows["processes"] if row["pid"] == pid)


def test_a_forked_child_reports_into_its_own_journal_under_its_parents_names(
    journals: Path, tmp_path: Path, watch: Watch
) -> None:
    with Actor(journals) as parent:
        parent.do(HOLD)
        child = parent.fork(tmp_path / "child")
        events_before = events_of(watch, parent.pid)
        child.do("ttmem.report_buffer_alloc(chip, 8, 100)")
        rows = watch.come_to_rest()
        by_pid = {row["pid"]: row for row in rows["processes"]}

        assert by_pid.keys() == {parent.pid, child.pid}
        assert watch.process_used(by_pid[parent.pid]["key"], CHIP) == 4096
        assert watch.process_used(by_pid[child.pid]["key"], CHIP) == 100
        assert by_pid[parent.pid]["events"] == events_before


def test_a_child_that_frees_what_its_parent_made_ends_nothing_and_is_no_finding(
    journals: Path, tmp_path: Path, watch: Watch
) -> None:
    with Actor(journals) as parent:
        parent.do(HOLD)
        child = parent.fork(tmp_path / "child")
        child.do("ttmem.report_free(handle); ttmem.report_buffer_free(chip, 7)")
        rows = watch.come_to_rest()
        findings = [row["findings"] for row in rows["processes"]]

        assert findings == [{}, {}]
        assert watch.device_used(CHIP) == 4096


def test_a_child_that_never_reports_has_no_journal(journals: Path, tmp_path: Path, watch: Watch) -> None:
    with Actor(journals) as parent:
        parent.do(HOLD)
        parent.fork(tmp_path / "child")
        rows = watch.come_to_rest()

        assert [row["pid"] for row in rows["processes"]] == [parent.pid]


def test_a_dead_parent_is_not_held_alive_by_its_child(journals: Path, tmp_path: Path, watch: Watch) -> None:
    """The child still maps the parent's journal and has its descriptor, but not its lock."""
    with Actor(journals) as parent:
        parent.do(HOLD)
        child = parent.fork(tmp_path / "child")
        watch.process(parent.pid)
        parent.kill()
        ended = watch.ended(parent.pid)

        assert child.ask("os.getpid()") == child.pid
        assert (watch.process_used(ended["key"], CHIP), watch.device_used(CHIP)) == (4096, 0)


def test_children_forked_while_threads_report_each_have_their_own_figures(
    programs: NativePrograms, journals: Path, watch: Watch
) -> None:
    with Writer(programs, journals, threads=4) as writer:
        chip = writer.ask(f"open {CHIP}")
        other = writer.ask("open 2")
        writer.churn(chip)
        children = [writer.ask(f"fork {other} 1 {1000 + number}") for number in range(6)]
        writer.pause()
        rows = watch.come_to_rest()
        by_pid = {row["pid"]: row["key"] for row in rows["processes"]}
        used = [watch.process_used(by_pid[child], 2) for child in children]
        for child in children:
            os.kill(child, 9)

        assert used == [1000 + number for number in range(6)]
        assert differences(writer.log, rows, watch.allocations(by_pid[writer.pid]), by_pid[writer.pid]) == []
        assert wait_until(lambda: watch.device_used(2) == 0)


def test_exec_gives_back_the_memory_of_the_old_program_at_once(journals: Path, watch: Watch) -> None:
    with Actor(journals) as actor:
        actor.do(HOLD)
        watch.process(actor.pid)
        actor.become()
        ended = watch.ended(actor.pid)

        assert (watch.process_used(ended["key"], CHIP), watch.device_used(CHIP)) == (4096, 0)


def test_the_new_program_after_exec_has_a_journal_of_its_own(journals: Path, watch: Watch) -> None:
    with Actor(journals) as actor:
        actor.do(HOLD)
        watch.process(actor.pid)
        actor.become()
        actor.do(HOLD.replace("4096", "300"))
        watch.ended(actor.pid)
        new = watch.process(actor.pid)

        assert watch.process_used(new["key"], CHIP) == 300
        assert watch.device_used(CHIP) == 300
        assert lock_holder(Path(new["path"])) == actor.pid


def test_a_program_started_by_fork_and_exec_is_a_process_like_any_other(
    journals: Path, tmp_path: Path, watch: Watch
) -> None:
    with Actor(journals) as parent:
        parent.do(HOLD)
        child = parent.fork(tmp_path / "child")
        child.do("ttmem.report_buffer_alloc(chip, 8, 100)")
        watch.process(child.pid)
        child.become()
        watch.ended(child.pid)
        child.do(HOLD.replace("4096", "300"))
        new = watch.process(child.pid)
        used = watch.process_used(new["key"], CHIP), watch.device_used(CHIP)

        assert used == (300, 4396)


@needs_containers
def test_a_containers_first_process_is_seen_by_its_pid_out_here_until_it_dies(journals: Path, watch: Watch) -> None:
    with Actor(journals, prefix=IN_A_CONTAINER) as container:
        container.do(HOLD)
        row = watch.process(container.pid)

        assert container.ask("os.getpid()") == 1
        assert (row["pid"], row["visible"], row["findings"]) == (container.pid, True, {})
        assert watch.device_used(CHIP) == 4096

        container.kill()

        assert watch.process_used(watch.ended(container.pid)["key"], CHIP) == 4096
        assert watch.device_used(CHIP) == 0


@needs_containers
def test_a_container_that_closes_all_its_descriptors_lives_on(journals: Path, watch: Watch) -> None:
    with Actor(journals, prefix=IN_A_CONTAINER) as container:
        container.do(HOLD)
        watch.process(container.pid)
        container.do("os.closerange(3, 4096)")
        watch.process(container.pid, lambda row: "lock_lost" in row["findings"])

        assert watch.device_used(CHIP) == 4096

        container.kill()
        watch.ended(container.pid)

        assert watch.device_used(CHIP) == 0


@needs_containers
def test_a_process_outside_is_alive_to_a_container_though_it_cannot_be_seen(journals: Path) -> None:
    with Actor(journals) as outside, Actor(journals, prefix=IN_A_CONTAINER, TTMEM="0") as container:
        outside.do(HOLD)
        container.do(WATCH.format(root=ROOT, journals=str(journals)))
        [row] = container.ask("watch.come_to_rest()['processes']")

        assert (row["state"], row["visible"]) == ("live", False)
        assert container.ask(f"watch.device_used({CHIP})") == 4096

        outside.kill()
        outside.reap()

        assert wait_until(lambda: container.ask("watch.processes('ended')"))
        assert container.ask(f"watch.device_used({CHIP})") == 0


@needs_chosen_pids
@pytest.mark.parametrize("is_reporting", [True, False])
def test_a_process_with_a_dead_ones_pid_inherits_nothing(journals: Path, is_reporting: bool) -> None:
    """In a namespace of its own, where the next pid can be chosen."""
    with Actor(journals, prefix=IN_A_CONTAINER, TTMEM="0") as container:
        container.do(WATCH.format(root=ROOT, journals=str(journals)) + PID_REUSE.format(hold=HOLD))
        if is_reporting:
            container.do("second.do(hold.replace('4096', '300'))")

        assert container.ask("(first.pid == second.pid, first_key is not None)") == [True, True]
        container.do("watch.ended(first.pid)")
        assert container.ask(f"watch.process_used(first_key, {CHIP})") == 4096
        assert container.ask(f"watch.device_used({CHIP})") == (300 if is_reporting else 0)
        assert container.ask("len(watch.live())") == is_reporting
        container.do("second.end()")
