"""Plays a workload and compares all figures on the way:

    python -m tests.support.tracked.comparison NAME STRIDE WHOLE_STRIDE ROUNDS

Truth, ledger and what `ttmem ps` says (document and table) at every STRIDEth step; at every WHOLE_STRIDEth, and at the
end, also by a collector of its own and with all chips on one page. In a process of its own, since a journal never
forgets a chip: the next test would look at all of them, too. It prints how many steps there were, how often it looked,
and at how many whole pages; whatever differs ends it.
"""

import gc
import sys

from tests.support.tracked.agreement import Figures, TrueFigures, differences
from tests.support.tracked.own_journal import OwnJournal, an_own_journal
from tests.support.tracked.scripts import script_differences
from tests.support.tracked.shown import ShownFigures, expected_in_table, in_table
from tests.support.tracked.shown_steps import TABLE, ShownSteps
from tests.support.tracked.told import ToldFigures
from ttmem import GraphTracker
from ttmem.metal.workloads import WORKLOADS, Player, Workload


class Comparison:
    """Looks at one run of a workload, in a journal that has none of its chips yet."""

    def __init__(self, workload: Workload, journal: OwnJournal, tracker: GraphTracker) -> None:
        self.journal = journal
        self.true = TrueFigures()
        self.told = ToldFigures(journal)
        self.shown_steps = ShownSteps(self.told.tables)
        self.shown = ShownFigures(journal.directory)
        self.workload = workload
        self.mesh = workload.open(tracker=tracker)
        self.true.opened(self.mesh)
        self.step_count = self.look_count = self.whole_count = 0

    def play(self, *, stride: int, whole_stride: int, round_count: int) -> None:
        """So much of a run, with looks at every so many steps and at its end."""
        player = Player(self.mesh)
        for number, _ in enumerate(player.play(self.workload.steps(self.mesh.chips[0]))):
            self.step_count += 1
            is_whole = number % whole_stride == 0
            if is_whole or number % stride == 0:
                self.look(is_whole=is_whole)
            if player.round_count >= round_count:
                break
        self.look(is_whole=True)

    def close(self) -> None:
        """Everything ends with the mesh."""
        self.mesh.close()
        self.true.closed(self.mesh)
        self.look(is_whole=True)
        assert self.journal.live_count() == 0
        assert self.journal.open_chips() == set()
        assert self.journal.findings() == {}

    def look(self, *, is_whole: bool) -> None:
        self.look_count += 1
        true, reading = self.true.figures(), self.told.read()
        self._refuse(differences(self.told.figures(true, reading), true))
        shown = self.shown_steps.figures(reading)
        self._refuse(shown_differences(shown, true))
        if is_whole:
            self._look_at_page(true, shown)

    def _look_at_page(self, true: dict[int, Figures], shown: dict[int, Figures]) -> None:
        self.whole_count += 1
        told = self.told.figures(true, self.told.tables.read_all(self.journal))
        self._refuse(differences(told, true))
        snapshot = self.shown.look()
        in_json = self.shown.in_json(snapshot)
        tables = zip(in_json, in_table(snapshot), strict=True)
        whole = {chip: {**in_json[chip], TABLE: cells} for chip, cells in tables}
        self._refuse(shown_differences(whole, true))
        self._refuse(script_differences(snapshot, true))
        assert shown == whole, f"look {self.look_count}: parts are shown otherwise than on the whole page"

    def _refuse(self, lines: list[str]) -> None:
        assert lines == [], f"look {self.look_count}"


def shown_differences(shown: dict[int, Figures], true: dict[int, Figures]) -> list[str]:
    """What a document or a table says otherwise than it is; chips that share everything are compared once."""
    lines = [f"chip {chip:#x} is not shown" for chip in true if chip not in shown]
    pairs = {(id(shown[chip]), id(figures)): chip for chip, figures in true.items() if chip in shown}
    for chip in pairs.values():
        figures, expected = true[chip], expected_in_table(true[chip])
        in_json = {name: figures[name] for name in shown[chip] if name != TABLE}
        in_table = {pool: shown[chip][TABLE].get(pool) for pool in expected}
        lines += differences({chip: shown[chip]}, {chip: in_json})
        if in_table != expected:
            lines.append(f"chip {chip:#x}, table: shown {in_table}, true {expected}")
    return lines


def main(name: str, stride: str, whole_stride: str, round_count: str) -> None:
    with an_own_journal() as journal, GraphTracker() as tracker:
        comparison = Comparison(WORKLOADS[name], journal, tracker)
        comparison.play(stride=int(stride), whole_stride=int(whole_stride), round_count=int(round_count))
        comparison.close()
        assert tracker.fault_count == 0
        print(comparison.step_count, comparison.look_count, comparison.whole_count)


if __name__ == "__main__":
    gc.disable()  # nothing here goes in circles, and what is remembered would be gone through again and again
    main(*sys.argv[1:])
