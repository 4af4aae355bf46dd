"""Reads a picture of the monitor back: the words on it, by row and column, and whether they keep apart."""

import re
from itertools import pairwise
from typing import NamedTuple
from xml.etree import ElementTree

COLUMN, ROW = 8.4, 19
LEFT, TOP = 20, 56  # of the first character
_CUT = re.compile(r"\d\.?(?:\.\.\.|…)|^\.\.\.$")  # a number of which not all is there
SVG = "{http://www.w3.org/2000/svg}"


class Word(NamedTuple):
    """Words that were written in one go."""

    row: int
    column: float
    width: float  # in columns
    text: str
    style: str


def words_of(svg: str) -> list[Word]:
    """Everything that is written inside the window, row by row."""
    words = []
    for text in ElementTree.fromstring(svg).iter(f"{SVG}text"):
        if text.get("textLength") is None:
            continue  # the title of the window
        row = round((float(text.attrib["y"]) - TOP) / ROW)
        column = (float(text.attrib["x"]) - LEFT) / COLUMN
        width = float(text.attrib["textLength"]) / COLUMN
        words.append(Word(row, column, width, text.text or "", text.attrib["class"]))
    return sorted(words)


def rows_of(svg: str) -> list[str]:
    """The picture as text: what a reader sees in each row, bars and curves left out."""
    rows: dict[int, list[str]] = {}
    for word in words_of(svg):
        line = rows.setdefault(word.row, [])
        at = round(word.column)
        line += [" "] * (at + len(word.text) - len(line))
        line[at : at + len(word.text)] = word.text
    return ["".join(rows.get(row, ())) for row in range(max(rows, default=-1) + 1)]


def faults_of(svg: str, columns: int, rows: int) -> list[str]:
    """What is beyond the edge, or written over something else."""
    words = words_of(svg)
    faults = [f"beyond the edge: {word}" for word in words if word.column + word.width > columns + 0.1]
    faults += [f"below the last row: {word}" for word in words if not 0 <= word.row < rows]
    faults += [f"cut: {word}" for word in words if _CUT.search(word.text)]
    for before, after in pairwise(words):
        if before.row == after.row and before.column + before.width > after.column + 0.1:
            faults.append(f"overlapping: {before} {after}")
    return faults
