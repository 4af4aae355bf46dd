"""Frames on a terminal: cut to its size, and a cut shows."""

import io
import re
import shutil
from os import terminal_size

import pytest

from ttmem.cli.screen import Screen
from ttmem.view.spans import Span, width_of


class FakeTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_frame_is_never_larger_than_the_terminal_and_a_cut_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: terminal_size((40, 12)))
    terminal = FakeTerminal()

    Screen(terminal, {"TERM": "xterm"}).frame([(Span("x" * 60),)] * 30)

    [frame] = re.findall(r"\x1b\[H(.*?)\x1b\[J", terminal.getvalue(), flags=re.DOTALL)
    lines = [re.sub(r"\x1b\[[0-9;]*[mK]", "", line) for line in frame.split("\n")]
    assert len(lines) == 12
    assert max(map(width_of, lines)) == 40
    assert re.search(r"\.\.\. \d+ more lines", frame)
