"""Makes what docs/ says of JSON from the structs themselves: the JSON Schema of `ttmem -s`, and the tables of json.md.

python -m tools.json_pages        # writes both; a test compares them

What a field means is the comment behind it in the source.
"""

import inspect
import json
import re
from pathlib import Path
from typing import Any

from ttmem.snapshot.chip_map import ChipMap
from ttmem.snapshot.codec import json_schema
from ttmem.snapshot.dump import Dump
from ttmem.snapshot.history import History
from ttmem.snapshot.incidents import IncidentCopy
from ttmem.snapshot.kernel_table import KernelTable
from ttmem.snapshot.process_detail import ProcessDetail
from ttmem.snapshot.telemetry import Telemetry
from ttmem.snapshot.usage import Snapshot
from ttmem.view.pages.smi import SmiDocument

__all__ = ["ANSWERS", "page_with_tables", "schema_text"]

DOCS = Path(__file__).parents[1] / "docs" / "reference"
ANSWERS = (SmiDocument, Snapshot, ProcessDetail, ChipMap, KernelTable, History, Telemetry, IncidentCopy, Dump)
_BEGIN, _END = "<!-- tables: python -m tools.json_pages -->\n", "<!-- end of tables -->\n"
_FIELD = re.compile(r"^    (\w+): [^#\n]*(?:#\s*(.*))?$", flags=re.MULTILINE)

Schema = dict[str, Any]


def schema_text() -> str:
    """docs/reference/snapshot.schema.json."""
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ttmem -s",
        "description": "What `ttmem -s` and `ttmem ps --json` print; docs/reference/json.md says what fields mean.",
    }
    return json.dumps(head | json_schema(SmiDocument), indent=1, ensure_ascii=False) + "\n"


def page_with_tables(page: str) -> str:
    """docs/reference/json.md with its tables made again."""
    before, _, rest = page.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return before + _BEGIN + _tables() + _END + after


def _tables() -> str:
    parts: dict[str, Schema] = {}
    for answer in ANSWERS:
        parts |= {name: part for name, part in json_schema(answer)["$defs"].items() if name not in parts}
    kinds = _kinds()
    return "".join(_table(name, part, parts, kinds[name]) for name, part in parts.items() if "properties" in part)


def _kinds() -> dict[str, type]:
    """Every struct and dictionary by its name."""
    modules = {inspect.getmodule(answer) for answer in ANSWERS}
    modules |= {
        inspect.getmodule(base) for module in modules for base in vars(module).values() if inspect.isclass(base)
    }
    return {name: kind for module in modules for name, kind in vars(module).items() if inspect.isclass(kind)}


def _table(name: str, part: Schema, parts: dict[str, Schema], kind: type) -> str:
    meanings = _meanings(kind)
    rows = [
        f"| `{field}` | {_words(schema, parts)} | {meanings.get(field, '')} |\n"
        for field, schema in part["properties"].items()
    ]
    return f"### {name}\n\n{_sentence(kind)}\n\n| field | type | meaning |\n|---|---|---|\n{''.join(rows)}\n"


def _sentence(kind: type) -> str:
    return " ".join((inspect.getdoc(kind) or "").split("\n\n")[0].split())


def _meanings(kind: type) -> dict[str, str]:
    """The comments behind the fields of a class and of those it is made of."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("ttmem."):
            found |= {field: meaning for field, meaning in _FIELD.findall(inspect.getsource(base)) if meaning}
    return {field: meaning.replace("None", "null").replace("|", "\\|") for field, meaning in found.items()}


def _words(schema: Schema, parts: dict[str, Schema]) -> str:
    """A type, in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return _words(parts[name], parts) if "properties" not in parts[name] else f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return ", ".join(_words(one, parts) for one in schema["anyOf"])
    if "enum" in schema:
        return " ".join(f"`{word}`" if word != "" else "empty" for word in schema["enum"])
    if schema["type"] == "array":
        inner = schema.get("prefixItems") or [schema["items"]]
        listed = ", ".join(_words(one, parts) for one in inner)
        return f"[{listed}]" if "prefixItems" in schema else f"list of {listed}"
    plain = {"string": "text", "boolean": "true, false", "number": "number", "null": "null"}
    if schema["type"] == "integer":
        return "integer" if schema.get("minimum") == 0 else "signed integer"
    pattern = schema.get("pattern", "")
    return "nanoseconds" if pattern.startswith("^[0-9]") else "hexadecimal" if pattern else plain[schema["type"]]


if __name__ == "__main__":
    (DOCS / "snapshot.schema.json").write_text(schema_text(), encoding="utf-8")
    page = DOCS / "json.md"
    page.write_text(page_with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")
