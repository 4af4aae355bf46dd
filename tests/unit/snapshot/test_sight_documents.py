"""Histories and telemetry as documents: what is written is read back, and nothing is taken on trust."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from tests.support.driver_tree import DriverTree
from ttmem.devices import Pool
from ttmem.errors import VersionMismatch
from ttmem.snapshot.sights.documents.history import history_document, history_from_document
from ttmem.snapshot.sights.documents.telemetry import telemetry_document, telemetry_from_document
from ttmem.snapshot.history import History, Mark, MarkKind, Series
from ttmem.sources.driver import Driver

KINDS: tuple[MarkKind, ...] = get_args(MarkKind)


def test_a_history_is_read_back_as_it_was_written() -> None:
    samples = ((), (None,), (0, None, 1 << 50))
    series = [
        Series(
            number - 1, "0x0000000000000005" if number % 2 else None, pool, number or None, samples[number % 3], "read"
        )
        for number, pool in enumerate(Pool)
    ]
    marks = [Mark(7, what, "a label", 41, 0, Pool.L1, 4096, 3) for what in KINDS]
    history = History(end_ns=9, interval_ns=5, series=tuple(series), marks=(*marks, Mark(8, "clash", "")))

    assert history_from_document(json.loads(json.dumps(history_document(history)))) == history


def test_telemetry_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    tree = DriverTree(tmp_path)
    tree.chip(0, heartbeat="none")
    tree.chip(1, "wormhole", serial=None, asic_id=None)
    tree.opened(1, 4, 5)
    chips = Driver(tree.environ).telemetry()

    assert telemetry_from_document(json.loads(json.dumps(telemetry_document(chips)))) == chips


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"schema": 99}, "schema"),
        ({"series": None}, "series"),
        ({"series": [{"device": 0}]}, "series[0].uuid"),
        ({"interval_ns": "1"}, "interval_ns"),
        ({"marks": [{"time_ns": 1, "what": "flood", "pool": None}]}, "marks[0].what"),
    ],
)
def test_a_history_of_another_version_is_refused_by_the_name_of_the_field(change: Any, named: str) -> None:
    document = history_document(History(end_ns=1, interval_ns=1, series=(), marks=()))

    with pytest.raises(VersionMismatch) as refused:
        history_from_document({**document, **change})

    assert f"`{named}`" in str(refused.value)


@pytest.mark.parametrize("value", [True, "5", float("nan"), float("inf")])
def test_a_sensor_that_is_no_number_is_refused(tmp_path: Path, value: Any) -> None:
    tree = DriverTree(tmp_path)
    tree.chip(0)
    document = telemetry_document(Driver(tree.environ).telemetry())
    document["chips"][0]["power"]["value"] = value

    with pytest.raises(VersionMismatch, match="power"):
        telemetry_from_document(document)
