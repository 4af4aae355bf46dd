"""Refusals of the stock runtime as incidents: every figure is that of its own words, whatever others do meanwhile."""

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.hooked.core_buffers import on_cores
from tests.support.hooked.process import Hooked, StartedHooked
from tests.support.ttnn.stock import RELEASE
from ttmem.tracking import RefusalKind

ROOT = Path(__file__).parents[3]
KIB = 1024
REFUSALS, KEPT = 1_000, 6  # as many incidents as the newest that are kept
REFUSED = re.compile(
    r"allocate (\d+) B (\w+)(?: buffer)? across (\d+) banks(?:, where each bank needs to store | \()(\d+) B.*"
    r"bank size is (\d+) B \(allocated: \d+ B, free: (\d+) B, largest free block: (\d+) B\)"
)


@pytest.fixture(scope="module")
def busy_loop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("busy") / "libmesh_buffers.so"
    compiler = shlex.split(os.environ.get("CC", "cc"))
    source = ROOT / "benchmarks" / "measure" / "mesh_buffers.c"
    subprocess.run([*compiler, "-O2", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    return library


def a_matrix(memory: str, side: int) -> dict[str, Any]:
    shape = {"shape": [1, 1, side, side], "dtype": "bfloat16", "is_tiled": True, "layout": "INTERLEAVED"}
    return {"op": "alloc", "id": 1, "type": memory, **shape}


def incidents_of(hooked: Hooked) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = hooked.look().process["incidents"]
    return found


def figures(incident: dict[str, Any]) -> tuple[int, ...]:
    names = ("requested_bytes", "bank_count", "requested_per_bank_bytes", "free_per_bank_bytes")
    space = incident["space_end_address"] - incident["space_begin_address"]
    return (*(incident[name] for name in names), incident["largest_free_per_bank_bytes"], space)


def said_figures(text: str) -> tuple[int, ...]:
    words = REFUSED.search(text)
    assert words, text
    requested, banks, per_bank, bank, free, largest = (int(words[number]) for number in (1, 3, 4, 5, 6, 7))
    return (requested, banks, per_bank, free, largest, bank)


def test_a_thousand_refusals_have_the_figures_of_their_words_while_others_allocate(
    busy_loop: Path, hooked_of: StartedHooked
) -> None:
    hooked = hooked_of("n150")
    different, seen = [], set()
    with hooked.opened() as device:
        first = hooked.look().process["incident_count"]
        for number in range(0, REFUSALS, KEPT):
            sides = [8192 + 32 * ((number + one) % 64) for one in range(min(KEPT, REFUSALS - number))]
            said = hooked.ask({"do": "refused", "sides": sides, "library": str(busy_loop)})["said"]
            look = hooked.look()
            for text, incident in zip(said, look.process["incidents"][-len(said) :], strict=True):
                seen.add(said_figures(text)[3:5])
                is_told = incident["is_of_text"] and incident["text"] in text
                if figures(incident) != said_figures(text) or not is_told:
                    different.append((text, incident))
        assert look.process["incident_count"] - first == REFUSALS
        assert incident["space_end_address"] - incident["space_begin_address"] == device.views["L1"][1]

    assert different == []
    assert len(seen) > 1, "nobody allocated meanwhile"


def test_a_refusal_beside_a_large_enough_block_is_an_incident(hooked_of: StartedHooked) -> None:
    """One core holds memory of its own: for the others a block is free that is large enough, and of no use."""
    hooked = hooked_of("n150", is_hybrid=True)
    with hooked.opened() as device:
        [held] = hooked.runtime.steps([on_cores(1, 1000, first=2, last=2)])
        [refused] = hooked.runtime.steps([on_cores(2, 700, "LOCKSTEP")])
        incident = incidents_of(hooked)[-1]

    assert "addresses" in held
    assert "B remained placeable" in refused["refused"]
    assert refused["refused"] in incident["text"]
    assert figures(incident) == said_figures(refused["refused"])
    assert incident["largest_free_per_bank_bytes"] == device.views["L1"][1] > incident["requested_per_bank_bytes"]
    assert (incident["is_mesh"], incident["is_per_core"], incident["is_of_text"]) == (True, False, True)


def test_a_refused_buffer_by_core_is_an_incident_of_its_cores(hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150", is_hybrid=True)
    with hooked.opened():
        hooked.runtime.steps([on_cores(1, 900)])
        [refused] = hooked.runtime.steps([on_cores(2, 700)])
        incident = incidents_of(hooked)[-1]

    _, _, per_bank, free, largest, space = said_figures(refused["refused"])
    assert figures(incident) == (4 * 700 * KIB, 4, per_bank, free, largest, space)
    assert (incident["is_per_core"], incident["free_bytes"]) == (True, None)


@pytest.mark.parametrize("release", ["0.81.1", "0.80.0", "0.78.0"])
def test_a_clash_is_an_incident_with_the_figures_of_its_words(release: str, hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150", release=release)
    with hooked.opened() as device:
        tensor = a_matrix("L1", 2048)
        [lowest] = hooked.runtime.steps([tensor])
        huge = device.views["L1"][1] // 64 * 64
        said = hooked.runtime.program([{"size": huge, "cores": [[0, 0, 1, 1]]}], grid=device.grid)["refused"]
        incident = incidents_of(hooked)[-1]

    words = re.search(r"in program (\d+) clash.*core range .* allocated at (\d+) and .* ends at (\d+)", said)
    assert words
    told = (incident["program"], incident["lowest_buffer_address"], incident["cb_end_address"])
    assert told == tuple(int(word) for word in words.groups())
    assert incident["lowest_buffer_address"] == lowest["address"]
    assert (incident["cores"], incident["is_of_text"]) == ("0,0-1,1", True)
    assert said in incident["text"]


@pytest.mark.parametrize("release", [RELEASE, "0.80.0", "0.78.0"])
def test_a_clash_names_the_operation_that_was_to_be_launched_for_the_first_time(
    release: str, hooked_of: StartedHooked
) -> None:
    hooked = hooked_of("n150", release=release)
    with hooked.opened():
        everything = {
            "op": "alloc",
            "id": 1,
            "type": "L1",
            "dtype": "uint8",
            "is_tiled": False,
            "shape": [56, 1355 * KIB],
        }
        shards = {"layout": "HEIGHT_SHARDED", "ranges": [[0, 0, 7, 6]], "shard": [1, 1355 * KIB]}
        hooked.runtime.steps([everything | shards])
        said = hooked.ask({"do": "calls", "calls": ["ttnn.add(x, y)"]})["failed"]["ttnn.add(x, y)"]
        incident = incidents_of(hooked)[-1]
        hooked.runtime.steps([{"op": "free", "id": 1, "type": "L1"}])

    assert "clash with L1 buffers" in said
    assert incident["kind"] == RefusalKind.CLASH.number
    assert incident["operation"] == "ttnn.add"
    assert "BinaryNgDeviceOperation" in incident["site"]


@pytest.mark.parametrize("release", ["0.80.0", "0.78.0"])
@pytest.mark.parametrize("memory", ["DRAM", "L1"])
def test_refusals_of_older_releases_are_read(memory: str, release: str, hooked_of: StartedHooked) -> None:
    hooked = hooked_of("n150", release=release)
    tensor = a_matrix(memory, 131_072)
    with hooked.opened():
        [refused] = hooked.runtime.steps([tensor])
        incident = incidents_of(hooked)[-1]

    assert refused["refused"] in incident["text"]
    assert figures(incident) == said_figures(refused["refused"])
    assert incident["is_of_text"]
