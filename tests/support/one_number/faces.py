"""What every face says of every chip at one instant, word by word, as somebody reads it there.

A saying is (face, chip, word, value): a number where the face has the whole number, else the text it is rounded to. The
same word on two faces, or twice on one, is the same figure: see `docs/understanding/figures.md`.
"""

import csv
import io
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.faces.json_documents import opened
from tests.support.faces.scraped import samples_of
from tests.support.monitored.cards import cards_of, figures_in
from tests.support.processes.inside import ttmem_inside

__all__ = ["Saying", "agree", "private_environment", "said_at_the_end", "said_by_all"]

_SIZE = r"-?\d[\d.]* (?:[KMGT]i)?B"
_UNITS = {"MiB": 1 << 20, "KiB": 1 << 10}
_POOLS = ("dram", "trace", "l1", "l1_small", "cb")
_KERNELS = ("kernel", "eth", "dispatch")
_CORE_ROWS = {"fullest core": ("core.used", "core.total"), "planned": ("core.planned",), "headroom": ("headroom",)}
_CARDS = {
    "dram": "dram.used",
    "dram_total": "dram.total",
    "dram_peak": "dram.peak",
    "dram_block": "dram.largest_free",
    "core": "core.used",
    "core_total": "core.total",
    "planned_core": "core.planned",
    "headroom": "headroom",
    "buffers": "l1.used",
    "l1_total": "l1.total",
    "l1_peak": "l1.peak",
    "l1_block": "l1.largest_free",
    "small": "l1_small.used",
    "resident": "cb.resident",
    "planned": "cb.planned",
    "trace": "trace.used",
}
_CSV = {
    **{f"dram.{what}": f"dram.{what}" for what in ("total", "used", "free", "peak", "largest_free")},
    **{f"l1.{what}": f"l1.{what}" for what in ("total", "used", "free", "peak", "largest_free")},
    **{field: field for field in ("core.used", "core.total", "core.planned", "headroom", "cb.planned", "cb.resident")},
    "l1.buffers": "l1.used",  # names that fields had before
    "l1.cb": "cb.planned",
    "l1.peak_core": "core.used",
    "l1.small": "l1_small.used",
    "l1_small.used": "l1_small.used",
    "trace.used": "trace.used",
}
_METRICS = {
    "ttmem_memory_capacity_bytes": "total",
    "ttmem_memory_free_bytes": "free",
    "ttmem_memory_peak_bytes": "peak",
    "ttmem_memory_largest_free_block_bytes": "largest_free",
}
_CHIP_METRICS = {
    "ttmem_l1_fullest_core_bytes": "core.used",
    "ttmem_l1_worst_core_resident_bytes": "core.used",  # names that metrics had before
    "ttmem_l1_worst_core_used_bytes": "core.planned",
    "ttmem_l1_planned_bytes": "core.planned",
    "ttmem_l1_core_capacity_bytes": "core.total",
    "ttmem_circular_buffers_planned_bytes": "cb.planned",
    "ttmem_circular_buffers_resident_bytes": "cb.resident",
    "ttmem_l1_headroom_bytes": "headroom",
}


class Saying(NamedTuple):
    """One figure on one face."""

    face: str
    chip: int
    word: str
    value: int | str


def agree(one: int | str, other: int | str) -> bool:
    """Whether both may be the same number, as far as each of them is rounded, or cut."""
    (one_low, one_high), (other_low, other_high) = _range(one), _range(other)
    return one_low <= other_high and other_low <= one_high


def _range(value: int | str) -> tuple[float, float]:
    """The numbers that are written so."""
    if isinstance(value, int):
        return value, value
    found = re.fullmatch(r"(-?\d+)(\.\d+)? ?([KMGT]?)i?B?", value)
    assert found, f"{value!r} is no size"
    unit = 1 << 10 * " KMGT".index(found[3] or " ")
    step = unit * 10.0 ** -(len(found[2] or ".") - 1)
    size = float(found[1] + (found[2] or "")) * unit
    return size - step / 2, size + step


def said_by_all(environ: dict[str, str], memory_summary: str, picture: str, page: str) -> list[Saying]:
    """Of every face that can be asked while the program stands still."""
    document = opened(json.loads(_asked(environ, "ps", "-s")))
    chips = [chip["index"] for chip in document["device_info"]]
    return [
        *_of_document(document),
        *_of_table(_asked(environ, "ps", "-1"), chips),
        *_of_csv(environ),
        *_of_metrics(page),
        *_of_dump(json.loads(_asked(environ, "dump", "--json"))),
        *_of_dump_text(_asked(environ, "dump", "--most", "1"), chips),
        *_of_monitor(picture, len(chips)),
        *_of_memory_summary(memory_summary),
    ]


def _asked(environ: dict[str, str], *arguments: str) -> str:
    answer = ttmem_inside(*arguments, environ={**environ, "COLUMNS": "200"})
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def _of_document(document: dict[str, Any]) -> Iterator[Saying]:
    for chip in document["device_info"]:
        index = chip["index"]
        for pool in _POOLS:
            figures = chip["memory"].get(pool)
            if figures is None or pool == "cb":
                continue
            for what in ("used", "free", "peak", "largest_free"):
                if figures[f"{what}_bytes"] is not None:
                    yield Saying("json", index, f"{pool}.{what}", figures[f"{what}_bytes"])
            if figures["capacity_bytes"] is not None:
                yield Saying("json", index, f"{pool}.total", figures["capacity_bytes"])
        yield Saying("json", index, "l1.used", chip["l1_used_bytes"])
        yield Saying("json", index, "l1.total", chip["l1_total_bytes"])
        yield Saying("json", index, "core.used", chip["fullest_core_bytes"])
        yield Saying("json", index, "core.planned", chip["planned_core_bytes"])
        yield Saying("json", index, "core.total", chip["core_bytes"])
        yield Saying("json", index, "headroom", chip["headroom_bytes"])
        circular = chip["activity"]["footprint"]
        if circular is not None:
            yield Saying("json", index, "cb.planned", circular["planned_bytes"])
            yield Saying("json", index, "cb.resident", circular["resident_bytes"])
        if "cb" in chip["memory"]:
            yield Saying("json", index, "cb.planned", chip["memory"]["cb"]["used_bytes"])
    for process in document["processes"]:  # one that holds all there is
        for held in process["devices"]:
            if "cb" in held["memory"]:
                yield Saying("json", held["index"], "cb.planned", held["memory"]["cb"]["used_bytes"])


def _of_table(text: str, chips: list[int]) -> Iterator[Saying]:
    """The device table: a chip's rows follow its index."""
    rows = text.split(" KERNELS ")[0].splitlines()
    index = -1
    for row in rows:
        head = re.match(r" (\d+)!? \S", row)
        if head and int(head[1]) in chips:
            index = int(head[1])
        pool = re.search(rf" ({'|'.join((*_POOLS, *_CORE_ROWS, *_KERNELS))}) +(.*)", row)
        if index < 0 or pool is None or pool[1] in _KERNELS:
            continue
        sizes = re.findall(_SIZE, pool[2])
        if pool[1] in _CORE_ROWS:
            yield from (Saying("ps", index, word, size) for word, size in zip(_CORE_ROWS[pool[1]], sizes, strict=False))
            continue
        if pool[1] == "cb":
            yield Saying("ps", index, "cb.planned", sizes[-1])
            if "resident" in pool[2]:
                yield Saying("ps", index, "cb.resident", sizes[0])
            continue
        words = ("used", "total", "peak", "requested", "largest_free")
        for word, size in zip(words, sizes, strict=False):
            if word != "requested" and len(sizes) == len(words):
                yield Saying("ps", index, f"{pool[1]}.{word}", size)


def _of_csv(environ: dict[str, str]) -> Iterator[Saying]:
    known = re.findall(r"^ ([\w.]+)", _asked(environ, "ps", "--help-query-mem"), flags=re.MULTILINE)
    fields = [field for field in _CSV if field in known]
    text = _asked(environ, "ps", f"--query-mem=index,{','.join(fields)}", "--format=csv,noheader")
    for index, *values in csv.reader(io.StringIO(text)):
        for field, value in zip(fields, values, strict=True):
            number, _, unit = value.strip().partition(" ")
            if unit in _UNITS:
                yield Saying("csv", int(index), _CSV[field], f"{number} {unit}")


def _of_metrics(page: str) -> Iterator[Saying]:
    used: dict[tuple[int, str], int] = {}
    for (name, labels), value in samples_of(page).items():
        about = dict(labels)
        if "device" not in about:
            continue
        index, memory = int(about["device"]), about.get("memory", "")
        if name == "ttmem_memory_used_bytes" and memory in _POOLS and memory != "cb":
            used[index, memory] = used.get((index, memory), 0) + int(value)
        elif name in _METRICS and memory in _POOLS and memory != "cb":
            yield Saying("metrics", index, f"{memory}.{_METRICS[name]}", int(value))
        elif name in _CHIP_METRICS:
            yield Saying("metrics", index, _CHIP_METRICS[name], int(value))
    for (index, memory), size in used.items():
        yield Saying("metrics", index, f"{memory}.used", size)


def _of_dump(document: dict[str, Any]) -> Iterator[Saying]:
    for chip in document["devices"]:
        for group in chip["groups"]:
            if group["type"] == "cb":
                yield Saying("dump", chip["device"]["index"], "cb.planned", group["used_bytes"])
                yield Saying("dump", chip["device"]["index"], "cb.resident", group["resident_bytes"])
            elif group["type"] in _POOLS:
                yield Saying("dump", chip["device"]["index"], f"{group['type']}.used", group["used_bytes"])


def _of_dump_text(text: str, chips: list[int]) -> Iterator[Saying]:
    """The table of totals: DEVICE, TYPE, ALIVE, BYTES, RESIDENT, FREED."""
    totals = text.partition("DEVICE ")[2].partition("\n\n")[0]
    index = -1
    for row in totals.splitlines():
        head = re.match(r" (\d+) \S", row)
        if head and int(head[1]) in chips:
            index = int(head[1])
        found = re.search(rf" ({'|'.join(_POOLS)}) +[\d,]+ +~?({_SIZE})(?: +({_SIZE}))?", row)
        if index < 0 or found is None:
            continue
        yield Saying("dump text", index, "cb.planned" if found[1] == "cb" else f"{found[1]}.used", found[2])
        if found[3] and found[1] == "cb":  # of other pools what follows is FREED
            yield Saying("dump text", index, "cb.resident", found[3])


def _of_monitor(picture: str, count: int) -> Iterator[Saying]:
    for index, card in cards_of(picture, count).items():
        for title, found in figures_in(card).items():
            if title in _CARDS:
                yield Saying("monitor", index, _CARDS[title], found[0])


def _of_memory_summary(text: str) -> Iterator[Saying]:
    """`device 0, 1 (n300), this process, on each of them`, then a row for each pool."""
    indexes: list[int] = []
    for row in text.splitlines():
        head = re.match(r"ttmem: device ([\d, ]+)", row)
        if head:
            indexes = [int(index) for index in re.findall(r"\d+", head[1])]
        found = re.match(rf" +({'|'.join(_POOLS)})\*? ", row)
        if found:
            words = ("planned",) if found[1] == "cb" else ("used", "peak", "free", "total")
            for word, size in zip(words, re.findall(_SIZE, row), strict=False):
                yield from (Saying("memory_summary", index, f"{found[1]}.{word}", size) for index in indexes)
        resident = re.search(rf"cb resident now: ({_SIZE})", row)
        if resident:
            yield from (Saying("memory_summary", index, "cb.resident", resident[1]) for index in indexes)


def said_at_the_end(text: str) -> Iterator[Saying]:
    """The summary of `ttmem run`: PID, LABEL, DEV, POOL, PEAK of each pool, chips that are alike together."""
    for row in text.splitlines():
        found = re.search(rf" ([\d,-]+) +({'|'.join(_POOLS)}) +({_SIZE}) ", row)
        if found is not None:
            word = "cb.planned" if found[2] == "cb" else f"{found[2]}.peak"
            yield from (Saying("summary", index, word, found[3]) for index in _indexes(found[1]))


def _indexes(text: str) -> list[int]:
    found: list[int] = []
    for part in text.replace(" ", "").strip(",").split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def private_environment(directory: Path) -> dict[str, str]:
    """Where nobody else reports."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TTMEM")}
    places = dict.fromkeys(("TTMEM_DIR", "TTMEM_STOCK_SHM_DIR", "TTMEM_SYSTEM_DIR"), str(directory))
    return {**clean, **places}
