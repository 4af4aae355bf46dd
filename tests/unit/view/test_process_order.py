"""The order of processes: by any column, and as a tree in which everybody stands exactly once."""

from hypothesis import given
from hypothesis import strategies as st

from tests.support.simulated.figures import a_busy_snapshot, a_process, a_snapshot
from ttmem.snapshot import ProcessUsage
from ttmem.view.process_table import COLUMNS, ordered, tree


def some_processes(count: int) -> list[ProcessUsage]:
    return list(a_snapshot(processes=[a_process(key) for key in range(1, count + 1)]).processes)


def test_every_column_sorts_and_the_ended_come_last() -> None:
    processes = a_busy_snapshot().processes

    for column in COLUMNS:
        sorted_by = ordered(processes, column)
        assert [process.pid for process in sorted_by][-1] == 4003
        assert sorted(process.pid for process in sorted_by) == [4001, 4002, 4003]
    assert [process.pid for process in ordered(processes, "l1")][:2] == [4002, 4001]
    assert [process.pid for process in ordered(processes, "dram")][:2] == [4001, 4002]
    assert [process.pid for process in ordered(processes, "user")][:2] == [4001, 4002]


def test_children_stand_below_their_parents() -> None:
    rows, branches = tree(some_processes(4), {4002: 4001, 4003: 4001, 4004: 4002})

    assert [row.pid for row in rows] == [4001, 4002, 4004, 4003]
    assert [branches[row.key] for row in rows] == ["", "├ ", "│ └ ", "└ "]


def test_a_tree_in_ascii_is_ascii() -> None:
    _, branches = tree(some_processes(3), {4002: 4001, 4003: 4002}, is_ascii=True)

    assert "".join(branches.values()).isascii()


@given(st.dictionaries(st.integers(4001, 4008), st.integers(4000, 4009)))
def test_nobody_is_lost_or_doubled_whatever_the_parents(parents: dict[int, int]) -> None:
    processes = some_processes(8)

    rows, _ = tree(processes, parents)

    assert sorted(row.pid for row in rows) == [process.pid for process in processes]
