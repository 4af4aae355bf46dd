"""Bindings reach a collector, and give the interpreter lock away, in one way only: see native/python/books.hpp."""

import re
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "native" / "python"
COMMENT = re.compile(r"//[^\n]*")
SOURCES = {path.name: COMMENT.sub("", path.read_text(encoding="utf-8")) for path in FOLDER.rglob("*.*")}
# As what is handed to `Books::without_python`, or the name of a method for the template of that name.
ALLOWED = re.compile(r"without_python(\(\s*\[[^\]]*\]\(|<&)(?=Collector\b)")
GIVEN_AWAY = re.compile(r"gil_scoped_|PyEval_\w+Thread|PyGILState_(Ensure|Release)|_ALLOW_THREADS")


def test_a_collector_is_for_those_who_do_without_the_interpreter_lock() -> None:
    counts = {
        name: (len(re.findall(r"\bCollector\b", text)), len(ALLOWED.findall(text)))
        for name, text in SOURCES.items()
        if name != "books.hpp"
    }

    assert {name for name, (count, allowed) in counts.items() if count != allowed} == set()
    assert counts["module.cpp"] > (0, 0)


def test_the_interpreter_lock_is_given_away_by_one_class() -> None:
    assert {name for name, text in SOURCES.items() if GIVEN_AWAY.search(text)} == {"released.hpp"}


def test_a_mutex_is_seen_where_it_is_meant_to_be() -> None:
    """Each of them has a place in the order of locks, in native/src/ledger/collector.hpp."""
    native = FOLDER.parent
    found = {
        str(path.relative_to(native))
        for folder in (FOLDER, native / "src")
        for path in folder.rglob("*.?pp")
        if re.search(r"^\s*(mutable )?std::\w*mutex \w+;", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    }

    assert found == {"python/ledger.hpp", "src/ledger/collector.hpp", "src/server/server.hpp"}
