"""Where figures come from: the journals of reporting processes, and what procfs tells about those processes."""

from ttmem.sources import procfs
from ttmem.sources.journals import FoundJournal, Journals
from ttmem.sources.places import Place, Places, Roots

__all__ = ["FoundJournal", "Journals", "Place", "Places", "Roots", "procfs"]
