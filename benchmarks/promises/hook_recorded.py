"""Promise: a recorded `add` of the stock runtime takes at most 1.05 times as long; beside the runtime's own graph
capture it adds 40 times less and takes 100 times fewer bytes.

Made-up chips. In one process, which `ttmem record` follows, calls go to the hook and past it by turns of 250, as in
`hook`. Then the same calls are captured by the runtime's graph. Time is CPU time of the caller; bytes are those of the
recording and of the captured graph as JSON, for each operation.
"""

import dataclasses
from collections.abc import Iterator

from benchmarks.figures.rows import Row, row
from benchmarks.promises.hook import CALLS, TURN, opened, runtime, turns_ns
from benchmarks.stage.setting import Setting
from benchmarks.stage.spectators import recorder
from tests.support.hooked.process import Hooked
from tests.support.ttnn.runtime import has_compiler
from ttmem.recording import Recording

TURNS, CAPTURED, CAPTURES, PROCESSES = 120, 500, 9, 3


def measure(setting: Setting) -> Iterator[Row]:
    stock = runtime()
    if not has_compiler():
        raise RuntimeError("operations need riscv64-unknown-elf-gcc")
    found = []
    for _ in range(setting.repeats(PROCESSES)):
        with opened(setting, stock, is_hooked=True) as process:
            found.append(_costs(setting, process))
    plain, recorded, size, captured, captured_size = sorted(found, key=lambda one: one[1] / one[0])[len(found) // 2]
    yield row("add", recorded / 1e3, "us", baseline=plain / 1e3)
    yield row("add, times as long", recorded / plain, "x", target="<= 1.05")
    yield row("add, longer by", recorded - plain, "ns")
    yield row("add, captured: longer by", captured - plain, "ns")
    yield row("captured / recorded: added time", (captured - plain) / max(recorded - plain, 1.0), "x", target=">= 40")
    yield row("an add in the recording", size, "B")
    yield row("an add in the captured graph", captured_size, "B")
    yield row("captured / recorded: bytes", captured_size / size, "x", target=">= 100")


def _costs(setting: Setting, process: Hooked) -> tuple[float, float, float, float, float]:
    """Of one add: ns without the hook, ns recorded, its bytes; ns captured, and bytes of that."""
    journals = dataclasses.replace(setting, directory=process.journals)
    path = process.journals.parent / "adds.ttmem"
    turns, turn = setting.repeats(TURNS, 2), setting.repeats(TURN, 5)
    with recorder(journals, path):
        plain, hooked = turns_ns(setting, process, "add", turns=turns, turn=turn)
    size = Recording(path).size_bytes / (turns * turn)
    counted = max(1, min(CALLS // TURN, turns))
    calls = setting.repeats(CAPTURED, 5)
    request = {"do": "time", "what": "captured", "count": calls}
    captures = [process.ask(request)["ns"][0] for _ in range(setting.repeats(CAPTURES))]
    fastest = min(captures)
    return (
        sum(sorted(plain)[:counted]) / counted / turn,
        sum(sorted(hooked)[:counted]) / counted / turn,
        size,
        fastest[0] / calls,
        fastest[1] / calls,
    )
