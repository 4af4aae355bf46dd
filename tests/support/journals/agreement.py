"""The ledger's rows and the oracle's figures in one shape, so that they can be compared.

A process goes by the name the test gave it, a device by its unique id. Rows that say nothing (all zero) are left out
on both sides.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from tests.support.journals.oracle import DeviceName, Life, Oracle, OracleProcess
from ttmem._native import Ledger, testing
from ttmem.devices import Kind

Figures = dict[str, Any]
VIEW, ESTIMATED = 1, 64
WRONG_FREES = ("unknown_free", "double_free", "wrong_target_free")


class Seen:
    """One snapshot of a ledger, under the names of a test."""

    def __init__(self, ledger: Ledger, names: Mapping[int, str]) -> None:
        """`names`: from the ledger's process keys to the test's names."""
        self.ledger = ledger
        self.names = names
        self.rows = testing.flat_rows(ledger)
        self.devices = self._device_names()

    def _device_names(self) -> dict[int, DeviceName]:
        tables = ("process_pools", "launches", "programs", "out_of_memory", "clashes")
        owner = {row[1]: self.names[row[0]] for table in tables for row in self.rows[table]}
        names: dict[int, DeviceName] = {}
        for row in self.rows["devices"]:
            number = row["number"]
            unknown = ("unknown", owner.get(number, "?"), int(row["name"].partition(":")[2] or -1))
            names[number] = row["unique_id"] if row["known"] else unknown
        return names

    def figures(self) -> Figures:
        rows = self.rows
        return {
            "device_pools": {
                (self.devices[d], p): tuple(rest[:3]) for d, p, *rest in rows["device_pools"] if any(rest[:3])
            },
            "device_kinds": {(self.devices[d], k): tuple(rest) for d, k, *rest in rows["device_kinds"]},
            "open": {self.devices[row["number"]]: row["open_count"] for row in rows["devices"] if row["open_count"]},
            "process_pools": self._of_processes("process_pools", 3, lambda rest: any(rest[2:5])),
            "process_kinds": self._of_processes("process_kinds", 3, lambda rest: True),
            "launches": Counter((self.names[key], self.devices[d], count) for key, d, count in rows["launches"]),
            "programs": Counter((self.names[key], self.devices[d], *rest) for key, d, *rest in rows["programs"]),
            "meshes": Counter(
                (self.names[key], mesh, r, c, tuple(self.devices[d] for d in chips))
                for key, mesh, r, c, chips in rows["meshes"]
            ),
            "live_counts": {self.names[row["key"]]: row["live_count"] for row in rows["processes"]},
            "states": {self.names[row["key"]]: row["state"] for row in rows["processes"]},
        }

    def _of_processes(self, table: str, count: int, is_worth: Any) -> dict[Any, Any]:
        return {
            (self.names[key], self.devices[device], what): tuple(rest[:count])
            for key, device, what, *rest in self.rows[table]
            if is_worth([device, what, *rest])
        }

    def findings(self, *, is_classified: bool = True) -> dict[str, Counter[str]]:
        found = {self.names[row["key"]]: Counter(row["findings"]) for row in self.rows["processes"]}
        return found if is_classified else {name: without_classes(findings) for name, findings in found.items()}

    def phases(self) -> Counter[Any]:
        return Counter(
            (self.names[key], name, self.devices[device], pool, peak, runs)
            for key, name, device, pool, peak, _, runs, _ in self.rows["phases"]
        )

    def open_phases(self) -> Counter[Any]:
        return Counter({(self.names[key], name): count for key, name, _, count in self.rows["open_phases"]})

    def out_of_memory(self) -> Counter[Any]:
        return Counter(
            (self.names[key], self.devices[device], pool, *figures)
            for key, device, pool, *figures, _ in self.rows["out_of_memory"]
        )

    def clashes(self) -> Counter[Any]:
        """Those that are listed; how many there were on each chip is told beside them."""
        listed = [(self.names[key], self.devices[device], *what) for key, device, *what, _ in self.rows["clashes"]]
        counts = {(self.names[key], self.devices[device]): count for key, device, count in self.rows["clash_counts"]}
        assert counts == Counter(clash[:2] for clash in listed)
        return Counter(listed)

    def allocations(self) -> dict[str, Counter[Any]]:
        return {
            name: Counter(map(self.one_allocation, self.ledger.allocations(key))) for key, name in self.names.items()
        }

    def one_allocation(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        devices, kind, id, pool, flags, reserved, requested = row[:7]
        status, launches = row[14:16]
        asked = requested if kind == Kind.BUFFER else None
        places = frozenset(self.devices[device] for device in devices)
        return (places, kind, id, pool, bool(flags & VIEW), bool(flags & ESTIMATED), reserved, asked, status, launches)

    def process_peaks(self) -> dict[Any, tuple[int, bool]]:
        """Peak, and whether it is only a lower bound."""
        return {
            (self.names[key], self.devices[device], pool): (rest[3], rest[5])
            for key, device, pool, *rest in self.rows["process_pools"]
            if rest[3]
        }

    def device_peaks(self) -> dict[Any, tuple[int, bool]]:
        rows = self.rows["device_pools"]
        return {(self.devices[device], pool): (rest[3], rest[6]) for device, pool, *rest in rows if rest[3]}

    def doubts(self) -> dict[str, tuple[str, str]]:
        """The processes whose list is not whole, or not counted."""
        return {
            self.names[row["key"]]: (row["reason"], row["origin"])
            for row in self.rows["processes"]
            if not row["complete"] or row["origin"] != "counted"
        }


def _open_chips(process: OracleProcess) -> set[DeviceName]:
    """By itself or in a mesh: a process has a chip open once."""
    return {chip for target in process.targets.values() if target.is_open for chip in target.chips}


class Expected:
    """The oracle's figures, in the same shape. `names`: the processes that the ledger has seen."""

    def __init__(self, oracle: Oracle, names: Iterable[str]) -> None:
        self.oracle = oracle
        self.processes = [oracle.processes[name] for name in names]

    def figures(self) -> Figures:
        living = [process for process in self.processes if process.is_alive]
        return {
            "device_pools": _worth(_pools((device, life) for process in living for device, life in process.held())),
            "device_kinds": _kinds((device, life) for process in living for device, life in process.held()),
            "open": Counter(chip for process in living for chip in _open_chips(process)),
            "process_pools": self._by_process(lambda process: _worth(_pools(process.held()))),
            "process_kinds": self._by_process(lambda process: _kinds(process.held())),
            "launches": self._launches(),
            "programs": self._programs(),
            "meshes": self._meshes(),
            "live_counts": {
                process.name: sum(life.is_allocation for life in process.live.values()) for process in self.processes
            },
            "states": {process.name: "live" if process.is_alive else "ended" for process in self.processes},
        }

    def _by_process(self, rows: Any) -> dict[Any, Any]:
        return {(process.name, *place): row for process in self.processes for place, row in rows(process).items()}

    def _launches(self) -> Counter[Any]:
        counted: Counter[Any] = Counter()
        for process in self.processes:
            for target, count in process.launches.items():
                for device in process.devices_of(target):
                    counted[process.name, device] += count
        return Counter((*place, count) for place, count in counted.items())

    def _programs(self) -> Counter[Any]:
        return Counter(
            (process.name, device, life.id, life.status, life.launches, life.reserved, "")
            for process in self.processes
            for device, life in process.held()
            if life.kind == Kind.PROGRAM_BINARY
        )

    def _meshes(self) -> Counter[Any]:
        return Counter(
            (process.name, *target.mesh, target.chips)
            for process in self.processes
            for target in process.targets.values()
            if target.mesh and target.is_open and process.is_alive
        )

    def findings(self, *, is_classified: bool = True) -> dict[str, Counter[str]]:
        found = {process.name: +process.findings for process in self.processes}
        return found if is_classified else {name: without_classes(findings) for name, findings in found.items()}

    def phases(self) -> Counter[Any]:
        """Per chip: where several targets stand for it, the highest of them."""
        rows: dict[Any, tuple[int, int]] = {}
        for process in self.processes:
            for (name, target, pool), (peak, runs) in process.phase_peaks.items():
                for device in process.devices_of(target):
                    place = (process.name, name, device, pool)
                    highest, most = rows.get(place, (0, 0))
                    rows[place] = (max(highest, peak), max(most, runs))
        return Counter((*place, *figures) for place, figures in rows.items())

    def open_phases(self) -> Counter[Any]:
        return Counter(
            (process.name, phase.name) for process in self.processes for phase in process.open_phases.values()
        )

    def out_of_memory(self) -> Counter[Any]:
        return Counter((process.name, *row) for process in self.processes for row in process.out_of_memory)

    def clashes(self) -> Counter[Any]:
        return Counter((process.name, *row) for process in self.processes for row in process.clashes)

    def allocations(self) -> dict[str, Counter[Any]]:
        return {
            process.name: Counter(one_life(process, life) for life in process.live.values() if life.is_allocation)
            for process in self.processes
        }

    def process_peaks(self) -> dict[Any, int]:
        return {(process.name, *place): peak for process in self.processes for place, peak in (+process.peaks).items()}


def one_life(process: OracleProcess, life: Life) -> tuple[Any, ...]:
    asked = life.requested if life.kind == Kind.BUFFER else None
    places = frozenset(process.devices_of(life.target))
    flags = (life.is_view, life.is_estimated)
    return (places, life.kind, life.id, life.pool, *flags, life.reserved, asked, life.status, life.launches)


def without_classes(findings: Counter[str]) -> Counter[str]:
    """Who came late cannot tell which mistake a free was: the three kinds together."""
    merged = Counter({name: count for name, count in findings.items() if name not in WRONG_FREES})
    merged["wrong_frees"] = sum(findings[name] for name in WRONG_FREES)
    return +merged


def _pools(held: Iterable[tuple[DeviceName, Life]]) -> dict[Any, tuple[int, int, int]]:
    """Used, requested and count of every pool; a view takes nothing and asks for nothing, but is there."""
    sums: dict[Any, tuple[int, int, int]] = {}
    for device, life in held:
        if not life.is_allocation:
            continue
        used, requested, count = sums.get((device, life.pool), (0, 0, 0))
        asked = 0 if life.is_view else life.requested
        sums[device, life.pool] = (used + life.reserved, requested + asked, count + 1)
    return sums


def _kinds(held: Iterable[tuple[DeviceName, Life]]) -> dict[Any, tuple[int, int, bool]]:
    sums: dict[Any, tuple[int, int, bool]] = {}
    for device, life in held:
        if not life.is_allocation:
            continue
        used, count, is_estimated = sums.get((device, life.kind), (0, 0, False))
        sums[device, life.kind] = (used + life.reserved, count + 1, is_estimated or life.is_estimated)
    return sums


def _worth(sums: dict[Any, Any]) -> dict[Any, Any]:
    return {place: row for place, row in sums.items() if any(row)}
