"""One process close up: what it holds, largest or oldest first; who asked for it."""

from collections.abc import Iterable

from ttmem.errors import SelectionError
from ttmem.snapshot.dump import DumpedAllocation
from ttmem.snapshot.usage import ProcessUsage
from ttmem.snapshot.values import Answer, Count, Struct, TimeNs

__all__ = ["Holding", "ProcessDetail", "SiteSum", "found_process", "no_such_process"]


class Holding(Struct, frozen=True):
    """One allocation, and on which chips it lies; its size is that on each of them."""

    devices: tuple[Count, ...]
    allocation: DumpedAllocation


class SiteSum(Struct, frozen=True):
    """All that one line of Python asked for and still holds, on all chips together."""

    stack: tuple[str, ...]
    size_bytes: Count
    count: Count


class ProcessDetail(Answer, frozen=True, kw_only=True):
    """All that is known of one process; lists are cut after the first few, and say so."""

    time_ns: TimeNs
    process: ProcessUsage  # with its details
    largest: tuple[Holding, ...] = ()
    oldest: tuple[Holding, ...] = ()
    more_count: Count = 0  # how many are alive that `largest` does not list
    sites: tuple[SiteSum, ...] = ()  # largest first; empty unless sites are recorded
    more_site_count: Count = 0  # how many hold something that `sites` does not list


def found_process(processes: Iterable[ProcessUsage], pid: int, key: int | None = None) -> ProcessUsage:
    """The process that is meant: by its key, else the living one of that pid, else the one that ended last. There being
    none is a SelectionError."""
    alike = [process for process in processes if process.pid == pid]
    by_key = [process for process in alike if process.key == key]
    live = [process for process in alike if process.is_live]
    for found in (by_key, [process for process in live if process.is_visible], live, alike):
        if found:
            return found[-1]
    raise no_such_process(pid)


def no_such_process(pid: int) -> SelectionError:
    return SelectionError(f"no process {pid} here: it does not report, or ended too long ago to be remembered")
