"""The whole rows of a ledger, held against what a snapshot made of its flat tables says, figure by figure.

Wall-clock times are worked out anew at every look, and differ by a few nanoseconds: only whether they are known counts.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tests.support.figures import HOST
from ttmem._native import Ledger
from ttmem.collector.silicon import bank_sizes
from ttmem.devices import Device, Pool
from ttmem.snapshot import DeviceUsage, PoolUsage, ProcessUsage, Snapshot, Surroundings, snapshot_from_rows
from ttmem.snapshot.incidents import KINDS, Frame, Incident, Site
from ttmem.snapshot.sights.overview import ProcessRow, process_row_of

SURROUNDINGS = Surroundings(source="a test", places=("/here",), host=HOST, user_of=str, sizes_of=bank_sizes)
ARCHITECTURES = ("wormhole_b0", "blackhole")
LOOKS = 1000
SOME_TIME_NS = 1
CHIP = (
    *("device", "pools", "kinds", "launch_count", "activity", "doubt", "worst_core_bytes", "worst_core", "core_bytes"),
    *("headroom_bytes", "headroom_programs", "l1_hole_bytes", "fullest_core_bytes", "fullest_core", "contradiction"),
)
PROCESS = (
    *("key", "pid", "claimed_pid", "source", "uid", "label", "command", "path", "state", "is_visible"),
    *("pid_namespace", "origin", "reason", "start_time_ns", "start_ticks", "last_event_time_ns", "event_count"),
    *("lost_record_count", "skipped_count", "untabled_count", "live_count", "thread_count", "chips", "pools", "kinds"),
    *("launch_count", "cb_planned_bytes", "refusal_count", "clash_count", "incidents", "incident_count", "sites_off"),
    *("findings", "overlaps", "details"),
)
DETAILS = ("devices", "other_devices", "programs", "phases", "open_phases", "out_of_memory", "clashes", "meshes")
Figures = dict[str, Any]
Expected = tuple[list[Figures], list[Figures]]  # of chips, and of processes


class WholeRows:
    """What one viewer has of a ledger: rows by version, which must not change while their version does not."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._chips: dict[int, tuple[int, Figures]] = {}
        self._processes: dict[int, tuple[int, Figures]] = {}
        for arch in ARCHITECTURES:
            sizes = bank_sizes(arch)
            assert sizes is not None
            ledger.set_bank_sizes(arch, *sizes)

    def check(self) -> None:
        """Looks, and compares. Somebody may end meanwhile: only a look between two equal snapshots counts."""
        before = self._expected()
        for _ in range(LOOKS):
            self.look()
            after = self._expected()
            if before == after:
                return self.compare(after)
            before = after
        raise AssertionError(f"the ledger never stood still in {LOOKS} looks")

    def compare(self, expected: Expected) -> None:
        """What was last seen is this."""
        chips, processes = expected
        assert [figures for _, figures in self._chips.values()] == chips
        assert [figures for _, figures in self._processes.values()] == processes

    def look(self) -> None:
        """Takes what has changed."""
        known = {number: version for number, (version, _) in self._chips.items()}
        detailed = {key: version for key, (version, _) in self._processes.items()}
        _, chips, processes, unlisted, _ = self._ledger.look("all", known, {}, detailed)
        named = {number: row[0] if row else self._chips[number][1]["device"] for number, _, row in chips}
        names = {number: _name(facts) for number, facts in (*named.items(), *((row[0], row) for row in unlisted))}
        self._chips = {
            number: (version, _chip_figures(row) if row else self._same(self._chips, number, version))
            for number, version, row in chips
        }
        self._processes = {
            key: (version, _process_figures(row, names) if row else self._same(self._processes, key, version))
            for key, version, row in processes
        }

    def _same(self, rows: Mapping[int, tuple[int, Figures]], name: int, version: int) -> Figures:
        known, figures = rows[name]
        assert known == version
        return figures

    def _expected(self) -> Expected:
        rows = self._ledger.snapshot()
        return expected_rows(rows, snapshot_from_rows(rows, SURROUNDINGS))


def expected_rows(rows: Figures, snapshot: Snapshot) -> Expected:
    """What the flat rows of a ledger, and the snapshot made of them, say."""
    listed = [usage.device.number for usage in snapshot.devices]
    told = zip(rows["processes"], snapshot.processes, strict=True)
    return (
        [_expected_chip(usage, rows, snapshot) for usage in snapshot.devices],
        [_expected_process(row, process, process_row_of(process, listed)) for row, process in told],
    )


# ---- of the ledger


def _chip_figures(row: Sequence[Any]) -> Figures:
    figures = dict(zip(CHIP, row, strict=True))
    now, _ = figures.pop("fullest_core_bytes"), figures.pop("fullest_core")
    assert now is None or now <= figures["worst_core_bytes"]  # what is resident is planned
    return figures | {"pools": tuple(map(_timeless_pool, figures["pools"]))}


def _process_figures(row: Sequence[Any], names: Mapping[int, str]) -> Figures:
    figures = dict(zip(PROCESS, row, strict=True))
    details = dict(zip(DETAILS, figures["details"], strict=True))
    return figures | {
        "pools": tuple(map(_timeless_pool, figures["pools"])),
        "last_event_time_ns": figures["last_event_time_ns"] is not None,
        "incidents": tuple(_incident(incident, names) for incident in figures["incidents"]),
        "details": details
        | {
            "devices": tuple(map(_held, details["devices"])),
            "other_devices": tuple(map(_held, details["other_devices"])),
            "programs": sorted(details["programs"], key=repr),
            "phases": tuple((*phase[:4], phase[4] is not None, *phase[5:]) for phase in details["phases"]),
            "open_phases": tuple((name, since is not None, count) for name, since, count in details["open_phases"]),
            "out_of_memory": tuple(row[:-1] for row in details["out_of_memory"]),
            "clashes": tuple(row[:-1] for row in details["clashes"]),
        },
    }


def _held(row: Sequence[Any]) -> tuple[Any, ...]:
    return (row[0], tuple(map(_timeless_pool, row[1])), *row[2:])


def _timeless_pool(row: Sequence[Any]) -> tuple[Any, ...]:
    return (*row[:5], row[5] is not None, *row[6:])


def _name(facts: Sequence[Any]) -> str:
    _, unique_id, _, is_known, name = facts[:5]
    return f"0x{unique_id:016x}" if is_known else str(name)


def _incident(row: Sequence[Any], names: Mapping[int, str]) -> Incident:
    facts = dict(zip(_INCIDENT, row, strict=True))
    return Incident(
        **facts
        | {
            "kind": KINDS[facts["kind"]],
            "memory": Pool(facts["memory"]).word,
            "device_ids": tuple(names[chip] for chip in facts["device_ids"]),
            "site": _site(facts["site"]),
            "other_site": _site(facts["other_site"]),
            "time_ns": SOME_TIME_NS,
            "last_time_ns": None,
        }
    )


_INCIDENT = (
    *("number", "kind", "memory", "time_ns", "device_ids", "is_mesh", "thread", "repeat_count", "last_time_ns"),
    *("is_read_later", "is_of_text", "is_per_core", "is_uncertain", "requested_bytes", "requested_per_bank_bytes"),
    *("free_bytes", "largest_free_bytes", "free_per_bank_bytes", "largest_free_per_bank_bytes", "bank_count"),
    *("space_begin_address", "space_end_address", "program", "operation", "cores", "cb_end_address"),
    *("lowest_buffer_address", "trace", "address", "phase", "site", "other_site", "launches_before", "launches_since"),
    *("operations_since", "entry_count", "left_out_count", "left_out_bytes", "text"),
)


def _site(row: Sequence[Any] | None) -> Site | None:
    return Site(tuple(Frame(*frame) for frame in row[0]), *row[1:]) if row else None


# ---- of the snapshot


def _plain(value: Any) -> Any:
    """Tuples of plain values; chips by number."""
    if isinstance(value, PoolUsage):
        return _timeless_pool(tuple(map(_plain, value)))
    if isinstance(value, Device):
        return value.number
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _expected_chip(usage: DeviceUsage, rows: Figures, snapshot: Snapshot) -> Figures:
    device = usage.device
    [contradiction] = [row for row in rows["contradictions"] if row[0] == device.number] or [None]
    told = dict(zip(CHIP, map(_plain, usage), strict=False))
    facts = (device.number, device.unique_id, device.index, device.is_known, device.name, device.arch, device.board)
    banks = (device.grid, device.dram_bank_count, device.l1_bank_count, device.kernel_ring_bytes)
    return told | {
        "device": (*facts, *banks, device.capacity_bytes, device.open_count),
        "contradiction": _expected_contradiction(contradiction, snapshot) if contradiction else None,
    }


def _expected_contradiction(row: Sequence[Any], snapshot: Snapshot) -> tuple[Any, ...]:
    _, believed, other, what, told, said, count = row
    openers = {process.key: (process.pid, process.uid, process.path) for process in snapshot.processes}
    first = openers.get(believed, (None, None, "")) if believed else None
    return count, what, told, said, first, openers.get(other, (None, None, ""))


def _expected_process(row: Figures, process: ProcessUsage, summed: ProcessRow) -> Figures:
    same = {name: _plain(getattr(process, name)) for name in PROCESS if name in ProcessUsage._fields}
    return same | {
        "pid_namespace": row["pid_namespace"] or None,
        "last_event_time_ns": process.last_event_time_ns is not None,
        "chips": summed.devices,
        "pools": _plain(summed.pools),
        "kinds": _plain(summed.kinds),
        "launch_count": summed.launch_count,
        "cb_planned_bytes": summed.cb_planned_bytes,
        "incidents": tuple(map(_timeless_incident, process.incidents)),
        "findings": tuple((finding.name, finding.count) for finding in process.findings),
        "overlaps": tuple(map(tuple, row["overlaps"])),
        "details": _expected_details(process),
    }


def _timeless_incident(incident: Incident) -> Incident:
    return msgspec.structs.replace(incident, time_ns=SOME_TIME_NS, last_time_ns=None)


def _expected_details(process: ProcessUsage) -> Figures:
    same = {name: _plain(getattr(process, name)) for name in DETAILS}
    return same | {
        "programs": sorted(same["programs"], key=repr),
        "phases": tuple((*phase[:4], phase[4] is not None, *phase[5:]) for phase in same["phases"]),
        "open_phases": tuple((name, since is not None, count) for name, since, count in same["open_phases"]),
        "out_of_memory": tuple(row[:-1] for row in same["out_of_memory"]),
        "clashes": tuple(row[:-1] for row in same["clashes"]),
    }
