"""`ttmem fit`: which chips have room for a given size."""

import sys
from collections.abc import Sequence
from typing import Any

import click

from ttmem.analysis.fit import Candidate, CoreRoom, Need, Room, candidates, chosen
from ttmem.cli.common import DONE, NOT_MET
from ttmem.cli.common.amounts import size
from ttmem.cli.common.options import NO_DAEMON, SIMULATED, with_options
from ttmem.cli.common.request import Request, query
from ttmem.cli.demonstration.figures import figure_source
from ttmem.errors import NothingToRead
from ttmem.snapshot.codec import encoded
from ttmem.snapshot.values import SCHEMA, time_text
from ttmem.view.texts import device_word, signed_text, size_text

_WORDS = {True: "fits", False: "does not fit", None: "unknown"}


@click.command(short_help="Show which chips have room for a given size.")
@click.option("--dram", "dram_bytes", callback=size, metavar="SIZE", help="DRAM needed on each chip, in one piece.")
@click.option(
    "--l1-per-core",
    "l1_core_bytes",
    callback=size,
    metavar="SIZE",
    help="L1 needed on each worker core: in a hole above the lowest L1 buffer, or in the headroom below it.",
)
@click.option(
    "--devices", "count", type=click.IntRange(min=1), default=1, metavar="N", help="Number of chips needed (1)."
)
@click.option("--idle", "is_idle", is_flag=True, help="Only chips that no process has open.")
@click.option("-i", "--id", "devices", metavar="LIST", help="Only these chips, as ttmem ps -i takes them.")
@click.option("--json", "is_json", is_flag=True, help="One JSON document (docs/reference/fit.md).")
@NO_DAEMON
@with_options(SIMULATED)
def fit(
    *,
    dram_bytes: int | None,
    l1_core_bytes: int | None,
    count: int,
    is_idle: bool,
    devices: str | None,
    is_json: bool,
    is_alone: bool,
    is_demo: bool,
    chip_count: int | None,
) -> int:
    """Print the indexes of chips with room for a given size, the emptiest: 0,2.

    The largest free block decides, not the sum of what is free; a chip of which something is not known does not count.
    Why each chip was taken or not goes to standard error. Exit code 4 if there are too few.
    """
    if dram_bytes is None and l1_core_bytes is None and not is_idle:
        raise click.UsageError("say what is to fit: --dram SIZE, --l1-per-core SIZE, or --idle")
    need = Need(dram_bytes=dram_bytes, l1_core_bytes=l1_core_bytes, is_idle=is_idle)
    with figure_source(is_alone=is_alone, is_demo=is_demo, chip_count=chip_count) as source:
        result = query(source, Request(devices=devices), has_identity=True)
        if not result.chosen.devices:  # chips that only ended programs have named are better than none
            result = query(source, Request(devices=devices, is_with_ended=True), has_identity=True)
    if not result.chosen.devices:
        raise NothingToRead(
            "no device is known: no process reports, and the driver lists none; "
            "`ttmem fit --demo` asks simulated chips, `ttmem doctor` says what can be seen here"
        )
    judged = candidates(result.chosen, need, result.telemetry)
    taken = chosen(judged, count)
    if is_json:
        document = _document(judged, taken, need, count) | {"time": time_text(result.chosen.time_ns)}
        click.echo(encoded(document, is_pretty=sys.stdout.isatty()).decode())
    else:
        _show(judged, taken, count)
    return NOT_MET if taken is None else DONE


def _show(judged: Sequence[Candidate], taken: Sequence[Candidate] | None, count: int) -> None:
    for candidate in judged:
        click.echo(f"{_name(candidate)}: {_WORDS[candidate.fits]}{_why(candidate)}", err=True)
    if taken is None:
        fitting = sum(candidate.fits is True for candidate in judged)
        unknown = sum(candidate.fits is None for candidate in judged)
        click.echo(f"ttmem: {count} asked for, {fitting} fit, {unknown} unknown", err=True)
    else:
        click.echo(",".join(str(candidate.device.index) for candidate in taken))


def _name(candidate: Candidate) -> str:
    board = candidate.device.board or candidate.device.arch
    return f"device {device_word(candidate.device)}" + (f" {board}" if board else "")


def _why(candidate: Candidate) -> str:
    reasons = [candidate.refusal, candidate.doubt]
    for room in candidate.rooms:
        reasons.append(f"{room.name} {size_text(room.needed_bytes)} of {_figures(room)}")
    text = "; ".join(filter(None, reasons))
    return f" ({text})" if text else ""


def _figures(room: Room | CoreRoom) -> str:
    if isinstance(room, CoreRoom):
        return f"hole {size_text(room.hole_bytes)}, headroom {signed_text(room.headroom_bytes)}"
    return f"free {size_text(room.free_bytes)}, largest block {size_text(room.block_bytes)}"


def _document(judged: Sequence[Candidate], taken: Sequence[Candidate] | None, need: Need, count: int) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "need": {"dram": need.dram_bytes, "l1_per_core": need.l1_core_bytes, "idle": need.is_idle, "devices": count},
        "met": taken is not None,
        "chosen": [candidate.device.index for candidate in taken or ()],
        "devices": [
            {
                **candidate.device.names,
                "fits": candidate.fits,
                "doubt": candidate.doubt or None,
                "refusal": candidate.refusal or None,
                "rooms": [
                    {
                        "name": room.name,
                        "needed": room.needed_bytes,
                        "free": room.free_bytes,
                        "largest_free": room.block_bytes,
                        "hole": room.hole_bytes if isinstance(room, CoreRoom) else None,
                        "headroom": room.headroom_bytes if isinstance(room, CoreRoom) else None,
                        "enough": room.is_enough,
                    }
                    for room in candidate.rooms
                ],
            }
            for candidate in judged
        ],
    }
