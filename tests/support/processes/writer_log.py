"""What `native/writer.cpp` has done, by its own log, and how that compares with what a collector says.

The log is exact but for the one call that each thread may have under way: that call may count or not, never by half.
"""

import mmap
import struct
from collections import Counter
from pathlib import Path
from typing import Any

from ttmem.devices import Kind

HEAD_BYTES = 64
THREAD_WORDS = 8
CALLS, UNDER_WAY, INTENDED, LAUNCHES, LAUNCHING = range(5)
Rows = dict[str, Any]


class WriterLog:
    """A writer's log, readable while it writes and after it was killed."""

    def __init__(self, path: Path, threads: int, slots: int) -> None:
        self.threads = threads
        self.slots = slots
        with open(path, "rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        assert struct.unpack_from("2Q", self._bytes) == (threads, slots)

    def close(self) -> None:
        self._bytes.close()

    def thread(self, number: int) -> tuple[int, ...]:
        """All words of one thread: its head, then its slots."""
        words = THREAD_WORDS + self.slots
        return struct.unpack_from(f"{words}Q", self._bytes, HEAD_BYTES + number * words * 8)

    def calls(self) -> int:
        """How many calls have returned, over all threads."""
        return sum(self.thread(number)[CALLS] for number in range(self.threads))

    def accepted(self) -> dict[tuple[int, int], set[int]]:
        """By thread and slot: the bytes that may be alive there."""
        slots = {}
        for number in range(self.threads):
            words = self.thread(number)
            for slot, alive in enumerate(words[THREAD_WORDS:]):
                slots[number, slot] = {alive}
            if words[UNDER_WAY]:
                slots[number, words[UNDER_WAY] - 1].add(words[INTENDED])
        return slots

    def launches(self) -> dict[int, range]:
        """By program (each thread launches one of its own): how often it may have been launched."""
        found = {}
        for number in range(self.threads):
            words = self.thread(number)
            found[number + 1] = range(words[LAUNCHES], words[LAUNCHES] + words[LAUNCHING] + 1)
        return found

    def bytes_bounds(self) -> tuple[int, int]:
        """The least and the most that counters may say, over all threads: a call under way may be anywhere inside."""
        least = most = 0
        for number in range(self.threads):
            words = self.thread(number)
            total = sum(words[THREAD_WORDS:])
            before = words[THREAD_WORDS + words[UNDER_WAY] - 1] if words[UNDER_WAY] else 0
            least += total - before
            most += total - before + (max(before, words[INTENDED]) if words[UNDER_WAY] else 0)
        return least, most


def differences(log: WriterLog, rows: Rows, allocations: list[tuple[Any, ...]], key: int) -> list[str]:
    """Where a collector's list, totals and launches of a process contradict the log; empty when they do not."""
    return [
        *_wrong_entries(log, allocations),
        *_wrong_launches(log, rows, key),
        *wrong_totals(rows, allocations, key),
    ]


def _wrong_entries(log: WriterLog, allocations: list[tuple[Any, ...]]) -> list[str]:
    listed: dict[tuple[int, int], int] = {}
    wrong = []
    for _, kind, entry, _, _, reserved, *_ in allocations:
        if kind == Kind.PROGRAM_BINARY:
            continue
        place = (entry >> 32) - 1, entry & 0xFFFF_FFFF
        if place in listed:
            wrong.append(f"thread and slot {place}: listed twice")
        listed[place] = reserved
    for place, accepted in log.accepted().items():
        found = listed.pop(place, 0)
        if found not in accepted:
            wrong.append(f"thread and slot {place}: {found} bytes listed, the log says {sorted(accepted)}")
    return wrong + [f"thread and slot {place}: listed, but never made" for place in listed]


def _wrong_launches(log: WriterLog, rows: Rows, key: int) -> list[str]:
    launched: Counter[int] = Counter()
    for process, _, program, _, launches, *_ in rows["programs"]:
        if process == key:
            launched[program] = launches
    return [
        f"program {program}: {launched[program]} launches, the log says {accepted}"
        for program, accepted in log.launches().items()
        if launched[program] not in accepted
    ]


def unexpected_findings(row: Rows) -> set[str]:
    """What was found in a writer's row besides what it does on purpose."""
    return set(row["findings"]) - {"replaced", "shrunk_kernel"}


def wrong_totals(rows: Rows, allocations: list[tuple[Any, ...]], key: int) -> list[str]:
    """Where the totals of a process per device and pool are not the sums of its list."""
    used: Counter[tuple[int, int]] = Counter()
    count: Counter[tuple[int, int]] = Counter()
    for devices, _, _, pool, _, reserved, *_ in allocations:
        for device in devices:
            used[device, pool] += reserved
            count[device, pool] += 1
    wrong = []
    for process, device, pool, total, _, entries, *_ in rows["process_pools"]:
        if process == key and (total, entries) != (used.pop((device, pool), 0), count.pop((device, pool), 0)):
            wrong.append(f"device {device} pool {pool}: {entries} entries of {total} bytes are not the list's sum")
    return wrong + [f"device {device} pool {pool}: listed, but no total" for device, pool in count]
