"""`python -m benchmarks [NAME ...]`: measures the promises and prints one table.

Progress goes to standard error, so that standard output holds the table or, with --json, one object per row.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.catalogue import NAMES, measure
from benchmarks.figures import machine, table
from benchmarks.figures.rows import Row, row
from benchmarks.stage.actors import ActorFailed
from benchmarks.stage.build import ROOT, BuildFailed, build_programs
from benchmarks.stage.setting import Setting, private_directory, shared_memory_root

RESULTS = ROOT / "benchmarks" / "RESULTS.md"


def main() -> int:
    options = _parse(sys.argv[1:])
    for name in [name for name in os.environ if name.startswith(("TTMEM", "TT_ALLOC"))]:
        del os.environ[name]  # the benchmarks choose where tracking is on
    machine_facts = machine.facts()
    try:
        programs = build_programs()
    except BuildFailed as error:
        print(error, file=sys.stderr)
        return 2
    with private_directory(shared_memory_root()) as directory:
        rows = _measured(options.names or NAMES, Setting(programs, directory, options.quick), options.json)
    if not options.json:
        print(table.plain(rows), table.summary(rows), sep="\n\n")
    if options.record:
        _record(rows, machine_facts)
    has_failed = any(row.value is None for row in rows)
    return int(has_failed or (options.strict and any(row.met is False for row in rows)))


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./run bench", description="Measures what ttmem promises to cost.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="one of: " + ", ".join(NAMES))
    parser.add_argument("--json", action="store_true", help="one JSON object per row")
    parser.add_argument(
        "--quick", action="store_true", help="smoke run: every benchmark starts, no figure is worth much"
    )
    parser.add_argument("--strict", action="store_true", help="end with status 1 when a promise is missed")
    parser.add_argument("--record", action="store_true", help=f"write {RESULTS.relative_to(ROOT)}")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in NAMES]
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(NAMES)}")
    if options.record and (options.quick or options.names):
        parser.error("--record takes a whole run: neither --quick nor names")
    return options


def _measured(names: Sequence[str], setting: Setting, is_json: bool) -> list[Row]:
    rows = []
    for number, name in enumerate(names, 1):
        began = time.monotonic()
        print(f"[{number}/{len(names)}] {name} ...", file=sys.stderr, flush=True)
        for found in _rows_of(name, setting):
            rows.append(found)
            if is_json:
                print(found.as_json(), flush=True)
        print(f"[{number}/{len(names)}] {name} took {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
    return rows


def _rows_of(name: str, setting: Setting) -> Iterator[Row]:
    """The rows of one promise; one that cannot be measured is a missed row, and the others go on."""
    try:
        for found in measure(name, setting):
            yield replace(found, name=f"{name}: {found.name}")
    except (ActorFailed, ImportError, OSError, RuntimeError, subprocess.SubprocessError) as error:
        print(f"{name} could not be measured: {error}", file=sys.stderr)
        yield row(f"{name}: could not be measured", None, "", target="<= 0")


def _record(rows: Sequence[Row], machine_facts: dict[str, str]) -> None:
    facts = "\n".join(f"- {name}: {value}" for name, value in machine_facts.items())
    text = (
        "# Results\n\n"
        "Written by `./run bench --record`; do not edit. README.md beside it tells how each figure was made.\n\n"
        f"{facts}\n\n{table.markdown(rows)}\n\n{table.summary(rows)}.\n"
    )
    Path(RESULTS).write_text(text)


if __name__ == "__main__":
    sys.exit(main())
