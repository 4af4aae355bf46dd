"""Python with the hook in it: what the runtime does and what the program reports itself goes into one journal."""

from pathlib import Path

import pytest

from tests.support.hooked.process import hook_path
from tests.support.journals.watching import Watch
from tests.support.processes.children import Actor
from tests.support.stand_in.build import StandIn
from tests.support.stand_in.host import CHIP
from ttmem.devices import Pool

OTHER_CHIP = 0x5E1F
LOAD = """
import ctypes
runtime = ctypes.CDLL({!r}, mode=ctypes.RTLD_LOCAL)
def obey(order):
    answer = ctypes.create_string_buffer(4096)
    runtime.fake_obey(order.encode(), answer, len(answer))
    return answer.value.decode()
"""


@pytest.mark.parametrize("is_imported_first", [True, False])
def test_one_process_has_one_journal_whichever_code_reports(
    is_imported_first: bool, stand_in: StandIn, journals: Path, watch: Watch
) -> None:
    own = f"import ttmem; chip = ttmem.open_device({OTHER_CHIP}); ttmem.report_buffer_alloc(chip, 7, 4096)"
    runtime = LOAD.format(str(stand_in.library())) + "obey('open 1 1 0'); obey('buffer 2 1 DRAM 8192 2048')"
    with Actor(journals, LD_PRELOAD=str(hook_path())) as actor:
        for statements in (own, runtime) if is_imported_first else (runtime, own):
            actor.do(statements)
        watch.process(actor.pid)

        assert watch.device_used(CHIP, Pool.DRAM.number) == 2048 * 12
        assert watch.device_used(OTHER_CHIP, Pool.DRAM.number) == 4096
        assert len(watch.rows()["processes"]) == 1


def test_tracking_that_is_turned_on_later_shows_what_comes_from_then_on(
    stand_in: StandIn, journals: Path, watch: Watch
) -> None:
    with Actor(journals, LD_PRELOAD=str(hook_path()), TTMEM="0") as actor:
        actor.do(LOAD.format(str(stand_in.library())) + "obey('open 1 1 0'); obey('buffer 2 1 DRAM 8192 2048')")
        actor.do(f"from ttmem._native import client; client.enable({str(journals)!r})")
        actor.do("obey('buffer 4 1 DRAM 8192 2048'); obey('free 2')")
        row = watch.process(actor.pid)

        assert [entry[2] for entry in watch.allocations(row["key"])] == [4]
        assert watch.device_used(CHIP, Pool.DRAM.number) == 2048 * 12


def test_a_forked_python_child_leaves_its_parents_journal_alone(
    stand_in: StandIn, journals: Path, watch: Watch, tmp_path: Path
) -> None:
    with Actor(journals, LD_PRELOAD=str(hook_path())) as actor:
        actor.do(LOAD.format(str(stand_in.library())) + "obey('open 1 1 0'); obey('buffer 2 1 DRAM 8192 2048')")
        child = actor.fork(tmp_path / "child")
        child.do("obey('buffer 4 1 DRAM 8192 2048'); obey('free 2'); obey('close 1')")
        row = watch.process(actor.pid)

        assert [entry[2] for entry in watch.allocations(row["key"])] == [2]
        assert row["findings"] == {}
