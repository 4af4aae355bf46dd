"""How a page is to look, whatever is on it."""

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["EXPLAINING", "PageOptions"]

EXPLAINING = "ttmem explain {}"


class PageOptions(NamedTuple):
    """How a page is to look. `width` None: as wide as it likes, for files and pipes."""

    width: int | None = None
    is_ascii: bool = False
    is_with_ended: bool = False
    banner: str = ""
    explaining: str = EXPLAINING  # the command that explains an incident
    is_kernels: bool = False  # what programs do, instead of who holds how much
    order: str = ""  # the column that processes are sorted by
    by: str = ""  # "workload": what the processes of each hold together
    parents: Mapping[int, int] | None = None  # pid -> pid of the process above; None: no tree
