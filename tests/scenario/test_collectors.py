"""Collectors come late, die, are outrun and work side by side: their figures are exact again, or say they are not."""

import os
import signal
from pathlib import Path

import pytest

from tests.support.journals.watching import Watch, lock_holder
from tests.support.processes.children import Actor, Writer, state_of
from tests.support.processes.native_programs import NativePrograms
from tests.support.processes.programs import a_program
from tests.support.processes.writer_log import differences, unexpected_findings
from tests.support.timing.waiting import wait_until

CHIP, OTHER_CHIP = 0x1A2B, 0x3C4D
ROOT = str(Path(__file__).parents[2])
IMPORTS = f"""
import sys
sys.path.insert(0, {ROOT!r})
from pathlib import Path
from tests.support.journals.watching import Watch
"""
FOLLOW = 'watch = Watch(Path(os.environ["TTMEM_DIR"]), follows=True)'


def start_churning(writer: Writer) -> None:
    chip, other = writer.ask(f"open {CHIP}"), writer.ask(f"open {OTHER_CHIP}")
    writer.churn(chip, writer.ask(f"mesh 7 {chip} {other}"))


def as_tuples(rows: list[list[object]]) -> list[tuple[object, ...]]:
    """Rows that went through JSON, as they were before."""
    return [tuple(tuple(cell) if isinstance(cell, list) else cell for cell in row) for row in rows]


@pytest.mark.slow
def test_a_collector_killed_and_restarted_under_load_is_exact_each_time_the_writer_pauses(
    programs: NativePrograms, journals: Path, tmp_path: Path
) -> None:
    with Writer(programs, journals, threads=2) as writer, Actor(journals, TTMEM="0") as starter:
        start_churning(writer)
        starter.do(IMPORTS)
        for number in range(20):
            collector = starter.fork(tmp_path / f"collector-{number}")
            collector.do(FOLLOW)
            writer.work(3000)
            writer.pause()
            rows = collector.ask("watch.come_to_rest()")
            [row] = rows["processes"]
            rows = {name: as_tuples(rows[name]) for name in ("process_pools", "programs")}
            allocations = as_tuples(collector.ask(f"watch.allocations({row['key']})"))
            wrong = differences(writer.log, rows, allocations, row["key"])
            collector.do(FOLLOW)
            writer.churn()
            writer.work(1000)
            os.kill(collector.pid, signal.SIGKILL)

            assert (wrong, unexpected_findings(row)) == ([], set())


def test_two_collectors_at_once_agree(programs: NativePrograms, journals: Path) -> None:
    with (
        Writer(programs, journals, threads=4) as writer,
        Watch(journals, follows=True) as one,
        Watch(journals, follows=True) as other,
    ):
        start_churning(writer)
        writer.work(100_000)
        writer.pause()
        rows, other_rows = one.come_to_rest(), other.come_to_rest()
        [row], [other_row] = rows["processes"], other_rows["processes"]

        assert one.list_of(row["key"]) == other.list_of(other_row["key"])
        assert differences(writer.log, rows, one.allocations(row["key"]), row["key"]) == []
        for table in ("process_kinds", "programs", "launches", "device_kinds"):
            assert sorted(rows[table]) == sorted(other_rows[table])


def test_who_comes_late_sees_what_who_came_early_sees(programs: NativePrograms, journals: Path, watch: Watch) -> None:
    with Writer(programs, journals, threads=1) as writer:
        start_churning(writer)
        writer.ask("pace 20000")
        for _ in range(10):
            watch.rows()
            writer.work(50)
        writer.ask("pace 0")
        writer.work(200_000)
        writer.pause()
        rows = watch.come_to_rest()
        with Watch(journals) as late:
            late_rows = late.come_to_rest()
            [row], [late_row] = rows["processes"], late_rows["processes"]

            assert late.list_of(late_row["key"]) == watch.list_of(row["key"])
            assert [row[:6] for row in late_rows["process_pools"]] == [row[:6] for row in rows["process_pools"]]
            assert (late_row["complete"], late_row["findings"]) == (True, row["findings"])


def test_a_collector_outrun_by_its_writers_shows_the_counters_and_says_so(
    programs: NativePrograms, journals: Path, watch: Watch
) -> None:
    with Writer(programs, journals, threads=4, TTMEM_RING="16") as writer:
        writer.churn(writer.ask(f"open {CHIP}"))
        row = watch.process(writer.pid, lambda row: row["reason"] == "outrun")
        os.kill(writer.pid, signal.SIGSTOP)  # so that the log can be compared with counters that are adopted now
        wait_until(lambda: state_of(writer.pid) == "T")
        used = sum(pool[3] for pool in watch.rows()["process_pools"])
        least, most = writer.log.bytes_bounds()
        os.kill(writer.pid, signal.SIGCONT)

        assert (row["complete"], row["origin"]) == (False, "counter")
        assert least <= used <= most


def test_a_collector_that_was_outrun_is_exact_once_the_writers_slow_down(
    programs: NativePrograms, journals: Path, watch: Watch
) -> None:
    with Writer(programs, journals, threads=4, TTMEM_RING="16") as writer:
        start_churning(writer)
        watch.process(writer.pid, lambda row: row["reason"] == "outrun")
        writer.ask("pace 2000000")
        row = watch.process(writer.pid, lambda row: row["complete"])
        writer.pause()
        rows = watch.come_to_rest()

        assert (row["origin"], row["reason"]) == ("counted", "")
        assert differences(writer.log, rows, watch.allocations(row["key"]), row["key"]) == []


def test_a_collector_inside_the_reporting_process_sees_it_and_leaves_its_lock_alone(journals: Path) -> None:
    with Actor(journals) as actor:
        actor.do(f"import ttmem; client = ttmem.Client(); chip = client.open_device({CHIP})")
        actor.do("client.report_buffer_alloc(chip, 7, 4096)")
        actor.do(IMPORTS + FOLLOW)
        row = actor.ask("watch.process(os.getpid())")
        actor.do("client.report_buffer_alloc(chip, 8, 100); watch.come_to_rest()")
        actor.do("watch.collector.stop(); del watch")

        assert (row["visible"], row["complete"], row["findings"]) == (True, True, {})
        assert lock_holder(Path(row["path"])) == actor.pid


def test_a_collector_inside_sees_its_own_process_as_one_outside_does(journals: Path, watch: Watch) -> None:
    with Actor(journals) as actor:
        actor.do(f"import ttmem; chip = ttmem.open_device({CHIP})")
        actor.do("for number in range(500): ttmem.report_buffer_alloc(chip, number % 100, 64 + number)")
        actor.do(IMPORTS + FOLLOW)
        inside = as_tuples(actor.ask("watch.come_to_rest() and watch.list_of(1)"))
        [row] = watch.come_to_rest()["processes"]

        assert inside == watch.list_of(row["key"])
        assert len(inside) == 100


@pytest.mark.parametrize("is_reporting", [True, False])
def test_a_child_forked_from_a_process_that_collects_can_collect_too(
    journals: Path, tmp_path: Path, is_reporting: bool
) -> None:
    with Actor(journals) as parent:
        parent.do(f"import ttmem; chip = ttmem.open_device({CHIP}); ttmem.report_buffer_alloc(chip, 7, 4096)")
        child = parent.fork(tmp_path / "child")
        if is_reporting:
            child.do("ttmem.report_buffer_alloc(chip, 8, 100)")
        child.do(IMPORTS + FOLLOW)
        pids = [row["pid"] for row in child.ask("watch.come_to_rest()['processes']")]

        assert sorted(pids) == sorted([parent.pid, child.pid] if is_reporting else [parent.pid])
        assert child.ask(f"watch.device_used({CHIP})") == (4196 if is_reporting else 4096)
        assert lock_holder(parent.journal) == parent.pid


def test_who_comes_late_knows_how_often_something_was_refused(journals: Path, watch: Watch) -> None:
    """Records of it are written over long since; counters are not. One on a mesh is one."""
    code = (
        "chips = [ttmem.open_device(5 + index, index=index) for index in range(2)]",
        "mesh = ttmem.open_mesh(chips)",
        "for target in (*chips, mesh):",
        "    ttmem.report_out_of_memory(target, 0, 7 << 20, 1 << 20, 1 << 10)",
        "    ttmem.report_clash(target, 3, 4096, 2048)",
        "meet()",
        "for number in range(2000): ttmem.report_free(ttmem.report_buffer_alloc(mesh, number, 8))",
        "meet()",
    )
    with a_program(journals, *code, TTMEM_RING="256") as program:
        program.arrive()
        [early] = watch.come_to_rest()["processes"]
        program.go_on()
        program.arrive()
        with Watch(journals) as late_watch:
            late_rows = late_watch.come_to_rest()
            [late] = late_rows["processes"]

    assert (early["refusals"], early["clashes"]) == (late["refusals"], late["clashes"]) == (3, 3)
    assert late_rows["out_of_memory"] == []
