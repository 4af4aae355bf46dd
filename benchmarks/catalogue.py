"""Which promises there are, in the order of the table, and how each is measured."""

import importlib
from collections.abc import Callable, Iterator
from typing import cast

from benchmarks.figures.rows import Row
from benchmarks.stage.actors import run_program
from benchmarks.stage.setting import Setting

PROGRAMS = (
    "report_loop",
    "report_alone",
    "report_new_ids",
    "report_mesh",
    "report_full",
    "report_syscalls",
    "report_off",
    "incident",
    "trace_replay",
)
MODULES = (
    "report_watched",
    "report_python",
    "own_memory",
    "allocation_client",
    "ledger_speed",
    "ledger_memory",
    "metal",
    "server_socket",
    "ending",
    "hook",
    "hook_rare",
    "hook_recorded",
    "death",
    "visibility",
    "crowded",
    "stock_counters",
    "monitor",
    "monitor_scale",
    "snapshot_rows",
    "snapshot_structs",
    "codec",
    "commands",
    "pytest_plugin",
    "metrics",
    "history",
    "exports",
    "recording",
    "recording_memray",
    "recording_losses",
)
NAMES = PROGRAMS + MODULES


def measure(name: str, setting: Setting) -> Iterator[Row]:
    """The rows of one promise, as they come."""
    if name in PROGRAMS:
        return run_program(setting, name)
    module = importlib.import_module(f"benchmarks.promises.{name}")
    return cast(Callable[[Setting], Iterator[Row]], module.measure)(setting)
