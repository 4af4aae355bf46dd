"""Lives as a Parquet file, written by DuckDB in a process of its own: it may take 256 MB, and idle time only.

    lines of CSV ──▶ standard input of the child ──▶ DuckDB ──▶ file.parquet

The child runs a text of this module with `python -c`: nothing of ttmem is loaded there. Its SQL is that of DuckDB 1.5
and 2.
"""

import importlib.util
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from ttmem.errors import CannotExport
from ttmem.export.life_rows import COLUMNS

__all__ = ["MEMORY_LIMIT", "check_duckdb", "write_parquet"]

MEMORY_LIMIT = "256MB"
_CHILD = """
import os, sys
try:
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
except OSError:
    os.nice(19)
import duckdb
connection = duckdb.connect(":memory:")
for statement in sys.argv[1:]:
    connection.execute(statement)
"""


def check_duckdb() -> None:
    """Without it there is no Parquet."""
    if importlib.util.find_spec("duckdb") is None:
        raise CannotExport("Parquet is written by DuckDB, which is not installed here: pip install 'ttmem[analysis]'")


def write_parquet(lines: Iterable[bytes], path: Path) -> None:
    """Writes lines of CSV, without a header, as a Parquet file."""
    command = [sys.executable, "-c", _CHILD, *_statements(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stderr is not None
        try:
            for part in lines:
                child.stdin.write(part)
            child.stdin.close()
        except BrokenPipeError:
            pass  # it says why
        except BaseException:
            child.kill()
            raise
        said = child.stderr.read().decode("utf-8", "replace").strip()
    if child.returncode != 0:
        raise CannotExport(f"DuckDB could not write {path}: {said.splitlines()[-1] if said else child.returncode}")


def _statements(path: Path) -> list[str]:
    columns = ", ".join(f"'{column.name}': '{column.type}'" for column in COLUMNS)
    source = (
        "read_csv('/dev/stdin', auto_detect=false, header=false, delim=',', quote='\"', escape='\"', nullstr='', "
        f"parallel=false, columns={{{columns}}})"
    )
    target = str(path).replace("'", "''")
    return [
        "SET threads = 1",
        f"SET memory_limit = '{MEMORY_LIMIT}'",
        "SET temp_directory = ''",
        "SET preserve_insertion_order = true",
        f"COPY (SELECT * FROM {source}) TO '{target}' (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)",
    ]
