"""Whose journals are whose, asked about real processes."""

import os
from pathlib import Path

import pytest

from tests.support.processes.programs import a_program
from ttmem.cli.tracked_run.child_journals import ChildJournals
from ttmem.sources import Places

REPORTS = ("ttmem.open_device(5)", "meet()")
MARK = "abc"


def offspring_in(directory: Path) -> ChildJournals:
    return ChildJournals(Places(uid=os.geteuid(), directory=str(directory)), mark=MARK)


def paths_in(directory: Path) -> set[str]:
    return {str(path) for path in directory.glob("*.journal")}


@pytest.mark.parametrize("marks", ["abc", "outer,abc", "abc,inner"])
def test_a_process_with_the_mark_is_ours_wherever_it_hangs_in_the_tree(tmp_path: Path, marks: str) -> None:
    with a_program(tmp_path, "meet()") as ours:
        ours.arrive()
        offspring = offspring_in(tmp_path)
        offspring.began(ours.pid)
        with a_program(tmp_path, *REPORTS, TTMEM_RUN=marks) as other:
            other.arrive()
            offspring.look()

    assert offspring.paths == paths_in(tmp_path)
    assert len(offspring.paths) == 1


def test_a_living_process_of_another_run_is_not_ours(tmp_path: Path) -> None:
    with a_program(tmp_path, "meet()") as ours:
        ours.arrive()
        offspring = offspring_in(tmp_path)
        offspring.began(ours.pid)
        with a_program(tmp_path, *REPORTS, TTMEM_RUN="abcd") as other:
            other.arrive()
            offspring.look()

    assert offspring.paths == set()
    assert len(paths_in(tmp_path)) == 1


def test_the_program_itself_is_ours_even_when_it_is_gone(tmp_path: Path) -> None:
    offspring = offspring_in(tmp_path)
    with a_program(tmp_path, *REPORTS) as ours:
        offspring.began(ours.pid)
        ours.arrive()
    offspring.look()

    assert offspring.paths == paths_in(tmp_path)
    assert len(offspring.paths) == 1


def test_a_child_of_the_program_is_ours(tmp_path: Path) -> None:
    offspring = offspring_in(tmp_path)
    offspring.began(os.getpid())
    with a_program(tmp_path, *REPORTS) as child:
        child.arrive()
        offspring.look()

    assert offspring.paths == paths_in(tmp_path)


@pytest.mark.parametrize(("marks", "is_ours"), [("abc", True), ("abcd", False), ("", False)])
def test_a_process_that_came_and_went_is_ours_if_it_had_the_mark(tmp_path: Path, marks: str, is_ours: bool) -> None:
    with a_program(tmp_path, "meet()") as ours:
        ours.arrive()
        offspring = offspring_in(tmp_path)
        offspring.began(ours.pid)
        with a_program(tmp_path, *REPORTS, TTMEM_RUN=marks) as other:
            other.arrive()
        offspring.look()

    assert offspring.paths == (paths_in(tmp_path) if is_ours else set())
    assert len(paths_in(tmp_path)) == 1


def test_journals_that_were_there_before_are_not_counted(tmp_path: Path) -> None:
    with a_program(tmp_path, *REPORTS, TTMEM_RUN="abc") as early:
        early.arrive()
        offspring = offspring_in(tmp_path)
        offspring.began(os.getpid())
        offspring.look()

    assert offspring.paths == set()


def test_a_file_with_another_name_is_not_counted(tmp_path: Path) -> None:
    offspring = offspring_in(tmp_path)
    offspring.began(os.getpid())
    (tmp_path / "strange.journal").touch()
    offspring.look()

    assert offspring.paths == set()
