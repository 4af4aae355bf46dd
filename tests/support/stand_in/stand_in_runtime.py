"""A libtt_metal.so with the right names and nothing behind them: what a doctor looks at, and no more."""

import os
from collections.abc import Collection
from pathlib import Path

from tests.support.processes.compiled import compiled
from ttmem.doctor.entries import HookEntry, hook_entries
from ttmem.doctor.hook import hook_path

__all__ = ["a_runtime", "entries"]


def entries() -> list[HookEntry]:
    """What the installed hook lists."""
    path = hook_path(os.environ)
    assert path is not None, "the hook was not built"
    return hook_entries(path)


def a_runtime(
    directory: Path,
    *options: str,
    without: Collection[str] = (),
    uncalled: Collection[str] = (),
    is_hidden: bool = False,
) -> Path:
    """The library of a release that lacks some of the functions, or calls some of them directly."""
    listed = [entry for entry in entries() if entry.kind != "offset" and entry.name not in without]
    symbols = dict.fromkeys(entry.symbol for entry in listed)
    called = [entry.symbol for entry in listed if entry.kind == "hook" and entry.name not in uncalled]
    scope = '__attribute__((visibility("hidden"))) ' if is_hidden else ""
    source = [f"{scope}void {symbol}(void) {{}}" for symbol in symbols]
    source += [f"{scope}void caller(void) {{", *(f"  {symbol}();" for symbol in called), "}"]
    directory.mkdir(parents=True, exist_ok=True)
    shared = ("-O0", "-shared", "-fPIC", "-Wl,-soname,libtt_metal.so")
    return compiled(directory / "libtt_metal.so", "\n".join(source), *shared, *options)
