"""One look at the figures: those that were chosen, and what the driver tells of their chips."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from ttmem.cli.tables.device_words import device_words
from ttmem.cli.tables.request import BANNER, Request
from ttmem.errors import NothingToRead, SelectionError
from ttmem.figures.source import FigureSource
from ttmem.snapshot import DeviceUsage, Selection, Snapshot, selected
from ttmem.snapshot.device import Device
from ttmem.snapshot.selection import device_test
from ttmem.snapshot.values import replace
from ttmem.view.spans import clean
from ttmem.view.words import plural

if TYPE_CHECKING:
    from ttmem.snapshot.telemetry import ChipTelemetry

__all__ = ["Look", "look"]


class Look(NamedTuple):
    """What was seen at one instant."""

    snapshot: Snapshot  # everything
    chosen: Snapshot
    telemetry: Sequence["ChipTelemetry"]
    missing: Sequence[str] = ()  # names of chips that were asked for and are not there, while others are
    nameless: Sequence["ChipTelemetry"] = ()  # chips of the driver that may be any of those others speak of

    def check(self, request: Request) -> None:
        """Says it, if figures were asked for that nobody reports; NothingToRead if that is so of all of them."""
        for word in self.missing:
            click.echo(f"ttmem: no device {word} here", err=True)
        if not self.snapshot.processes and not self.chosen.devices:
            raise NothingToRead(_nothing_text(self.snapshot))
        if (request.users or request.pids) and not self.chosen.processes:
            asked = ", ".join([*request.users, *map(str, request.pids)])
            raise NothingToRead(f"{asked}: no such process reports now")


def _nothing_text(snapshot: Snapshot) -> str:
    """Why there is nothing to show, in one line; of what was found on the way the first."""
    theirs = f"; {len(snapshot.foreign)} of other users may not be read" if snapshot.foreign else ""
    findings = [finding for finding in snapshot.findings if finding.name != "damaged"]
    note = "".join(f"; {finding.line}" for finding in findings[:1])
    more_count = len(findings) - 1
    more = f" (and {plural(more_count, 'more finding', 's')}: ttmem ps --json)" if more_count > 0 else ""
    return f"no process reports ({snapshot.source} looked in {', '.join(snapshot.places)}){theirs}{clean(note)}{more}"


def look(looking: FigureSource, request: Request, *, has_identity: bool) -> Look:
    """Looks now. `has_identity`: also at what the driver says, and at chips that nobody has opened."""
    telemetry = looking.telemetry() if has_identity else ()
    snapshot = looking.snapshot()
    if request.made_up_count and has_identity:  # a table has a banner
        snapshot = replace(snapshot, source=BANNER)
    try:
        known = [usage.device for usage in snapshot.devices]
        names = device_words(request.devices, lambda: telemetry or looking.telemetry(), known)
        selection = Selection(names, tuple(request.users), tuple(request.pids), request.is_with_ended)
        whole, nameless = _with_idle_chips(snapshot, telemetry) if has_identity else (snapshot, ())
        chosen = selected(whole, selection)
    except SelectionError as error:
        raise click.BadParameter(str(error), param_hint="-i") from error
    missing = [word for word in names if not any(device_test(word)(usage.device) for usage in chosen.devices)]
    return Look(snapshot, chosen, telemetry, missing, nameless)


def _with_idle_chips(
    snapshot: Snapshot, telemetry: Sequence["ChipTelemetry"]
) -> tuple[Snapshot, Sequence["ChipTelemetry"]]:
    """With the chips of the driver that nobody speaks of; and those that may be one of which somebody does."""
    from ttmem.snapshot.identity import chip_of, nameless_chips  # here, since the table shows nothing of the driver

    known = [chip_of(usage.device, telemetry) for usage in snapshot.devices]
    nameless = nameless_chips([usage.device for usage in snapshot.devices], telemetry)
    idle = [chip for chip in telemetry if chip not in known and chip not in nameless]
    first = 1 + max((usage.device.number for usage in snapshot.devices), default=-1)
    devices = tuple(_idle(chip, number) for number, chip in enumerate(idle, start=first))
    return replace(snapshot, devices=(*snapshot.devices, *devices)) if devices else snapshot, nameless


def _idle(chip: "ChipTelemetry", number: int) -> DeviceUsage:
    bare = Device.bare(number, chip.asic_id, index=None, name="" if chip.asic_id else f"tenstorrent:{chip.node}")
    return DeviceUsage(replace(bare, board=chip.card_type or "", arch=chip.arch or ""), (), (), None)
