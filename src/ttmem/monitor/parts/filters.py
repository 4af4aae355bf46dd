"""Which entries are listed: a small language of comparisons, the one all-smi's users type.

    dram>4GiB & user~=ada          both
    state==ended | l1>=1.5MiB      either; & binds tighter, brackets group
    llama                          a word alone: in label, command or user
    "two words" , pid:4711         quoted text; field:text is in (texts) or equals (numbers)

Operators: > >= < <= == = != ~= (a regular expression) and : (contains). Texts are compared without regard to case.
"""

import operator
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ttmem.devices import Pool
from ttmem.errors import TtmemError
from ttmem.monitor.parts.process_entries import ProcessEntry
from ttmem.view.texts import size_of_text

__all__ = ["FIELDS", "OTHER_NAMES", "FilterProblem", "Test", "filter_of", "mentions", "problem_of"]

Test = Callable[[ProcessEntry], bool]


class FilterProblem(TtmemError):
    """A filter that cannot be read; says where and what was expected."""


class FilterField(NamedTuple):
    """What may be compared: its kind says how values are written."""

    kind: str  # text, size, time, count, chip
    value: Callable[[ProcessEntry], object]
    text: str


FIELDS: dict[str, FilterField] = {
    "pid": FilterField("count", lambda e: e.pid, "process id"),
    "ppid": FilterField("count", lambda e: e.parent_pid, "process id of its parent"),
    "user": FilterField("text", lambda e: e.user, "name of its user"),
    "uid": FilterField("count", lambda e: e.row.uid if e.row else None, "number of its user"),
    "label": FilterField("text", lambda e: e.label, "label, or command where there is none"),
    "command": FilterField("text", lambda e: e.command, "command line"),
    "chip": FilterField("chip", lambda e: e.numbers, "a chip it is on, by index"),
    "dram": FilterField("size", lambda e: e.used(Pool.DRAM), "DRAM it holds"),
    "l1": FilterField("size", lambda e: e.used(Pool.L1), "L1 buffers it holds"),
    "cb": FilterField("size", lambda e: e.cb_bytes, "what cores give up for its circular buffers"),
    "kernel": FilterField("size", lambda e: e.kernel_bytes, "code of its kernels"),
    "total": FilterField("size", lambda e: e.total_bytes, "all device memory it holds"),
    "peak": FilterField("size", lambda e: e.peak_bytes, "highest use"),
    "age": FilterField(
        "time", lambda e: None if e.age_ns is None else e.age_ns / 1e9, "since it began: 90s, 5m, 2h, 3d"
    ),
    "state": FilterField("text", lambda e: e.state, "live, stale, foreign, ended"),
    "via": FilterField("text", lambda e: e.via, "journal, socket, read, driver"),
    "launches": FilterField("count", lambda e: e.row.launch_count if e.row else None, "program launches"),
    "alive": FilterField("count", lambda e: e.row.live_count if e.row else None, "single allocations alive"),
    "findings": FilterField("count", lambda e: e.row.finding_count if e.row else None, "what does not add up"),
}
OTHER_NAMES = {"name": "label", "cmd": "command", "chips": "chip", "dev": "chip", "mem": "total", "memory": "total"}
_ORDERS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "=": operator.eq,
    ":": operator.eq,
    "!=": operator.ne,
}
_TOKEN = re.compile(
    r"""\s*(?:(?P<sign>[()&|])|(?P<op>>=|<=|==|!=|~=|[<>=:])|(?P<quoted>"[^"]*"|'[^']*')|(?P<word>[^\s()&|<>=!~:"']+))"""
)
_TIME = re.compile(r"(\d+(?:\.\d*)?)\s*([smhd]?)", re.IGNORECASE)
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}


class Token(NamedTuple):
    kind: str  # sign, op, quoted, word
    text: str
    place: int  # from 1, as a user counts


def problem_of(text: str) -> str:
    """What is wrong with a filter, in one sentence; empty if it can be read."""
    try:
        filter_of(text)
    except FilterProblem as problem:
        return str(problem)
    return ""


def filter_of(text: str) -> Test | None:
    """What a filter asks; None if it asks nothing."""
    tokens = list(_tokens(text))
    if not tokens:
        return None
    reading = _Reading(tokens, len(text) + 1)
    test = reading.either()
    if reading.here is not None:
        raise FilterProblem(f"column {reading.place}: expected & or |, found {reading.here.text}")
    return test


def _tokens(text: str) -> Iterator[Token]:
    at = 0
    text = text.rstrip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if not found or not found.lastgroup:
            place = at + 1 + len(text[at:]) - len(text[at:].lstrip())
            raise FilterProblem(f"column {place}: {_not_read(text[place - 1])}")
        shown = found[found.lastgroup]
        yield Token(found.lastgroup, shown, found.start(found.lastgroup) + 1)
        at = found.end()


def _not_read(character: str) -> str:
    if character in "\"'":
        return f"the text that begins with {character} does not end"
    return f"expected {character}=, found {character}" if character in "!~" else f"cannot read {character}"


class _Reading:
    """One pass over the tokens: | over & over comparisons."""

    def __init__(self, tokens: list[Token], end: int) -> None:
        self._tokens = tokens
        self._at = 0
        self._end = end

    @property
    def here(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    @property
    def place(self) -> int:
        return self.here.place if self.here else self._end

    def _takes(self, kind: str, *texts: str) -> Token | None:
        token = self.here
        if token is None or token.kind != kind or (texts and token.text not in texts):
            return None
        self._at += 1
        return token

    def either(self) -> Test:
        tests = [self._both()]
        while self._takes("sign", "|"):
            tests.append(self._both())
        return tests[0] if len(tests) == 1 else lambda entry: any(test(entry) for test in tests)

    def _both(self) -> Test:
        tests = [self._one()]
        while self._takes("sign", "&") or (
            self.here and (self.here.kind in ("word", "quoted") or self.here.text == "(")
        ):
            tests.append(self._one())
        return tests[0] if len(tests) == 1 else lambda entry: all(test(entry) for test in tests)

    def _one(self) -> Test:
        if self._takes("sign", "("):
            inside = self.either()
            if not self._takes("sign", ")"):
                raise FilterProblem(f"column {self.place}: expected )")
            return inside
        word = self._takes("word") or self._takes("quoted")
        if word is None:
            raise FilterProblem(f"column {self.place}: expected a field or a word, found {_found(self.here)}")
        sign = self._takes("op")
        if sign is None:
            return mentions(word.text.strip("\"'"))
        value = self._takes("word") or self._takes("quoted")
        if value is None:
            raise FilterProblem(f"column {self.place}: expected a value after {sign.text}, found {_found(self.here)}")
        return _comparison(word, sign, value)


def _found(token: Token | None) -> str:
    return token.text if token else "nothing"


def mentions(word: str) -> Test:
    """Whether a word is in what an entry is called."""
    wanted = word.lower()
    return lambda entry: wanted in f"{entry.label}\n{entry.command}\n{entry.user}".lower()


def _comparison(word: Token, sign: Token, value: Token) -> Test:
    name = word.text.lower()
    field = FIELDS.get(OTHER_NAMES.get(name, name))
    if field is None:
        raise FilterProblem(f"column {word.place}: no field {word.text}; there are {', '.join(FIELDS)}")
    text = value.text[1:-1] if value.kind == "quoted" else value.text
    if field.kind == "text":
        return _text_test(field, sign, text, value.place)
    if sign.text == "~=":
        raise FilterProblem(f"column {sign.place}: {word.text} is a number; compare it with > >= < <= == or !=")
    order, number = _ORDERS[sign.text], _number(field, text, value.place)
    if field.kind == "chip":
        return lambda entry: any(order(chip.index, number) for chip in entry.devices if chip.index is not None)
    return lambda entry: (held := field.value(entry)) is not None and order(held, number)  # type: ignore[arg-type]


def _number(field: FilterField, text: str, place: int) -> float:
    if field.kind == "size":
        size = size_of_text(text)
        if size is None:
            raise FilterProblem(f"column {place}: expected a size as 512, 64KiB or 1.5GiB, found {text}")
        return size
    found = _TIME.fullmatch(text)
    if not found or (found[2] and field.kind != "time"):
        wanted = "a time as 90s, 5m, 2h or 3d" if field.kind == "time" else "a number"
        raise FilterProblem(f"column {place}: expected {wanted}, found {text}")
    return float(found[1]) * _SECONDS[found[2].lower()]


def _text_test(field: FilterField, sign: Token, text: str, place: int) -> Test:
    wanted = text.lower()
    if sign.text == "~=":
        try:
            pattern = re.compile(text, re.IGNORECASE)
        except re.error as problem:
            raise FilterProblem(f"column {place}: {text} is no regular expression: {problem}") from None
        return lambda entry: pattern.search(str(field.value(entry))) is not None
    if sign.text == ":":
        return lambda entry: wanted in str(field.value(entry)).lower()
    if sign.text in ("==", "="):
        return lambda entry: str(field.value(entry)).lower() == wanted
    if sign.text == "!=":
        return lambda entry: str(field.value(entry)).lower() != wanted
    raise FilterProblem(f"column {sign.place}: {sign.text} needs a number; compare texts with == != ~= or :")
