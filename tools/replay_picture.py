"""Writes a picture of the monitor on a recording: `python -m tools.replay_picture run.ttmem MOMENT FILE.svg [KEY ...]`.

The moment is one that `ttmem report --at` takes; keys are pressed before the picture is taken.
"""

import sys
from pathlib import Path

from ttmem.cli.common.moments import moment_ns
from ttmem.figures.replay_clock import ReplayClock
from ttmem.figures.replayed import RecordedFigures
from ttmem.monitor.feed import frame_of
from ttmem.monitor.settings import Settings
from ttmem.monitor.state import MonitorState
from ttmem.recording import Recording
from ttmem.view.picture import picture

COLUMNS, ROWS = 120, 40


def replay_picture(recording: Recording, moment: str, keys: list[str]) -> str:
    """As an SVG text."""
    clock = ReplayClock(recording.first_ns, recording.last_ns)
    clock.go_to(moment_ns(recording, moment))
    state = MonitorState(Settings(), {}, is_readonly=True, banner="", replay=clock)
    state.resize(COLUMNS, ROWS)
    with RecordedFigures(recording, clock) as figures:
        for key in ["", *keys, "", ""]:
            state.press(key)
            state.take(frame_of(figures, state.wanted()))
    return picture(state.picture(), title="ttmem", columns=COLUMNS, is_light=False)


def main(path: str, moment: str, file: str, *keys: str) -> None:
    Path(file).write_text(replay_picture(Recording(Path(path)), moment, list(keys)), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
