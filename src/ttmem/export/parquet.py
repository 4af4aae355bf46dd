"""Lives as a Parquet file, written by DuckDB in a process of its own: it may take 256 MB, and idle time only.

    columns of numbers ──▶ plain Parquet beside the output ─┐
    what numbers stand for ──▶ CSV beside it ───────────────┴──▶ DuckDB ──▶ file.parquet

The child runs a text of this module with `python -c`: nothing of ttmem is loaded there. Its SQL is that of DuckDB 1.5
and 2. It prints how many bytes it has read.
"""

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from ttmem.errors import CannotExport
from ttmem.export.life_rows import COLUMNS, LifeColumn, LifeRows
from ttmem.export.plain_parquet import PlainParquet
from ttmem.recording.csv_rows import ColumnForm, wall_times
from ttmem.recording.lives import LIFE_COLUMNS

__all__ = ["MEMORY_LIMIT", "check_duckdb", "write_parquet"]

MEMORY_LIMIT = "256MB"
_PROGRAM_ZERO = 0xFFFF_FFFF_FFFF
_WALL = "begin_unix_ns"
_CHILD = """
import os, sys, threading, time
try:
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
except OSError:
    os.nice(19)
import duckdb
connection = duckdb.connect(":memory:")
for statement in sys.argv[1:-1]:
    connection.execute(statement)
def read_bytes():
    with open("/proc/self/io") as file:
        return int(file.readline().split()[1])
before = read_bytes()
def report():
    while True:
        time.sleep(0.2)
        print(read_bytes() - before, flush=True)
threading.Thread(target=report, daemon=True).start()
connection.execute(sys.argv[-1])
"""


def check_duckdb() -> None:
    """Without it there is no Parquet."""
    if importlib.util.find_spec("duckdb") is None:
        raise CannotExport("Parquet is written by DuckDB, which is not installed here: pip install 'ttmem[analysis]'")


def write_parquet(rows: LifeRows, path: Path, on_written: Callable[[float], object] = lambda share: None) -> None:
    """Writes the rows; `on_written` gets the share that DuckDB has done."""
    numbers, names = (path.with_name(f"{path.name}.{what}") for what in ("numbers", "names"))
    try:
        try:
            _write_numbers(rows, numbers)
            _write_names(rows, names)
        except OSError as error:
            raise CannotExport(f"{path.parent}: {error.strerror}") from None
        size_bytes = numbers.stat().st_size
        _run(_statements(numbers, names, path), path, lambda read_bytes: on_written(min(1.0, read_bytes / size_bytes)))
    finally:
        numbers.unlink(missing_ok=True)
        names.unlink(missing_ok=True)


def _write_numbers(rows: LifeRows, path: Path) -> None:
    """Columns as the reader has them, and the wall's time of their beginnings."""
    began = LIFE_COLUMNS.index("begin_ns")
    with path.open("wb") as file:
        plain = PlainParquet([*LIFE_COLUMNS, _WALL], file.write)
        for batch in rows.batches():
            columns = [bytes(column) for column in batch.lives.values()]
            plain.add([*columns, wall_times(columns[began], rows.clocks)])
        plain.finish()


def _write_names(rows: LifeRows, path: Path) -> None:
    """Which table, which number, what it stands for; nothing for an empty text."""
    with path.open("wb") as file:
        for table, fields in rows.tables().items():
            head = f"{table},".encode()
            for number, field in enumerate(fields):
                if field:
                    file.write(head + str(number).encode() + b"," + field + b"\n")


def _run(statements: list[str], path: Path, on_read: Callable[[int], object]) -> None:
    command = [sys.executable, "-c", _CHILD, *statements]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        try:
            for line in child.stdout:
                on_read(int(line))
            said = child.stderr.read().strip()
        except BaseException:
            child.kill()
            raise
    if child.returncode != 0:
        reason = next((line for line in said.splitlines() if "Error: " in line), said or str(child.returncode))
        raise CannotExport(f"DuckDB could not write {path}: {reason}")


def _statements(numbers: Path, names: Path, path: Path) -> list[str]:
    joins = " ".join(
        f"LEFT JOIN (SELECT number, said FROM names WHERE place = '{column.table}') AS {column.name}_names "
        f"ON {column.name}_names.number = numbers.{column.source}"
        for column in COLUMNS
        if column.table
    )
    fields = ", ".join(f"{_expression(column)} AS {column.name}" for column in COLUMNS)
    said = (
        f"read_csv({_quoted(names)}, auto_detect=false, header=false, delim=',', quote='\"', escape='\"', "
        "columns={'place': 'VARCHAR', 'number': 'UBIGINT', 'said': 'VARCHAR'})"
    )
    form = "FORMAT parquet, PARQUET_VERSION v2, COMPRESSION zstd, ROW_GROUP_SIZE 61440, USE_TMP_FILE false"
    rows = f"SELECT {fields} FROM read_parquet({_quoted(numbers)}) AS numbers {joins}"
    return [
        "SET threads = 1",
        f"SET memory_limit = '{MEMORY_LIMIT}'",
        "SET temp_directory = ''",
        "SET enable_progress_bar = true",
        "SET enable_progress_bar_print = false",
        f"CREATE TABLE names AS SELECT * FROM {said}",
        f"COPY ({rows}) TO {_quoted(path)} ({form})",
    ]


def _expression(column: LifeColumn) -> str:
    source = f"numbers.{column.source}"
    if column.form is ColumnForm.TEXT:
        said = f"{column.name}_names.said"
        return said if column.type == "VARCHAR" else f"CAST({said} AS {column.type})"
    if column.form is ColumnForm.NUMBER_OR_NONE:
        return f"nullif({source}, 0)"
    if column.form is ColumnForm.PROGRAM:
        return f"CASE {source} WHEN 0 THEN NULL WHEN {_PROGRAM_ZERO} THEN 0 ELSE {source} END"
    return f"numbers.{_WALL}" if column.form is ColumnForm.WALL_TIME else source


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
