"""Scripts' figures of each chip, held against the model's truth: cells of CSV, and the older monitor's block."""

import re
from collections.abc import Iterator

from tests.support.tracked.agreement import Figures
from ttmem.devices import Pool
from ttmem.snapshot import Snapshot
from ttmem.tracking import KernelType
from ttmem.view.pages.older_monitor import older_monitor
from ttmem.view.queries import MEMORY_FIELDS, CsvForm, chosen_fields, csv_line, memory_rows
from ttmem.view.texts import UNKNOWN

_KIB, _MIB = 1 << 10, 1 << 20
_QUESTION = chosen_fields("uuid,dram.used,trace.used,l1.buffers,l1.small,l1.cb,l1.kernel", MEMORY_FIELDS)
_UNITS = {"B": 1, "KB": _KIB, "MB": _MIB, "GB": 1 << 30}


def script_differences(snapshot: Snapshot, true: dict[int, Figures]) -> list[str]:
    """Everything that is told otherwise than it is."""
    return [*_csv_differences(snapshot, true), *_block_differences(snapshot, true)]


def _csv_differences(snapshot: Snapshot, true: dict[int, Figures]) -> Iterator[str]:
    form = CsvForm.from_text("csv,noheader,nounits")
    for row in memory_rows(snapshot, ()):
        chip, *cells = csv_line(_QUESTION, row, form).split(", ")
        figures = true.get(int(chip, 16)) if chip != UNKNOWN else None
        if figures is not None:
            used = figures["used"]
            sizes = [used.get(Pool.DRAM, 0) // _MIB, used.get(Pool.TRACE, 0) // _MIB]
            sizes += [used.get(Pool.L1, 0) // _KIB, used.get(Pool.L1_SMALL, 0) // _KIB]
            sizes += [figures["footprint"][0] // _KIB, sum(figures["kernel_types"].values()) // _KIB]
            if cells != list(map(str, sizes)):
                yield f"chip {chip}, csv: told {cells}, true {sizes}"


def _block_differences(snapshot: Snapshot, true: dict[int, Figures]) -> Iterator[str]:
    blocks = older_monitor(snapshot).split("\n\n")
    for usage, block in zip(snapshot.devices, blocks, strict=True):
        figures = true.get(usage.device.unique_id)
        for name, size in _of_block(figures).items() if figures else ():
            found = re.search(rf"^ +(?:- )?{name}: +([\d.]+) ?([KMG]?B)", block, flags=re.MULTILINE)
            assert found is not None, block
            unit = _UNITS[found[2]]
            if abs(float(found[1]) * unit - size) > 0.05 * unit + 0.001 * size:
                yield f"chip {usage.device.uuid}, block: told {name} {found[0]!r}, true {size}"


def _of_block(figures: Figures) -> dict[str, int]:
    types: dict[KernelType, int] = figures["kernel_types"]
    sizes = {word.capitalize(): types.get(KernelType[word], 0) for word in ("FABRIC", "DISPATCH", "APPLICATION")}
    parts = {
        "Buffers": figures["used"].get(Pool.L1, 0),
        "CBs": figures["footprint"][0],
        "Kernels": sum(types.values()),
    }
    return {**sizes, **parts, "Total": sum(parts.values())}
