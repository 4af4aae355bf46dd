"""docs/reference/monitor.md is true: its keys come from the table of keys, its flags and settings are all there are.

UPDATE_GOLDEN=1 writes the tables of keys again.
"""

import json
import os
import re
from pathlib import Path

import click

from ttmem.cli.top import top
from ttmem.monitor.panels.keys import GROUPS, KEYS, REPLAY, Key, key_word
from ttmem.monitor.panels.page import help_lines
from ttmem.monitor.parts.drawing import DrawArea
from ttmem.monitor.settings import PREFIX, Settings

FILE = Path(__file__).parents[3] / "docs" / "reference" / "monitor.md"
PAGE = FILE.read_text(encoding="utf-8")
BEGIN, END = "<!-- keys -->\n", "<!-- end of keys -->\n"


def key_tables() -> str:
    """The part of the page between its two marks."""
    parts = []
    for title, keys in {**GROUPS, "A recording": REPLAY}.items():
        rows = "".join(f"| {_keys(key)} | {_escaped(key.text)} |\n" for key in keys)
        parts.append(f"### {title}\n\n| keys | what they do |\n|---|---|\n{rows}")
    return "\n".join(parts)


def _keys(key: Key) -> str:
    return " ".join(f"`{_escaped(key_word(name))}`" for name in key.names)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def test_the_keys_on_the_page_are_those_of_the_table() -> None:
    before, _, rest = PAGE.partition(BEGIN)
    shown, _, after = rest.partition(END)
    if os.environ.get("UPDATE_GOLDEN"):
        FILE.write_text(before + BEGIN + key_tables() + END + after, encoding="utf-8")
        return

    assert shown == key_tables()


def test_every_key_has_words_that_fit_a_line_of_80_columns() -> None:
    lines = [line for is_replay in (False, True) for line in help_lines(DrawArea(80, 24), is_replay=is_replay) if line]

    for key in (*KEYS, *REPLAY):
        assert any(line[-1].text.strip() == key.text for line in lines), key.text
    assert max(sum(span.width for span in line) for line in lines) <= 80


def test_the_page_describes_every_flag() -> None:
    named = re.findall(r"(?<=`)--?[\w-]+", " ".join(re.findall(r"^\| (`-.*?) \|", PAGE, flags=re.MULTILINE)))
    flags = {flag for option in top.params if isinstance(option, click.Option) for flag in option.opts}
    others = {flag for option in top.params if isinstance(option, click.Option) for flag in option.secondary_opts}

    assert set(named) == flags | others


def test_the_page_describes_every_setting_and_its_default() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| `([^`]*)` \|", PAGE, flags=re.MULTILINE))
    shown = json.loads(json.dumps(Settings._field_defaults))  # as the file has them
    defaults = {name: str(default).lower() for name, default in shown.items()}

    assert rows == {name: value.removesuffix(".0") for name, value in defaults.items()}
    assert f"`{PREFIX}" in PAGE
