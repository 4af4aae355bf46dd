"""Frames on a terminal: cut to its size, and a cut shows."""

import io
import re

from ttmem.view.screen import Screen
from ttmem.view.table import Span, width_of


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_frame_is_never_larger_than_the_terminal_and_a_cut_shows() -> None:
    terminal = FakeTerminal()

    Screen(terminal, {"TERM": "xterm", "COLUMNS": "40", "LINES": "12"}).frame([(Span("x" * 60),)] * 30)

    [frame] = re.findall(r"\x1b\[H(.*?)\x1b\[J", terminal.getvalue(), flags=re.DOTALL)
    lines = [re.sub(r"\x1b\[[0-9;]*[mK]", "", line) for line in frame.split("\n")]
    assert len(lines) == 12
    assert max(map(width_of, lines)) == 40
    assert re.search(r"\.\.\. \d+ more lines", frame)
