"""20,000 buffers, each from a line of its own, on eight chips; chips and phases also come among them and later."""

from typing import Any

import ttmem
from tests.programs.meeting import meet
from ttmem.devices import Pool

CHIPS, LINES, LINES_OF_FILE = 8, 2500, 100
names: dict[str, Any] = {"report": ttmem.report_buffer_alloc, "chips": []}


def open_chip(at: int) -> None:
    capacities = {Pool.DRAM: (at + 1) << 30}
    chip = ttmem.open_device(
        0x100 + at, index=at, arch="wormhole_b0", board=f"board {at}", grid=(8, 8), capacities=capacities
    )
    names["chips"].append(chip)


def report_from_own_lines(at: int, first: int) -> None:
    lines = (
        f"def f{n}(): report(chips[{at}], {at * 10000 + n}, 3 + {at})\nf{n}()"
        for n in range(first, first + LINES_OF_FILE)
    )
    exec(compile("\n".join(lines), f"crowd/of_{at}_{first}.py", "exec"), names)


ttmem.record_sites()
for at in range(CHIPS):
    open_chip(at)
    with ttmem.phase(f"layer {at}"):
        for first in range(0, LINES, LINES_OF_FILE):
            report_from_own_lines(at, first)
open_chip(CHIPS)
with ttmem.phase("late"):
    ttmem.report_buffer_alloc(names["chips"][CHIPS], 1, 50)
    ttmem.report_out_of_memory(names["chips"][CHIPS], 0, 77)
meet()
