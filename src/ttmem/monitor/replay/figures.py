"""The figures of a recording for the monitor, reduced to what the flags -i, -u and -p select."""

from ttmem.collector.recorded import Moment
from ttmem.errors import SelectionError
from ttmem.figures.replay_clock import ReplayClock
from ttmem.figures.replayed import RecordedFigures
from ttmem.monitor.feed import WordsOf, selected_overview
from ttmem.monitor.options import Options
from ttmem.recording import Recording
from ttmem.snapshot import Selection
from ttmem.snapshot.usage import Snapshot
from ttmem.snapshot.values import replace

__all__ = ["SelectedReplay", "selected_replay"]


class SelectedReplay(RecordedFigures):
    """A recording that answers with the selected part."""

    selection = Selection()
    words_of: WordsOf | None = None
    _has_looked = False

    def overview(self) -> Snapshot:
        """A chip that is not there at this moment may be there at another; one that never is, is a SelectionError."""
        if not self._has_looked:
            self._choose()
        overview = super().overview()
        try:
            return selected_overview(overview, self.selection)
        except SelectionError:
            return replace(overview, devices=(), processes=())

    def _choose(self) -> None:
        at_the_end = Moment(self.recording).snapshot
        if self.words_of is not None:
            known = tuple(usage.device for usage in at_the_end.devices)
            self.selection = self.selection._replace(devices=self.words_of(self.telemetry, known))
        if self.selection.devices:
            selected_overview(at_the_end, self.selection)
        self._has_looked = True


def selected_replay(options: Options, recording: Recording, clock: ReplayClock) -> SelectedReplay:
    """What `ttmem top --replay` shows."""
    source = SelectedReplay(recording, clock)
    source.selection, source.words_of = options.selection, options.words_of
    return source
