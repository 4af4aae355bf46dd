"""However many copies of the client a process has loaded, it makes one journal, and everything is in it."""

from pathlib import Path

import pytest

from tests.support.journals.watching import Watch
from tests.support.processes.children import Actor
from tests.support.processes.native_programs import CLIENT_LIBRARY, NativePrograms

CHIP = 0x1A2B

# Each reports one buffer, of a size by which it can be told, on the same chip.
PYTHON = f"import ttmem; ttmem.report_buffer_alloc(ttmem.open_device({CHIP}), 1, 1000)"
HOST = f"""
import ctypes
host = ctypes.CDLL({{library!r}}, mode=os.RTLD_LOCAL | os.RTLD_NOW)
host.host_reports.argtypes = [ctypes.c_uint64] * 3
host.host_reports.restype = ctypes.c_uint64
host.host_journal_path.restype = ctypes.c_char_p
assert host.host_reports({CHIP}, 2, 200) != 0
"""
# The preloaded library as the hook uses it: by symbols that are there in the program itself.
HOOK = f"""
import ctypes
class Chip(ctypes.Structure):
    _fields_ = [("unique_id", ctypes.c_uint64), ("rest", ctypes.c_uint64 * 32)]
class Buffer(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint64), ("address", ctypes.c_uint64), ("requested", ctypes.c_uint64),
                ("reserved", ctypes.c_uint64), ("per_bank", ctypes.c_uint64), ("page", ctypes.c_uint64),
                ("site", ctypes.c_uint32), ("target", ctypes.c_uint16), ("type", ctypes.c_uint8),
                ("options", ctypes.c_uint8), ("layout", ctypes.c_uint8)]
program = ctypes.CDLL(None)
program.ttmem_device_open_on.restype = ctypes.c_uint16
program.ttmem_buffer_alloc_on.restype = ctypes.c_uint64
target = program.ttmem_device_open_on(ctypes.byref(Chip({CHIP})))
assert program.ttmem_buffer_alloc_on(ctypes.byref(Buffer(id=3, reserved=30, target=target))) != 0
"""


@pytest.mark.parametrize("order", ["python host hook", "host hook python", "hook host python", "python hook host"])
def test_hook_extension_and_a_hosts_own_copy_share_one_journal(
    programs: NativePrograms, journals: Path, watch: Watch, order: str
) -> None:
    parts = {"python": PYTHON, "host": HOST.format(library=str(programs.host_library)), "hook": HOOK}
    with Actor(journals, LD_PRELOAD=str(CLIENT_LIBRARY)) as actor:
        for name in order.split():
            actor.do(parts[name])
        row = watch.process(actor.pid)

        assert len(list(journals.glob("*.journal"))) == 1
        assert {entry[2]: entry[5] for entry in watch.allocations(row["key"])} == {1: 1000, 2: 200, 3: 30}
        assert actor.ask("host.host_journal_path().decode()") == str(actor.journal) == row["path"]
        assert watch.device_used(CHIP) == 1230


@pytest.mark.parametrize("order", ["python host", "host python"])
def test_extension_and_a_hosts_own_copy_share_one_journal_without_a_hook(
    programs: NativePrograms, journals: Path, watch: Watch, order: str
) -> None:
    parts = {"python": PYTHON, "host": HOST.format(library=str(programs.host_library))}
    with Actor(journals) as actor:
        for name in order.split():
            actor.do(parts[name])
        watch.process(actor.pid)

        assert len(list(journals.glob("*.journal"))) == 1
        assert watch.device_used(CHIP) == 1200


def test_a_copy_used_first_by_a_forked_child_shares_the_childs_journal(
    programs: NativePrograms, journals: Path, tmp_path: Path, watch: Watch
) -> None:
    with Actor(journals) as parent:
        parent.do(PYTHON)
        child = parent.fork(tmp_path / "child")
        child.do(HOST.format(library=str(programs.host_library)))
        child.do("ttmem.report_buffer_alloc(ttmem.open_device(2), 9, 9)")
        row = watch.process(child.pid)

        assert len(list(journals.glob("*.journal"))) == 2
        assert sorted(entry[5] for entry in watch.allocations(row["key"])) == [9, 200]


def test_turning_tracking_off_in_one_copy_turns_it_off_in_all(
    programs: NativePrograms, journals: Path, watch: Watch
) -> None:
    with Actor(journals, TTMEM="0", LD_PRELOAD=str(CLIENT_LIBRARY)) as actor:
        actor.do("import ttmem; assert ttmem.enable(os.environ['TTMEM_DIR'])")
        actor.do(HOST.format(library=str(programs.host_library)))
        watch.process(actor.pid)
        held_before = watch.device_used(CHIP)
        actor.do("ttmem.disable()")
        is_recorded = actor.ask(f"host.host_reports({CHIP}, 3, 300)")

        assert (held_before, is_recorded) == (200, 0)
        assert watch.device_used(CHIP) == 0
