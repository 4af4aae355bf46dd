"""Reads a Perfetto trace by the published numbers of its fields, and by nothing of ours."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message: numbers, or bytes."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2, f"form {key & 7} at {at}"
            length = varint()
            assert at + length <= len(message)
            yield key >> 3, message[at : at + length]
            at += length


def one(message: bytes) -> dict[int, Any]:
    return dict(fields(message))


@dataclass
class Decoded:
    """What a trace says, by the names of tracks."""

    names: dict[int, str] = field(default_factory=dict)
    parents: dict[int, int] = field(default_factory=dict)
    counters: dict[str, list[tuple[int, int]]] = field(default_factory=dict)  # (time, value)
    slices: list[tuple[str, int, int]] = field(default_factory=list)  # (name, began, ended)
    instants: list[tuple[str, int, dict[str, Any]]] = field(default_factory=list)  # (name, time, notes)
    wall_offset_ns: int = 0

    @property
    def point_count(self) -> int:
        return sum(len(points) for points in self.counters.values())

    def value_at(self, counter: str, at_ns: int) -> int:
        """What it was then: 0 before its first point."""
        return next((value for time, value in reversed(self.counters.get(counter, [])) if time <= at_ns), 0)


def decoded(trace: bytes) -> Decoded:
    found = Decoded()
    open_slices: dict[int, list[tuple[str, int]]] = {}
    for number, packet in fields(trace):
        assert number == 1
        its = one(packet)
        assert its[10] == 1
        if 60 in its:
            _describe(found, its[60])
        elif 6 in its:
            clocks = [one(value) for key, value in fields(its[6]) if key == 1]
            times = {clock[1]: clock[2] for clock in clocks}
            found.wall_offset_ns = times[1] - times[6]
        else:
            _add_event(found, its[8], its[11], open_slices)
    assert not any(open_slices.values()), "a slice has no end"
    return found


def _describe(found: Decoded, message: bytes) -> None:
    its = one(message)
    found.names[its[1]] = its[2].decode()
    if 5 in its:
        assert its[5] in found.names, "a track is described before the one it is in"
        found.parents[its[1]] = its[5]
    if 8 in its:
        assert one(its[8]) == {3: 3}  # bytes
        found.counters[its[2].decode()] = []


def _add_event(found: Decoded, at_ns: int, event: bytes, open_slices: dict[int, list[tuple[str, int]]]) -> None:
    its = one(event)
    track, kind = its[11], its[9]
    assert track in found.names, "an event is on a track that is not described"
    if kind == 4:
        found.counters[found.names[track]].append((at_ns, its[30]))
    elif kind == 1:
        open_slices.setdefault(track, []).append((its[23].decode(), at_ns))
    elif kind == 2:
        name, began = open_slices[track].pop()
        found.slices.append((name, began, at_ns))
    else:
        notes = (one(value) for key, value in fields(event) if key == 4)
        named = {note[10].decode(): note.get(3, note.get(4, note.get(6))) for note in notes}
        found.instants.append((its[23].decode(), at_ns, named))
