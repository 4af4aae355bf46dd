"""Holds what the hook looks for against what a runtime has: each function found or not, and what can be shown then."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ttmem.doctor.entries import HookEntry
from ttmem.doctor.features import FEATURES, Feature
from ttmem.doctor.installation import Installation

__all__ = ["Finding", "Level", "Presence", "ShownRuntime", "presences", "shown"]

Finding = Literal["found", "not called", "missing", "not needed", "used"]
Level = Literal["full", "reduced", "none"]


class Presence(NamedTuple):
    """One entry of the hook in one runtime. A function that is not called by name cannot be stood in for; one that is
    spelled otherwise in this release is not needed."""

    entry: HookEntry
    finding: Finding

    @property
    def is_there(self) -> bool:
        return self.finding in ("found", "used")

    @property
    def is_lacking(self) -> bool:
        return self.finding in ("missing", "not called")


@dataclass(frozen=True)
class ShownRuntime:
    """How much of one feature can be shown, and what is lost."""

    feature: Feature
    level: Level
    losses: tuple[str, ...] = ()


def presences(entries: Sequence[HookEntry], installation: Installation) -> list[Presence]:
    """Every entry, with how it is in this runtime."""
    found = [Presence(entry, _finding(entry, installation)) for entry in entries]
    there = {presence.entry.name for presence in found if presence.is_there}
    return [_spared(presence, there) for presence in found]


def _spared(presence: Presence, there: set[str]) -> Presence:
    if presence.is_there:
        return presence
    name = presence.entry.name
    needs = [need for feature in FEATURES for need in (*feature.needs, *feature.details) if name in need.names]
    is_spare = bool(needs) and all(there & need.names for need in needs)
    return Presence(presence.entry, "not needed") if is_spare else presence


def _finding(entry: HookEntry, installation: Installation) -> Finding:
    if entry.kind == "offset":
        return "used"
    if not installation.exports(entry.symbol):
        return "missing"
    return "not called" if entry.kind == "hook" and not installation.calls(entry.symbol) else "found"


def shown(found: Sequence[Presence]) -> list[ShownRuntime]:
    """What all that is there amounts to."""
    there = {presence.entry.name for presence in found if presence.is_there}
    gives = {presence.entry.name: presence.entry.gives for presence in found}
    return [_shown(feature, there, gives) for feature in FEATURES]


def _shown(feature: Feature, there: set[str], gives: dict[str, str]) -> ShownRuntime:
    absent = [need for need in feature.needs if not there & need.names]
    if absent:
        return ShownRuntime(feature, "none", tuple(" or ".join(sorted(need.names)) for need in absent))
    poorer = [detail for detail in feature.details if not there & detail.names]
    losses = dict.fromkeys(gives.get(detail.first, detail.first) for detail in poorer)
    return ShownRuntime(feature, "reduced" if losses else "full", tuple(losses))
