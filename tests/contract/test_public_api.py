"""What users of the package may rely on: these names, in these places, with these parameters."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ttmem
from ttmem import _native
from ttmem.client import reports
from ttmem.client.socket_transport import SocketTransport

REPORTS = [
    "report_binary_status",
    "report_buffer_alloc",
    "report_buffer_free",
    "report_cache",
    "report_cb_alloc",
    "report_cb_free",
    "report_clash",
    "report_core_buffer_alloc",
    "report_free",
    "report_incident",
    "report_kernel_load",
    "report_kernel_unload",
    "report_launch",
    "report_out_of_memory",
    "report_program_end",
    "report_ring",
    "report_trace_begin",
    "report_trace_end",
    "report_trace_program",
    "report_trace_release",
    "report_trace_replay",
]
SIGNATURES = {
    "enable": "(directory: str | None = None) -> bool",
    "disable": "() -> None",
    "is_enabled": "() -> bool",
    "label": "(text: str) -> None",
    "phase": "(name: str) -> ttmem.client.phases.Phase",
    "open_device": "(unique_id: int, *, index: int = -1, arch: str = '', board: str = '', "
    "grid: tuple[int, int] = (0, 0), banks: tuple[int, int] = (0, 0), "
    "capacities: collections.abc.Mapping[ttmem.devices.Pool, int] | None = None, kernel_ring_bytes: int = 0) -> int",
    "open_mesh": "(chips: collections.abc.Sequence[int], rows: int | None = None, columns: int | None = None, *, "
    "mesh_id: int | None = None) -> int",
    "close": "(target: int) -> None",
    "memory_allocated": "(device: Any = None, pool: ttmem.devices.Pool | str = 'dram') -> int",
    "max_memory_allocated": "(device: Any = None, pool: ttmem.devices.Pool | str = 'dram') -> int",
    "reset_peak_memory_stats": "(device: Any = None) -> None",
    "mem_get_info": "(device: Any = None, pool: ttmem.devices.Pool | str = 'dram') -> tuple[int, int]",
    "memory_summary": "(device: Any = None) -> str",
    "memory_snapshot": "(device: Any = None) -> list[ttmem.client.memory.listing.LiveAllocation]",
    "record_sites": "() -> None",
    "forget_sites": "() -> None",
    "record": "(path: 'str | PathLike[str]', *, force: bool = False) -> ttmem.client.recorded_stretch.RecordedStretch",
}


# The older design's client, as it was called there.
OLDER_CALLS = {
    "report_allocation": "(device_id, size, buffer_type, buffer_id)",
    "report_deallocation": "(device_id, buffer_id)",
    "report_cb_allocation": "(device_id, size, cb_id)",
    "report_cb_deallocation": "(device_id, size, cb_id)",
    "report_kernel_load": "(device_id, size, kernel_id, kernel_type=0)",
    "report_kernel_unload": "(device_id, size, kernel_id)",
    "is_enabled": "()",
    "lost_count": "()",
}


def test_the_package_offers_exactly_these_names() -> None:
    others = ["AllocationClient", "Client", "GraphTracker", "TtmemError", "__version__"]

    assert sorted(ttmem.__all__) == sorted([*REPORTS, *SIGNATURES, *others])


@pytest.mark.parametrize("name", ttmem.__all__)
def test_an_offered_name_is_there(name: str) -> None:
    assert getattr(ttmem, name) is not None
    assert name in dir(ttmem)


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_function_keeps_its_parameters(name: str) -> None:
    assert str(inspect.signature(getattr(ttmem, name))) == SIGNATURES[name]


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_the_native_function_itself_wherever_it_is_called(name: str) -> None:
    native = getattr(_native.client, name)

    assert getattr(ttmem, name) is native
    assert getattr(ttmem.Client, name) is native
    assert getattr(reports, name) is native


@pytest.mark.parametrize("name", [*SIGNATURES, *REPORTS, "AllocationClient", "Client", "GraphTracker"])
def test_everything_offered_says_what_it_is_for(name: str) -> None:
    assert inspect.getdoc(getattr(ttmem, name))


def test_a_client_has_every_verb() -> None:
    own = {name for name in dir(ttmem.Client) if not name.startswith("_")}

    assert own == {*REPORTS, "open_device", "open_mesh", "close", "label", "phase"}


def test_the_older_client_has_its_calls_and_no_other() -> None:
    assert {name for name in dir(ttmem.AllocationClient) if not name.startswith("_")} == set(OLDER_CALLS)


@pytest.mark.parametrize("name", OLDER_CALLS)
def test_a_call_of_the_older_client_is_the_native_function_itself(name: str) -> None:
    call = getattr(ttmem.AllocationClient, name)

    assert call is getattr(_native.allocation_client, name)
    assert call is getattr(ttmem.AllocationClient(), name)
    assert inspect.isbuiltin(call)
    assert call.__doc__ == name + OLDER_CALLS[name]


@pytest.mark.parametrize("name", OLDER_CALLS)
def test_both_transports_take_the_same_parameters(name: str) -> None:
    over_socket = getattr(SocketTransport({}), name, None)
    stub = "()" if over_socket is None else str(inspect.signature(over_socket))

    assert re.sub(r": \w+| -> \w+", "", stub).replace(" = ", "=") == OLDER_CALLS[name]


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        getattr(ttmem, "nonsense")  # noqa: B009


def test_importing_the_package_loads_neither_the_core_nor_the_command_line() -> None:
    names = ("ttmem._native", "click", "msgspec", "ttmem.cli", "ttmem.snapshot")
    program = f"import sys, ttmem; print([name for name in {names} if name in sys.modules])"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


WORKLOAD = """
import os, sys
before = set(sys.modules)
import ttmem
from ttmem.devices import Pool
client = ttmem.Client()
chip = client.open_device(5, index=0, capacities={Pool.DRAM: 1 << 30})
with ttmem.phase("decode"):
    handle = client.report_buffer_alloc(chip, 1, 4096)
ttmem.memory_allocated(), ttmem.memory_summary(), ttmem.memory_snapshot()
ttmem.GraphTracker, ttmem.AllocationClient
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(sorted(name for name in loaded if name not in sys.stdlib_module_names and name != "ttmem"))
print("ttmem.snapshot" in sys.modules, len(os.listdir(os.environ["TTMEM_DIR"])) > 0)
"""


def test_a_workload_loads_no_package_of_others(tmp_path: Path) -> None:
    """Neither msgspec nor any other: what reports has to be small, and may have another version of it."""
    environ = {**os.environ, "TTMEM": "1", "TTMEM_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", WORKLOAD], capture_output=True, text=True, check=True, env=environ)

    assert done.stdout == "[]\nFalse True\n"  # and it did report
