"""What the stock runtime was once seen to do for add, matmul and softmax of 512 x 512 on an n150: graphs and events.

    tests/data/operations/normal.json        a capture of the graph: circular buffers with their addresses
    tests/data/operations/no_dispatch.json   one that dispatches nothing: dataflow buffers, without addresses
    tests/data/operations/events.jsonl       calls that a preloaded library saw

`exp` is in none of them; of it two dataflow buffers were noted.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[2] / "data" / "operations"
FIRST_CB_ADDRESS = 105_824  # on an n150
SAMPLED = ("add", "matmul", "softmax")
_CORNERS = re.compile(r"\[(\d+)-(\d+) - (\d+)-(\d+)\]")


@dataclass(frozen=True, slots=True, order=True)
class Placed:
    """A circular or dataflow buffer on every core of a rectangle."""

    address: int
    size_bytes: int
    core_count: int


@dataclass(frozen=True, slots=True)
class Operation:
    """What one operation lays out."""

    is_dataflow: bool
    placed: tuple[Placed, ...]
    text_offset: int | None  # of binaries in the kernel ring
    core_count: int


def operations() -> dict[str, Operation]:
    """By name: `add`, `matmul`, `softmax`, `exp`."""
    normal, imagined = (_nodes(name) for name in ("normal", "no_dispatch"))
    events = [json.loads(line) for line in (DATA / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    offsets = [event["text_offset"] for event in events if event.get("core_type") == 0 and "text_size" in event]
    cores = [event["cores"] for event in events if event["ev"] == "program_compiled"]
    found = {
        name: Operation(
            is_dataflow=not normal[name],
            placed=_placed(normal[name]) if normal[name] else _stacked(_placed(imagined[name])),
            text_offset=offset,
            core_count=core_count,
        )
        for name, offset, core_count in zip(SAMPLED, offsets, cores, strict=True)
    }
    two = _stacked((Placed(0, 4096, 64), Placed(0, 4096, 64)))
    return found | {"exp": Operation(is_dataflow=True, placed=two, text_offset=None, core_count=64)}


def _nodes(name: str) -> dict[str, list[dict[str, Any]]]:
    """By operation the nodes of its circular and dataflow buffers."""
    found: dict[str, list[dict[str, Any]]] = {}
    operation = ""
    for node in json.loads((DATA / f"{name}.json").read_text(encoding="utf-8")):
        said = node["params"] or {}
        if node["node_type"] == "function_start" and said["name"].startswith("ttnn."):
            operation = said["name"].removeprefix("ttnn.")
            found[operation] = []
        if node["node_type"] in ("circular_buffer_allocate", "dataflow_buffer_allocate"):
            found[operation].append(said)
    return found


def _placed(nodes: list[dict[str, Any]]) -> tuple[Placed, ...]:
    return tuple(Placed(int(said["address"]), int(said["size"]), _cores(said["core_range_set"])) for said in nodes)


def _cores(text: str) -> int:
    corners = ([int(number) for number in four] for four in _CORNERS.findall(text))
    return sum((right - left + 1) * (bottom - top + 1) for left, top, right, bottom in corners)


def _stacked(sizes: tuple[Placed, ...]) -> tuple[Placed, ...]:
    """Dataflow buffers lie one after the other, from where circular buffers begin."""
    address, placed = FIRST_CB_ADDRESS, []
    for one in sizes:
        placed.append(Placed(address, one.size_bytes, one.core_count))
        address += one.size_bytes
    return tuple(placed)
