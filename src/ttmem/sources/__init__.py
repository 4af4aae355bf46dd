"""Where figures come from: the journals of reporting processes, and what procfs says about those processes."""

from ttmem.sources import procfs
from ttmem.sources.directories import Place, Places, Roots
from ttmem.sources.journals import FoundJournal, Journals

__all__ = ["FoundJournal", "Journals", "Place", "Places", "Roots", "procfs"]
