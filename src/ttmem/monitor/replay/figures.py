"""The figures of a recording for the monitor, reduced to what the flags -i, -u and -p select."""

from ttmem.figures.replay_clock import ReplayClock
from ttmem.figures.replayed import RecordedFigures
from ttmem.monitor.feed import WordsOf, selected_overview
from ttmem.monitor.options import Options
from ttmem.recording import Recording
from ttmem.snapshot import Selection
from ttmem.snapshot.usage import Snapshot

__all__ = ["SelectedReplay", "selected_replay"]


class SelectedReplay(RecordedFigures):
    """A recording that answers with the selected part."""

    selection = Selection()
    words_of: WordsOf | None = None

    def overview(self) -> Snapshot:
        overview = super().overview()
        if not overview.devices:
            return overview  # a moment before the first program
        if self.words_of is not None:
            known = tuple(usage.device for usage in overview.devices)
            self.selection = self.selection._replace(devices=self.words_of(self.telemetry, known))
        return selected_overview(overview, self.selection)


def selected_replay(options: Options, recording: Recording, clock: ReplayClock) -> SelectedReplay:
    """What `ttmem top --replay` shows."""
    source = SelectedReplay(recording, clock)
    source.selection, source.words_of = options.selection, options.words_of
    return source
