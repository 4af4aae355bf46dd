"""What grows from run to run of a recording, what leaks, what is still held, and what is gone again at once."""

from ttmem.analysis.growth.answers import (
    GrownLine,
    GrownPool,
    GrowthReport,
    HeldLine,
    LeakReport,
    RunSeries,
    Survivor,
    TemporaryLine,
    TemporaryPool,
    TemporaryReport,
)
from ttmem.analysis.growth.counting import CountedSeries, RunCounter
from ttmem.analysis.growth.held import HeldCounter
from ttmem.analysis.growth.iterations import Iterations, repeated
from ttmem.analysis.growth.temporary import TemporaryCounter

__all__ = [
    "CountedSeries",
    "GrownLine",
    "GrownPool",
    "GrowthReport",
    "HeldCounter",
    "HeldLine",
    "Iterations",
    "LeakReport",
    "RunCounter",
    "RunSeries",
    "Survivor",
    "TemporaryCounter",
    "TemporaryLine",
    "TemporaryPool",
    "TemporaryReport",
    "repeated",
]
