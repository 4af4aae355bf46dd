"""A process that uses the stand-in of the runtime, with the hook preloaded or without, and obeys a script.

with Host(stand_in, journals) as host:
    host.tell("open 1 1 0", "buffer 4 1 DRAM 8192 2048")     see tests/native/fake_metal/script/script.cpp
    host.look().buffers
"""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from tests.support.faces.json_documents import shown_document
from tests.support.hooked.looks import Look
from tests.support.hooked.process import hook_path
from tests.support.journals.watching import Watch
from tests.support.processes.children import Spoken, Started
from tests.support.processes.programs import tracked
from tests.support.stand_in.build import CURRENT, StandIn
from ttmem.devices import BufferLayout
from ttmem.snapshot import Snapshot
from ttmem.snapshot.incidents import IncidentCopy
from ttmem.tracking import Stall

NOT_PERMITTED = 77
CHIP = 1649267441665  # the unique id of chip 0, as in the samples; those of the others follow


class HostLook(Look):
    """With what is judged by the stand-in alone."""

    def __init__(self, rows: dict[str, Any], allocations: Sequence[tuple[Any, ...]], key: int) -> None:
        super().__init__(rows, allocations, key)
        self._allocations = allocations

    def thread_of(self, identity: int) -> int:
        return int(self._row(identity)[10])

    def form_of(self, identity: int) -> tuple[BufferLayout, int]:
        """A buffer's layout and the bytes of its pages."""
        *_, layout, page_bytes, _, _, _, _, _ = self._row(identity)
        return BufferLayout.numbered(layout), page_bytes

    def _row(self, identity: int) -> tuple[Any, ...]:
        [row] = [row for row in self._allocations if row[2] == identity]
        return row

    def stalls(self, chip: int) -> dict[Stall, int]:
        """Why launches waited on a chip, and how often."""
        return {
            Stall.numbered(why): count for number, why, count in self._table("stalls") if self._chips[number] == chip
        }


class Host(Started, Spoken):
    """The driver program with one copy of the stand-in loaded."""

    def __init__(
        self,
        stand_in: StandIn,
        journals: Path,
        *,
        release: str = CURRENT,
        is_hooked: bool = True,
        preloaded: Sequence[Path] = (),
        **settings: str,
    ) -> None:
        self.stand_in, self.release = stand_in, release
        preloads = [*preloaded, hook_path()] if is_hooked else [*preloaded]
        environment = tracked(journals, LD_PRELOAD=" ".join(map(str, preloads)), **settings)
        Started.__init__(self, [str(stand_in.driver)], environment)
        Spoken.__init__(self, self.pid, *self._pipes)
        self._watch = Watch(journals)
        assert self.hear() == "ready"
        self.load("first")

    def __enter__(self) -> "Host":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watch.collector.stop()
        Started.__exit__(self, kind, error, trace)

    def load(self, name: str, release: str | None = None) -> None:
        """Loads a copy, of its own release if nothing else is said; it is in use from then on."""
        release = release or self.release
        operations = self.stand_in.operations(release)
        libraries = [self.stand_in.library(release), *([operations] if operations.exists() else [])]
        assert self.tell(f"load {name} {' '.join(map(str, libraries))}") == "loaded"

    def tell(self, *orders: str) -> str:
        """Its answer to the last order."""
        answer = ""
        for order in orders:
            self.say(order)
            answer = self.hear()
        return answer

    def look(self) -> HostLook:
        """What a collector knows of it when nothing is left to be read."""
        rows = self._watch.come_to_rest()
        [row] = [row for row in rows["processes"] if row["pid"] == self.pid and row["state"] == "live"]
        return HostLook(self._watch.rows(), self._watch.allocations(row["key"]), row["key"])

    def document(self) -> dict[str, Any]:
        """The same as `ttmem ps --json` has it."""
        return shown_document(self.snapshot())

    def snapshot(self) -> Snapshot:
        """What every page is made of."""
        self._watch.come_to_rest()
        return self._watch.collector.snapshot()

    def incident_copy(self, number: int) -> IncidentCopy:
        """One of its incidents, with what was alive then."""
        found = self._watch.collector.incident_copy(self.pid, number, key=self.look().process["key"])
        assert found is not None
        return found

    def look_if_any(self) -> HostLook | None:
        """The same of a process that perhaps reports nothing at all."""
        rows = self._watch.come_to_rest()
        return self.look() if rows["processes"] else None

    def counted(self, order: str) -> tuple[int, int]:
        """How many system calls and allocations of memory an order makes. It is the last one."""
        self.say(f"counted {order}")
        line = self._answers.readline()
        if not line and self.process.wait() == NOT_PERMITTED:
            pytest.skip("NOT TESTED: filters of system calls are not permitted here")
        *_, system_calls, allocations = line.split()
        return int(system_calls), int(allocations)

    def leave(self) -> tuple[int, list[str], str]:
        """Lets it end in the ordinary way: exit code, what it still said, what it complained of."""
        self.say("exit")
        last = self.process.stdout.read().splitlines() if self.process.stdout else []
        return self.process.wait(), last, self.end()


def unequal(tallies: str) -> list[str]:
    """The functions that were not reached once for each call, as they were called."""
    return [one for one in tallies.split(";") if one.endswith("UNEQUAL")]


def calls(tallies: str) -> dict[str, int]:
    return {name: int(count) for name, count, *_ in (one.split() for one in tallies.split(";"))}
