"""The one serializer: JSON-able, whole numbers, null for unknown, and as docs/reference/json.md describes it."""

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.simulated.figures import GIB, KIB, NOON_NS, a_busy_snapshot, a_seed_snapshot, a_snapshot
from ttmem.snapshot.document import document

DOCS = (Path(__file__).parents[3] / "docs" / "reference" / "json.md").read_text(encoding="utf-8")


@pytest.fixture
def busy() -> dict[str, Any]:
    return document(a_busy_snapshot())


def test_it_is_json_of_schema_1(busy: dict[str, Any]) -> None:
    assert json.loads(json.dumps(busy, allow_nan=False))["schema"] == 1


def test_no_number_is_a_float(busy: dict[str, Any]) -> None:
    assert floats_in(busy) == []


def floats_in(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [found for inner in value.values() for found in floats_in(inner)]
    if isinstance(value, list):
        return [found for inner in value for found in floats_in(inner)]
    return [value] if isinstance(value, float) else []


def test_times_carry_their_offset(busy: dict[str, Any]) -> None:
    time = datetime.fromisoformat(busy["time"])

    assert time.utcoffset() is not None
    assert int(time.timestamp()) == NOON_NS // 1_000_000_000


def test_a_device_says_where_each_figure_comes_from(busy: dict[str, Any]) -> None:
    dram, small = busy["device_info"][0]["memory"]["dram"], busy["device_info"][1]["memory"]["l1_small"]

    assert (dram["used"], dram["total"], dram["free"]) == (9 * GIB, 12 * GIB, 3 * GIB)
    assert (dram["origin"], dram["total_origin"], dram["complete"], dram["reason"]) == (
        "counter",
        "reported",
        False,
        "outrun",
    )
    assert (small["total"], small["total_origin"], small["free"], small["requested"]) == (None, "unknown", None, None)
    assert small["used"] == 64 * KIB


def test_kernels_are_always_split_by_type(busy: dict[str, Any]) -> None:
    kernels = [device["kernels"] for device in busy["device_info"]]

    assert [set(split) for split in kernels] == [{"application", "fabric", "dispatch", "unknown"}] * 3
    assert kernels[0]["fabric"] == {"used": 255_104, "count": 1, "estimated": True}
    assert kernels[1]["fabric"] == {"used": 0, "count": 0, "estimated": False}


def test_answers_that_follow_a_plan_are_told_as_an_estimate(busy: dict[str, Any]) -> None:
    caches = busy["device_info"][0]["caches"]

    assert {name: figures["estimated"] for name, figures in caches.items()} == {
        "program": False,
        "trace": True,
        "image": False,
    }


def test_a_process_keeps_the_four_keys_of_tt_smi(busy: dict[str, Any]) -> None:
    process = busy["processes"][0]

    assert [process[key] for key in ("pid", "user", "device", "cmdline")] == [4001, "ada", 0, "python job_1.py"]


def test_a_process_holds_pools_per_device(busy: dict[str, Any]) -> None:
    devices = busy["processes"][0]["devices"]

    assert [device["index"] for device in devices] == [0, 1, None]
    assert devices[2]["name"] == "unknown:2"
    assert devices[0]["memory"]["dram"]["peak"] == 6 * GIB


def test_foreign_and_damaged_are_listed(busy: dict[str, Any]) -> None:
    assert busy["foreign"] == [{"path": "/dev/shm/ttmem-1002", "uid": 1002, "user": "1002", "what": "journals"}]
    assert busy["damaged"][0]["text"] == "not a journal: it begins with zeros"


def test_an_empty_snapshot_keeps_its_shape() -> None:
    empty = document(a_snapshot())

    assert (empty["complete"], empty["reason"], empty["device_info"], empty["processes"]) == (True, None, [], [])


def keys_in(value: Any, path: str = "") -> set[str]:
    """Every key as docs/reference/json.md writes it: `processes[].devices[].memory.*.used`."""
    named = {"memory", "capacity", "kernels", "kernels_by_core", "kinds", "findings", "ring", "stalls", "caches"}
    found: set[str] = set()
    if isinstance(value, list):
        for inner in value:
            found |= keys_in(inner, f"{path}[]")
    elif isinstance(value, dict):
        is_open = path.split(".")[-1].rstrip("[]") in named and not path.endswith("[]")
        for key, inner in value.items():
            below = f"{path}.{'*' if is_open else key}".lstrip(".")
            found |= {below} | keys_in(inner, below)
    return found


def test_every_field_is_described_and_nothing_else(busy: dict[str, Any]) -> None:
    described = set(re.findall(r"^\| `([^`]+)` \|", DOCS, flags=re.MULTILINE))

    assert keys_in(busy) | keys_in(document(a_seed_snapshot())) == described
