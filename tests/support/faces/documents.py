"""What the tables of the docs say, for the tests that compare them with the program.

docs/reference/json.md becomes the JSON Schema of a snapshot: every field there, with its type and meaning.
"""

import re
from pathlib import Path
from typing import Any

__all__ = ["described", "schema_of"]

_INSPECT = Path(__file__).parents[3] / "docs" / "reference" / "inspect.md"

Schema = dict[str, Any]

_TYPES: dict[str, Schema] = {
    "integer": {"type": "integer", "minimum": 0},
    "signed integer": {"type": "integer"},
    "text": {"type": "string"},
    "true": {"type": "boolean"},
    "false": {},
    "null": {"type": "null"},
    "object": {"type": "object"},
    "list": {"type": "array"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "integers": {"type": "array", "items": {"type": "integer", "minimum": 0}},
}
_POOLS = ["dram", "trace", "l1", "l1_small", "cb", "kernel", "eth", "dispatch", "host", "unknown"]
_KERNELS = ["application", "fabric", "dispatch", "unknown"]
_ORIGINS = ["counted", "counter", "read", "sample", "unknown"]
# What the tables say in words: by the end of a field's path, which values or names there can be.
_VALUES = {
    ".origin": _ORIGINS,
    ".memory.*.source": ["reports", "runtime", "unknown"],
    "processes[].source": ["journal", "socket", "runtime"],
    "processes[].state": ["live", "stale", "ended"],
    ".total_origin": ["reported", "unknown"],
    ".pool": _POOLS,
    "incidents[].kind": ["out_of_memory", "clash", "unsafe_replay"],
    "incidents[].memory": _POOLS,
    "foreign[].what": ["journals", "counters"],
}
_NAMES = {".memory": _POOLS, ".capacity": _POOLS, ".kernels": _KERNELS}


def schema_of(page: str) -> Schema:
    """From the text of docs/reference/json.md."""
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \|([^|]*)\|$", page, flags=re.MULTILINE)
    root: Schema = {"type": "object", "properties": {}, "required": []}
    for path, types, meaning in rows:
        _put(root, path, _leaf(path, types.strip(), meaning.strip()))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A snapshot of ttmem",
        "description": "What `ttmem -s` prints and the daemon answers to /snapshot; docs/reference/json.md tells more.",
        **root,
    }


def _leaf(path: str, types: str, meaning: str) -> Schema:
    made: Schema = {}
    for word in types.split(", "):
        made = _either(made, _TYPES[word])
    if made.get("type") == "integer" and path == "schema":
        made = {"const": 1}
    for ending, values in _VALUES.items():
        if path.endswith(ending):
            made = {"enum": [*values, *([None] if "null" in types else [])]}
    if path.split(".")[-1] in ("time", "since", "peak_time", "start_time", "last_event_time", "last_time"):
        made["format"] = "date-time"
    return made | ({"description": meaning.replace("`", "")} if meaning else {})


def _either(one: Schema, other: Schema) -> Schema:
    """One type or another."""
    if not one or not other:
        return {**(one or other)}
    types = [kind for schema in (one, other) for kind in ([schema["type"]] if isinstance(schema["type"], str) else [])]
    return {**other, **one, "type": types}


def _put(root: Schema, path: str, leaf: Schema) -> None:
    """Puts a field below the objects and lists on its way."""
    here, way = root, ""
    *above, last = re.findall(r"[^.\[\]]+(?:\[\])?", path)
    for part in above:
        way = f"{way}.{part}".lstrip(".")
        here = here["additionalProperties"] if part == "*" else here["properties"][part.removesuffix("[]")]
        if part.endswith("[]"):
            here = here.setdefault("items", {"type": "object"})
    if last == "*":
        here["additionalProperties"] = leaf
        names = next((names for ending, names in _NAMES.items() if f".{way}".endswith(ending)), None)
        if names:
            here["propertyNames"] = {"enum": names}
    else:
        here.setdefault("properties", {})[last] = leaf
        here.setdefault("required", []).append(last)


def described(section: str) -> set[str]:
    """The fields that a section of docs/reference/inspect.md names."""
    text = _INSPECT.read_text(encoding="utf-8").split(f"## {section}\n", 1)[1].split("\n## ", 1)[0]
    return set(re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE))
