"""Bindings reach a collector, and give the interpreter lock away, in one way only: see native/python/books.hpp."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "native" / "python"
SOURCES = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.iterdir())}
# As what is handed to `Books::without_python`, or the name of a method for the template of that name.
ALLOWED = re.compile(r"without_python(\(\s*\[[^\]]*\]\(|<&)(?=Collector\b)")
COMMENT = re.compile(r"//[^\n]*")


def uses(name: str, word: str) -> list[str]:
    """The lines of a source with a word that is no part of another, comments apart."""
    text = COMMENT.sub("", SOURCES[name])
    return [line.strip() for line in text.splitlines() if re.search(rf"\b{word}\b", line)]


@pytest.mark.parametrize("name", SOURCES.keys() - {"books.hpp"})
def test_a_collector_is_for_those_who_do_without_the_interpreter_lock(name: str) -> None:
    text = COMMENT.sub("", SOURCES[name])

    assert len(re.findall(r"\bCollector\b", text)) == len(ALLOWED.findall(text)), uses(name, "Collector")


@pytest.mark.parametrize("name", SOURCES.keys() - {"released.hpp"})
def test_the_interpreter_lock_is_given_away_by_one_class(name: str) -> None:
    assert (
        uses(name, r"(gil_scoped_\w+|PyEval_\w+Thread|PyGILState_(Ensure|Release)|Py_(BEGIN|END)_ALLOW_THREADS)") == []
    )


def test_a_mutex_is_seen_where_it_is_meant_to_be() -> None:
    """Each of them has a place in the order of locks, in native/src/ledger/collector.hpp."""
    native = FOLDER.parent
    found = {
        str(path.relative_to(native))
        for folder in (FOLDER, native / "src")
        for path in folder.rglob("*.?pp")
        if re.search(r"^\s*(mutable )?std::\w*mutex \w+;", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    }

    assert found == {"python/module.cpp", "src/ledger/collector.hpp", "src/seeds/server.hpp"}
