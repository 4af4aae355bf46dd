"""snapshot.schema.json is the schema of what `ttmem -s` prints: made from docs/reference/json.md, true of documents.

After a change of json.md: UPDATE_GOLDEN=1 ./run test tests/contract/test_schema.py, then read the difference.
"""

import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.support.faces.documents import schema_of
from tests.support.machine.driver_chips import some_driver_chips
from tests.support.simulated.figures import a_busy_snapshot, a_seed_snapshot, a_snapshot
from tests.support.simulated.made_up_rows import snapshots
from tests.support.simulated.read_figures import a_read_snapshot
from ttmem.snapshot import Snapshot
from ttmem.snapshot.document import document

Validator: Any = import_module("jsonschema").Draft202012Validator  # it tells no types
DOCS = Path(__file__).parents[2] / "docs" / "reference"
SCHEMA = DOCS / "snapshot.schema.json"


@pytest.fixture(scope="module")
def validator() -> Any:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    Validator.check_schema(schema)
    return Validator(schema)


def test_the_schema_says_what_the_page_says() -> None:
    made = json.dumps(schema_of((DOCS / "json.md").read_text(encoding="utf-8")), indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        SCHEMA.write_text(made, encoding="utf-8")

    assert SCHEMA.read_text(encoding="utf-8") == made


@pytest.mark.parametrize(
    "snapshot",
    [a_busy_snapshot(), a_seed_snapshot(), a_read_snapshot(), a_snapshot()],
    ids=["busy", "seeds", "read", "empty"],
)
def test_documents_are_as_the_schema_says(snapshot: Snapshot, validator: Any) -> None:
    assert [error.message for error in validator.iter_errors(document(snapshot, some_driver_chips()))] == []


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(snapshots())
def test_any_document_is_as_the_schema_says(validator: Any, snapshot: Snapshot) -> None:
    assert validator.is_valid(document(snapshot))


@pytest.mark.parametrize(
    ("path", "nonsense"),
    [
        (("schema",), 2),
        (("device_info", 0, "memory", "dram", "used"), "9"),
        (("device_info", 0, "memory", "dram", "used"), None),
        (("device_info", 0, "memory", "dram", "used"), -1),
        (("device_info", 0, "memory", "dram", "origin"), "guessed"),
        (("device_info", 0, "memory"), {"hbm": {}}),
        (("processes", 0, "pid"), "4001"),
        (("processes", 0, "complete"), 1),
        (("errors",), [{}]),
    ],
)
def test_what_is_no_such_document_is_refused(path: tuple[Any, ...], nonsense: Any, validator: Any) -> None:
    told: Any = json.loads(json.dumps(document(a_busy_snapshot())))
    assert validator.is_valid(told)
    holder = told
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = nonsense

    assert not validator.is_valid(told)


def test_a_field_that_is_left_out_is_missed(validator: Any) -> None:
    told = document(a_busy_snapshot())
    del told["device_info"][0]["telemetry"]["power"]

    assert not validator.is_valid(told)


@pytest.mark.parametrize(
    "file", sorted((DOCS.parent / "tests/faces/golden").glob("snapshot-*.json")), ids=lambda file: file.stem
)
def test_stored_documents_are_as_the_schema_says(file: Path, validator: Any) -> None:
    assert [error.message for error in validator.iter_errors(json.loads(file.read_text(encoding="utf-8")))] == []
