"""Documents are encoded as the standard library does it, but never many rows at once."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ttmem.daemon.answering import encoding
from ttmem.daemon.answering.encoding import encoded

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
NAMES = st.text(max_size=4)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=30,
)


@given(st.dictionaries(NAMES, VALUES, max_size=6))
def test_it_is_what_the_standard_library_writes(document: dict[str, Any]) -> None:
    assert encoded(document) == json.dumps(document, separators=(",", ":")).encode()


def test_every_row_is_a_piece_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """In lists within lists, as a dump has them, and beside lists that are none of rows."""
    pieces: list[str] = []

    def text(value: Any) -> str:
        pieces.append(json.dumps(value))
        return pieces[-1]

    monkeypatch.setattr(encoding, "_text", text)
    rows = [{"id": hex(number), "stack": ["a.py:1 f", "b.py:2 g"], "packed": [], "parts": []} for number in range(500)]
    groups = [{"type": "dram", "allocations": rows}, {"type": "l1", "allocations": []}]
    document = {"schema": 1, "devices": [{"index": 0, "groups": groups}, {"index": 1, "groups": groups}]}

    assert json.loads(encoded(document)) == document
    assert sum("stack" in piece for piece in pieces) == 2 * len(rows)
    assert max(map(len, pieces)) < 100
