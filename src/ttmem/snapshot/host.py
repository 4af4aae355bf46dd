"""What a snapshot says besides figures: the machine, what may not be read there, and what does not add up."""

from typing import Literal

from ttmem.snapshot.values import Count, Struct

__all__ = ["Finding", "Foreign", "Host", "What"]

What = Literal["journals", "counters"]


class Finding(Struct, frozen=True):
    """Something that does not add up: a doubt to show beside the figures."""

    name: str  # one of the names listed under Findings
    count: Count  # how often
    pid: Count | None = None  # by which process
    path: str = ""  # in which journal or directory
    text: str = ""  # a sentence, where the name does not say it all

    @property
    def line(self) -> str:
        """What it says, and of which file."""
        text = self.text or self.name
        return f"{self.path}: {text}" if self.path else text


class Foreign(Struct, frozen=True):
    """Journals, or the runtime's counters, of another user that may not be read."""

    path: str
    uid: Count
    user: str
    what: What = "journals"


class Host(Struct, frozen=True):
    """The machine the snapshot was taken on."""

    hostname: str
    os: str
    distro: str
    kernel: str
    platform: str
    python: str
    memory: str = ""  # as tt-smi writes it: 125.65 GB
    driver: str = ""  # TT-KMD 2.0.0
    version: str = ""  # of ttmem
