"""Plain Parquet of our own is read by DuckDB as it was written."""

import random
import struct
from pathlib import Path

import duckdb

from ttmem.export.plain_parquet import PlainParquet

NAMES = ["wide", "same", "often_same", "last"]


def test_every_word_is_read_back_from_every_row_group(tmp_path: Path) -> None:
    draw = random.Random(4)
    groups = [
        [
            [draw.getrandbits(64) for _ in range(count)],
            [7] * count,
            [draw.choice([0, 1 << 63])] * count,
            [*range(count)],
        ]
        for count in (1, 2, 1000, 70_000)
    ]
    path = tmp_path / "words.parquet"

    with path.open("wb") as file:
        plain = PlainParquet(NAMES, file.write)
        for columns in groups:
            plain.add([struct.pack(f"<{len(column)}Q", *column) for column in columns])
        plain.finish()

    read = duckdb.connect().execute("SELECT * FROM read_parquet($1)", [str(path)])
    assert [(column[0], str(column[1])) for column in read.description] == [(name, "UBIGINT") for name in NAMES]
    assert read.fetchall() == [row for columns in groups for row in zip(*columns, strict=True)]
    assert plain.row_count == 71_003
