"""Why memory ran out: pure functions from what was recorded of an incident to an explanation of it."""

from ttmem.analysis.explain import explain
from ttmem.analysis.explanation import (
    AddressLine,
    AddressStretch,
    Cause,
    ClashDetails,
    Explanation,
    Floor,
    Freeing,
    MemoryHolder,
    PhaseShare,
    ProgramNeed,
    ReplayDetails,
)

__all__ = [
    "AddressLine",
    "AddressStretch",
    "Cause",
    "ClashDetails",
    "Explanation",
    "Floor",
    "Freeing",
    "MemoryHolder",
    "PhaseShare",
    "ProgramNeed",
    "ReplayDetails",
    "explain",
]
