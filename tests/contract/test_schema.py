"""docs/reference/snapshot.schema.json is the schema of what `ttmem -s` prints: made from structs, true of documents.

After a change of the structs: python -m tools.json_pages, then read the difference.
"""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.support.machine.driver_chips import some_driver_chips
from tests.support.simulated.figures import a_busy_snapshot, a_server_snapshot, a_snapshot
from tests.support.simulated.random_rows import snapshots
from tests.support.simulated.read_figures import a_read_snapshot
from tools.json_pages import schema_text
from ttmem.cli.demonstration.process import demo_process
from ttmem.cli.demonstration.workload import Order
from ttmem.snapshot import Snapshot
from ttmem.snapshot.codec import encoded
from ttmem.snapshot.telemetry import ChipTelemetry
from ttmem.view.pages.smi import smi_document

Validator: Any = import_module("jsonschema").Draft202012Validator  # it tells no types
DOCS = Path(__file__).parents[2] / "docs" / "reference"
SCHEMA = DOCS / "snapshot.schema.json"


@pytest.fixture(scope="module")
def validator() -> Any:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    Validator.check_schema(schema)
    return Validator(schema)


def document(snapshot: Snapshot, telemetry: tuple[ChipTelemetry, ...] = ()) -> Any:
    return json.loads(encoded(smi_document(snapshot, telemetry)))


def faults(validator: Any, told: Any) -> list[str]:
    return [f"{list(error.absolute_path)}: {error.message}" for error in validator.iter_errors(told)]


def test_the_schema_says_what_the_structs_say() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == schema_text(), "python -m tools.json_pages writes it"


@pytest.mark.parametrize(
    "snapshot",
    [a_busy_snapshot(), a_server_snapshot(), a_read_snapshot(), a_snapshot()],
    ids=["busy", "server-chips", "read", "empty"],
)
def test_documents_are_as_the_schema_says(snapshot: Snapshot, validator: Any) -> None:
    assert faults(validator, document(snapshot, some_driver_chips())) == []


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(snapshots())
def test_any_document_is_as_the_schema_says(validator: Any, snapshot: Snapshot) -> None:
    assert faults(validator, document(snapshot)) == []


def test_what_the_command_prints_of_a_workload_is_as_the_schema_says(tmp_path: Path, validator: Any) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TTMEM")}
    environ |= {"TTMEM_DIR": str(tmp_path), "TTMEM_STOCK_SHM_DIR": str(tmp_path)}
    order = Order(name="resnet-trace", round_count=1, speed=0.0)
    with demo_process(order, directory=str(tmp_path)) as program:
        program.stop()
        command = [sys.executable, "-m", "ttmem", "-s", "--no-daemon"]
        printed = subprocess.run(command, env=environ, capture_output=True, check=True).stdout

    told = json.loads(printed)
    assert [process["pid"] for process in told["processes"]] == [program.pid]
    assert told["device_info"][0]["ttmem"]["pools"][0]["used_bytes"] > 0
    assert faults(validator, told) == []


POOL = ("device_info", 0, "ttmem", "pools", 0)


@pytest.mark.parametrize(
    ("path", "nonsense"),
    [
        (("schema",), 1),
        (("time_ns",), 1_700_000_000_000_000_000),
        ((*POOL, "used_bytes"), "9"),
        ((*POOL, "used_bytes"), None),
        ((*POOL, "used_bytes"), -1),
        ((*POOL, "used_bytes"), (1 << 53) + 1),
        ((*POOL, "origin"), "guessed"),
        ((*POOL, "pool"), "hbm"),
        (("device_info", 0, "ttmem", "device", "unique_id"), 5),
        (("device_info", 0, "telemetry", "power"), 5.0),
        (("processes", 0, "pid"), "4001"),
        (("processes", 0, "is_complete"), 1),
        (("errors",), [{}]),
    ],
)
def test_what_is_no_such_document_is_refused(path: tuple[Any, ...], nonsense: Any, validator: Any) -> None:
    told = document(a_busy_snapshot())
    assert validator.is_valid(told)
    holder = told
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = nonsense

    assert not validator.is_valid(told)


@pytest.mark.parametrize(
    "path",
    [("device_info", 0, "telemetry", "power"), ("host_info", "OS"), (*POOL, "share"), ("processes", 0, "meshes")],
)
def test_a_field_that_is_left_out_is_missed(path: tuple[Any, ...], validator: Any) -> None:
    told = document(a_busy_snapshot())
    holder = told
    for key in path[:-1]:
        holder = holder[key]
    del holder[path[-1]]

    assert not validator.is_valid(told)


@pytest.mark.parametrize(
    "file", sorted((DOCS.parent / "tests/faces/golden").glob("snapshot-*.json")), ids=lambda file: file.stem
)
def test_stored_documents_are_as_the_schema_says(file: Path, validator: Any) -> None:
    assert faults(validator, json.loads(file.read_text(encoding="utf-8"))) == []
