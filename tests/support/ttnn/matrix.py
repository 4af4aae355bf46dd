"""Which figure is right in which release of the stock runtime: measured, written to docs/reference/matrix.md.

    ./run matrix                all releases of the table
    ./run matrix 0.78.0 0.80.0  these; the table then has these alone

Every row is one measurement under the hook, held against what the release says of itself: `exact` if it is equal,
`differs` if not, `missing` if ttmem tells nothing of it, `missing, a finding` if it says that something is missing,
`not in it` if the release has no such thing, `not measured` where its made-up chips do not do it.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.hooked.binaries import compiled
from tests.support.hooked.core_buffers import KIB, on_cores, places_of
from tests.support.hooked.core_buffers import said as places_said
from tests.support.hooked.crowds import turns
from tests.support.hooked.looks import Look, Owner, places
from tests.support.hooked.process import Hooked
from tests.support.ttnn.runtime import has_compiler
from tests.support.ttnn.stock import MISSING_STATUS, OLDER_RELEASES, RELEASE, NotThere, Stock, make
from ttmem.devices import BinaryStatus, Kind, Pool
from ttmem.tracking import CoreType

RELEASES = ("0.75.0", OLDER_RELEASES[0], "0.79.0", *OLDER_RELEASES[1:], RELEASE)
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "matrix.md"
EXACT, DIFFERS, MISSING, UNMEASURED = "exact", "**differs**", "missing", "not measured"
MISSING_SAID, ABSENT = "missing, a finding", "not in it"
BANKS, BANK_BYTES, ALLOCATED = 0, 1, 2  # of a view
MUCH = 131_072  # rows and columns that do not fit

Said = dict[str, Any]
Answers = dict[str, str]


class Seen(NamedTuple):
    """What the runtime says at one instant, and what ttmem knows then."""

    said: Said
    look: Look
    chip: int


def word(is_equal: bool, is_told: bool = True) -> str:
    return (EXACT if is_equal else DIFFERS) if is_told else MISSING


def of_pool(name: str) -> Callable[[Seen], str]:
    """What is used of a memory."""

    def judge(seen: Seen) -> str:
        view = seen.said["views"][name]
        return word(seen.look.used(seen.chip, Pool[name]) == view[ALLOCATED] * view[BANKS])

    return judge


def of_capacities(seen: Seen) -> str:
    told = seen.look.device(seen.chip)["capacities"]
    return word(all(told[Pool[name]] == view[BANKS] * view[BANK_BYTES] for name, view in seen.said["views"].items()))


def of_list(seen: Seen) -> str:
    return word(places(seen.look.buffers) == Counter((address, name) for address, name, _ in seen.said["buffers"]))


def of_ids(seen: Seen) -> str:
    """A made-up one has its highest bit set."""
    return word(True, is_told=all(one.id >> 63 == 0 for one in seen.look.buffers))


BUFFERS: dict[str, Callable[[Seen], str]] = {
    "capacities": of_capacities,
    "DRAM in use": of_pool("DRAM"),
    "L1 in use": of_pool("L1"),
    "L1_SMALL in use": of_pool("L1_SMALL"),
    "trace region in use": of_pool("TRACE"),
    "every buffer, its address and memory": of_list,
    "ids of buffers, as the runtime has them": of_ids,
}


def a_tensor(identity: int, side: int) -> Said:
    shape = {"shape": [1, 1, side, side], "dtype": "bfloat16", "is_tiled": True, "layout": "INTERLEAVED"}
    return {"op": "alloc", "id": identity, "type": "DRAM", **shape}


def steps_of_a_trace() -> list[Said]:
    return [{"op": op, "id": 1, "type": "DRAM"} for op in ("begin", "end")]


def measure_buffers(hooked: Hooked) -> Answers:
    with hooked.opened(l1_small=32_768, trace=1 << 20) as device:
        requests = turns(9, grid=device.grid, dram_bank_count=device.views["DRAM"][BANKS], steps=400)
        for request in islice(requests, 2):
            hooked.ask(request)
        hooked.runtime.steps(steps_of_a_trace())
        seen = Seen(hooked.ask({"do": "judge"}), hooked.look(), hooked.runtime.chips[0])
        return {name: judge(seen) for name, judge in BUFFERS.items()}


def measure_traces(hooked: Hooked) -> Answers:
    with hooked.opened():
        hooked.runtime.steps(steps_of_a_trace())
        [listed] = hooked.ask({"do": "judge"})["buffers"]
        found = hooked.look().of(Kind.TRACE_BUFFER)
        told = [[one.address, one.pool.name, one.per_bank_bytes] for one in found]
        return {"trace storage without a region, in plain DRAM": word(told == [listed], is_told=bool(found))}


def measure_refusals(hooked: Hooked) -> Answers:
    with hooked.opened():
        before = hooked.look()
        view = hooked.ask({"do": "judge"})["views"]["DRAM"]
        hooked.runtime.steps([a_tensor(1, MUCH)])
        told = hooked.look().refusals_since(before)
        is_right = [(pool, free) for _, pool, _, free, _ in told] == [(Pool.DRAM, view[BANKS] * view[BANK_BYTES])]
        return {"out of memory: what was free": word(is_right, is_told=bool(told))}


def measure_meshes(hooked: Hooked) -> Answers:
    with hooked.opened((1, 2)):
        hooked.runtime.steps([a_tensor(1, 1024)])
        look = hooked.look()
        view = hooked.ask({"do": "judge"})["views"]["DRAM"]
        used = [look.used(chip, Pool.DRAM) for chip in hooked.runtime.chips]
        return {"each chip of a mesh": word(used == [view[ALLOCATED] * view[BANKS]] * 2)}


def measure_core_buffers(hooked: Hooked) -> Answers:
    """Two buffers by core, of which the second lies at two addresses; the runtime's own view leaves both out."""
    with hooked.opened((1, 2)):
        [small, skewed] = hooked.runtime.steps([on_cores(1, 8, last=0), on_cores(2, 32)])
        look = hooked.look()
        wanted = [
            ({8 * KIB: places_said(few), 32 * KIB: places_said(many)}, (8 + 4 * 32) * KIB)
            for few, many in zip(small["addresses"], skewed["addresses"], strict=True)
        ]
    told = [(places_of(look, chip), look.used(chip, Pool.L1)) for chip in hooked.runtime.chips]
    answer = word(told == wanted and look.findings == {})
    if told == [({}, 0)] * 2:
        answer = MISSING_SAID if "unknown_device" in look.findings and not look.process["complete"] else MISSING
    return {"buffers by core: addresses, cores, L1 in use": answer}


def measure_range_lockstep(hooked: Hooked) -> Answers:
    with hooked.opened((1, 2)):
        [answer] = hooked.runtime.steps([on_cores(1, 4, "RANGE_LOCKSTEP", first=1, last=2)])
        look = hooked.look()
    if "lacking" in answer:
        return {"buffers in range lockstep: address, L1 in use": ABSENT}
    told = [(one.address, one.per_bank_bytes, one.chips) for one in look.buffers]
    used = [look.used(chip, Pool.L1) for chip in hooked.runtime.chips]
    is_right = told == [(answer["address"], 4 * KIB, tuple(hooked.runtime.chips))]
    is_right &= used == [answer["view"][ALLOCATED] * answer["view"][BANKS]] * 2
    return {"buffers in range lockstep: address, L1 in use": word(is_right, is_told=bool(told))}


def measure_overlaps(hooked: Hooked) -> Answers:
    """A mesh and a part of it, each with an allocator of its own: chips hold the union, and both owners are named."""
    with hooked.opened((1, 2)):
        hooked.ask({"do": "submeshes", "shape": [1, 1]})
        [[address, _, small]] = hooked.ask({"do": "alloc_on", "device": "mesh", "id": 1, "side": 512})["buffers"]
        [[beside, _, large]] = hooked.ask({"do": "alloc_on", "device": 100, "id": 2, "side": 1024})["buffers"]
        look = hooked.look()
        hooked.ask({"do": "drop"})
    chips = tuple(hooked.runtime.chips)
    first = chips[0]
    banks = look.device(first)["banks"][0]
    used = [look.used(chip, Pool.DRAM) for chip in chips]
    owners = (Owner(1, 2, chips), Owner(1, 1, (first,)))
    overlap = (Pool.DRAM, address, small * banks, (first,), *owners)
    assert address == beside, "a release in which they share an allocator is to be measured another way"
    return {
        "a mesh and its submesh: union of their addresses": word(used == [large * banks, small * banks]),
        "a mesh and its submesh: both owners of an overlap": word(
            look.overlaps == [overlap], is_told=bool(look.overlaps)
        ),
    }


def measure_programs(hooked: Hooked, directory: Path) -> Answers:
    """An `add` that is launched three times; its circular buffers as the runtime's own graph lists them."""
    run = {"do": "run", "name": "add", "inputs": [1, 1], "id": 2, "memory": "DRAM", "times": 3}
    with hooked.opened():
        hooked.runtime.steps([a_tensor(1, 512)])
        hooked.ask(run)
        look = hooked.look()
        chip = hooked.runtime.chips[0]
        hooked.ask({"do": "clear"})
        drawn = hooked.runtime.operation("add", 512)["buffers"]
    told = sorted((one.address, one.per_bank_bytes) for one in look.circular if not one.is_view)
    sizes = {name: sorted(found.values()) for name, found in compiled(directory).items()}
    kernels = {one.name: sorted(one.packed_bytes) for one in look.kernels}
    programs = look.programs(chip).values()
    statuses = [status for status, launches in programs if launches]
    ring = look.ring(chip, CoreType.TENSIX)
    return {
        "circular buffers: address and size": word(
            told == sorted({(one["address"], one["size"]) for one in drawn}), is_told=bool(told)
        ),
        "kernels: packed bytes of each binary (ELF)": word(
            all(sizes.get(name) == packed for name, packed in kernels.items()), is_told=any(kernels.values())
        ),
        "launches": word(look.launches(chip) == 3, is_told=look.launches(chip) > 0),
        "status of binaries": word(statuses == [BinaryStatus.COMMITTED], is_told=bool(statuses)),
        "launches in the kernel ring": word(ring["launches"] == 3, is_told=ring["launches"] > 0),
    }


Measure = Callable[[Hooked, Path], Answers]
IS_HYBRID = True  # the runtime's mode in which buffers are allocated by core
PARTS: list[tuple[str, bool, Measure]] = [
    ("n150", False, lambda hooked, _: measure_buffers(hooked)),
    ("n150", False, lambda hooked, _: measure_traces(hooked)),
    ("n150", False, lambda hooked, _: measure_refusals(hooked)),
    ("n300", False, lambda hooked, _: measure_meshes(hooked)),
    ("n300", False, lambda hooked, _: measure_overlaps(hooked)),
    ("n300", IS_HYBRID, lambda hooked, _: measure_core_buffers(hooked)),
    ("n300", IS_HYBRID, lambda hooked, _: measure_range_lockstep(hooked)),
    ("n150", False, measure_programs),
]


def measured(stock: Stock) -> Answers:
    """All rows of one release. A part that its made-up chips do not survive is not measured."""
    answers: Answers = {}
    for board, is_hybrid, measure in PARTS:
        if measure is measure_programs and not has_compiler():
            continue
        with tempfile.TemporaryDirectory(prefix="matrix-") as place:
            hooked = Hooked.started(stock, Path(place), board, is_hybrid=is_hybrid)
            try:
                answers |= measure(hooked, Path(place))
            except AssertionError as ended:
                print(f"NOT MEASURED: ttnn {stock.release}: {str(ended).splitlines()[0]}", file=sys.stderr)
            finally:
                hooked.stop()
    return answers


HEAD = """# Releases of ttnn, figure by figure

Written by `./run matrix`, which runs each release under the hook on mock chips (n150, n300; fast dispatch) and holds
what ttmem shows against the release's own getters, lists, graph and ELF files. Not written by hand.

`exact`: equal. `missing`: the release does not give it, and ttmem shows nothing. `missing, a finding`: the finding
`unknown_device` says that something is missing, and the figures are not `complete`. `differs`: ttmem shows something
else. `not in it`: the release has no such thing. `not measured`: mock chips of that release do not do it, or this
machine lacks a compiler for kernels. Nothing in this table is estimated; figures that can be are marked where they are
shown (kernels charged by size x cores). What buffers by core take is in no release's own view of L1: it is held against
their addresses and sizes.

"""


def table(found: dict[str, Answers]) -> str:
    names = list(dict.fromkeys(name for answers in found.values() for name in answers))
    lines = [f"| figure | {' | '.join(found)} |", f"|---|{'---|' * len(found)}"]
    for name in names:
        cells = " | ".join(answers.get(name, UNMEASURED) for answers in found.values())
        lines.append(f"| {name} | {cells} |")
    return "\n".join(lines) + "\n"


def main(wanted: Sequence[str]) -> int:
    """Writes the page; the status is 77 if no release can be had, and 1 if a figure differs."""
    found: dict[str, Answers] = {}
    for release in wanted or RELEASES:
        try:
            stock = make(release)
        except NotThere as missing:
            print(f"NOT MEASURED: {missing}", file=sys.stderr)
            continue
        print(f"ttmem: measuring ttnn {release}", file=sys.stderr)
        found[release] = measured(stock)
    if not found:
        return MISSING_STATUS
    PAGE.write_text(HEAD + table(found), encoding="utf-8")
    print(table(found), end="")
    return int(any(DIFFERS in answers.values() for answers in found.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
