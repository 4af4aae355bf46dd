"""Plays a workload and compares all figures on the way:

    python -m tests.support.tracked.comparison NAME STRIDE SHOWN_STRIDE ROUNDS

Truth and ledger at every STRIDEth step, `ttmem ps` (document and table) beside them at every SHOWN_STRIDEth, and all of
them at the end. In a process of its own, since a journal never forgets a chip: the next test would look at all of them,
too. It prints how many steps there were, and how often it looked at the ledger and at ps; whatever differs ends it.
"""

import sys

from tests.support.tracked.agreement import Figures, ToldFigures, TrueFigures, differences
from tests.support.tracked.own_journal import OwnJournal, an_own_journal
from tests.support.tracked.shown import ShownFigures, expected_in_table, in_table
from ttmem import GraphTracker
from ttmem.metal.workloads import WORKLOADS, Player, Workload


class Comparison:
    """Looks at one run of a workload."""

    def __init__(self, workload: Workload, journal: OwnJournal, tracker: GraphTracker) -> None:
        self.journal = journal
        self.true = TrueFigures()
        self.told = ToldFigures(journal)
        self.shown = ShownFigures(journal.directory)
        self.workload = workload
        self.mesh = workload.open(tracker=tracker)
        self.true.opened(self.mesh)
        self.step_count = self.look_count = self.shown_count = 0

    def play(self, *, stride: int, shown_stride: int, round_count: int) -> None:
        """So much of a run, with looks at every so many steps and at its end."""
        player = Player(self.mesh)
        for number, _ in enumerate(player.play(self.workload.steps(self.mesh.chips[0]))):
            self.step_count += 1
            is_shown = number % shown_stride == 0
            if is_shown or number % stride == 0:
                self.look(is_shown=is_shown)
            if player.round_count >= round_count:
                break
        self.look(is_shown=True)

    def close(self) -> None:
        """Everything ends with the mesh."""
        self.mesh.close()
        self.true.closed(self.mesh)
        self.look(is_shown=True)
        assert self.journal.live_count() == 0
        assert self.journal.open_chips() == set()
        assert self.journal.findings() == {}

    def look(self, *, is_shown: bool) -> None:
        self.look_count += 1
        true = self.true.figures()
        assert differences(self.told.figures(true), true) == [], f"look {self.look_count}"
        if is_shown:
            self._look_at_ps(true)

    def _look_at_ps(self, true: dict[int, Figures]) -> None:
        self.shown_count += 1
        snapshot = self.shown.look()
        in_json = self.shown.in_json(snapshot)
        shown = {chip: {name: figures[name] for name in in_json[chip]} for chip, figures in true.items()}
        assert differences(in_json, shown) == [], f"look {self.look_count}"
        for chip, row in zip(in_json, in_table(snapshot), strict=True):
            expected = expected_in_table(true[chip])
            assert {pool: row.get(pool) for pool in expected} == expected, f"look {self.look_count}"


def main(name: str, stride: str, shown_stride: str, round_count: str) -> None:
    with an_own_journal() as journal, GraphTracker() as tracker:
        comparison = Comparison(WORKLOADS[name], journal, tracker)
        comparison.play(stride=int(stride), shown_stride=int(shown_stride), round_count=int(round_count))
        comparison.close()
        assert tracker.fault_count == 0
        print(comparison.step_count, comparison.look_count, comparison.shown_count)


if __name__ == "__main__":
    main(*sys.argv[1:])
