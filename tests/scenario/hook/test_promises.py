"""What `ttmem doctor` says can be seen of a release is what the hook tells of it: no less, and no more."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.stand_in.build import CURRENT, FUTURE, NAMELESS, OLD, OLDEST, STRIPPED, StandIn
from tests.support.stand_in.host import CHIP, Host, HostLook
from tests.support.stand_in.stories import NEARLY_ALL_L1, an_add
from ttmem.devices import BinaryStatus, Pool
from ttmem.tracking import CoreType

STORY = (
    "open 1 1 0",
    "buffer 2 1 DRAM 8192 2048",
    "buffer 4 1 DRAM 99999999999999 2048",
    *an_add(),
    "enqueue 1",
    "begin 1",
    "enqueue 1",
    "end 1 0 118 14336",
    "replay 1 0",
    f"buffer 6 1 L1 {NEARLY_ALL_L1} 2048",
    "enqueue 1",
)


def promised(library: Path, directory: Path) -> dict[str, bool]:
    command = [sys.executable, "-m", "ttmem", "doctor", "--json", "--library", str(library)]
    said = subprocess.run(command, capture_output=True, text=True, cwd=directory, check=False)
    return {name: shown["level"] != "none" for name, shown in json.loads(said.stdout)["shows"].items()}


def told(look: HostLook | None, nothing: HostLook) -> dict[str, bool]:
    if look is None:
        return {}
    programs = look.programs(CHIP).values()
    return {
        "devices": look.open_chips == [CHIP],
        "buffers": any(told.pool is Pool.DRAM for told in look.buffers),
        "out_of_memory": look.refusals_since(nothing) != [],
        "circular_buffers": look.circular != [],
        "clashes": look.clashes_since(nothing) != [],
        "kernels": look.kernels != [],
        "binary_status": any(status is BinaryStatus.COMMITTED for status, _ in programs),
        "launches": look.launches(CHIP) > 0,
        "kernel_ring": look.ring(CHIP, CoreType.TENSIX)["launches"] > 0,
        "traces": look.launches(CHIP) == 2,  # one by hand, one by a replay
    }


@pytest.mark.parametrize("release", [CURRENT, STRIPPED, OLD, OLDEST, FUTURE, NAMELESS])
def test_doctor_promises_what_the_hook_tells(release: str, stand_in: StandIn, journals: Path, tmp_path: Path) -> None:
    with Host(stand_in, journals, release=release) as host:
        host.tell(STORY[0])
        nothing = host.look_if_any()
        host.tell(*STORY[1:])
        look = host.look_if_any()
    seen = told(look, nothing) if nothing else {}
    expected = promised(stand_in.library(release), tmp_path)

    assert {name: seen.get(name, False) for name in expected} == expected
