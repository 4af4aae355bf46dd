"""From a document back to a snapshot: what a viewer does with the answer of a daemon.

The inverse of `document`, up to what it does not say: times are whole microseconds, and the numbers that devices and
processes go by inside of one snapshot are given anew.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, get_args

from ttmem.devices import BinaryStatus, Device, Kind, Pool
from ttmem.snapshot.activity import activity_from_document
from ttmem.snapshot.circumstances import What
from ttmem.snapshot.document import SCHEMA, Document
from ttmem.snapshot.fields import Fields
from ttmem.snapshot.identity import board_of
from ttmem.snapshot.refusals import read_clash, read_out_of_memory
from ttmem.snapshot.sights.chips import without_empty_pools
from ttmem.snapshot.usage import (
    DOUBTS,
    DeviceUsage,
    Finding,
    Foreign,
    Host,
    KindUsage,
    Mesh,
    OpenPhase,
    Origin,
    PhasePeak,
    PoolUsage,
    ProcessDevice,
    ProcessUsage,
    Program,
    Snapshot,
    Source,
    State,
)

if TYPE_CHECKING:
    from ttmem.snapshot.incidents import Incident

__all__ = ["bare_device", "check_schema", "read_incidents", "snapshot_from_document"]

ORIGINS: tuple[Origin, ...] = get_args(Origin)
_STATES: dict[str, State] = {**{state: state for state in get_args(State)}, "stale": "live"}
SOURCES: tuple[Source, ...] = get_args(Source)
_WHATS: tuple[What, ...] = get_args(What)
_POOLS = {pool.word: pool for pool in Pool}
ALL_KINDS = {kind.word: kind for kind in Kind}
_KINDS = {word: kind for word, kind in ALL_KINDS.items() if not kind.is_kernel}
_KERNELS = {kind.kernel_word: kind for kind in Kind if kind.is_kernel}
_STATUSES = {status.word: status for status in BinaryStatus}


def snapshot_from_document(document: Document) -> Snapshot:
    """The snapshot that a document tells of. A document of another schema, or without a field, is a VersionMismatch."""
    fields = Fields(document)
    check_schema(fields)
    devices = Devices()
    usages = tuple(without_empty_pools(read_device_usage(row, devices)) for row in fields.items("device_info"))
    findings = tuple(read_finding(row) for row in fields.items("findings"))
    worded = {(finding.name, finding.pid, finding.path): finding for finding in findings}
    return Snapshot(
        time_ns=fields.nanoseconds("time_ns"),
        source=fields.text("source"),
        places=fields.texts("places"),
        host=read_host(fields.inner("host_info"))._replace(version=fields.inner("host_sw_vers").maybe_text("ttmem")),
        devices=usages,
        processes=tuple(
            _with_words(_process(row, key, devices), worded)
            for key, row in enumerate(fields.items("processes"), start=1)
        ),
        foreign=tuple(read_foreign(row) for row in fields.items("foreign")),
        damaged=tuple(
            Finding("damaged", 1, path=row.text("path"), text=row.text("text")) for row in fields.items("damaged")
        ),
        findings=findings,
    )


def _with_words(process: ProcessUsage, worded: Mapping[tuple[str, int | None, str], Finding]) -> ProcessUsage:
    """A document counts the findings of a process by name; their sentences stand in the list of all."""
    found = (worded.get((one.name, one.pid, one.path), one) for one in process.findings)
    return process._replace(findings=tuple(found))


def check_schema(fields: Fields) -> None:
    """Only our own schema is read: in another the same names mean something else."""
    if fields.integer("schema") != SCHEMA:
        fields.refuse("schema", str(SCHEMA), fields.integer("schema"))


def bare_device(row: Fields, number: int) -> Device:
    """A device of which only the name is told."""
    index, name = row.maybe_integer("index"), row.maybe_text("name")
    return Device.bare(number, row.hexadecimal("uuid"), index=index, name=name)


class Devices:
    """The devices of one document, found again by how they are named wherever they are spoken of."""

    def __init__(self) -> None:
        self._by_name: dict[tuple[int | None, str | None, str], Device] = {}
        self._count = 0

    def described(self, row: Fields, number: int | None = None) -> Device:
        """A device that the document describes; `number`: by which it goes there, if it tells."""
        unique_id = row.hexadecimal("uuid")
        device = Device(
            number=self._count if number is None else number,
            unique_id=unique_id or 0,
            index=row.maybe_integer("index"),
            arch=row.maybe_text("arch"),
            board=board_of(row.inner("board_info").maybe_text("board_type")),
            grid=row.maybe_pair("grid"),
            dram_bank_count=row.maybe_integer("dram_banks"),
            l1_bank_count=row.maybe_integer("l1_banks"),
            kernel_ring_bytes=row.maybe_integer("kernel_ring_bytes"),
            capacity_bytes=tuple(map(row.counts("capacity").get, _POOLS)),
            open_count=row.integer("open_count"),
            is_known=unique_id is not None,
            name=row.maybe_text("name"),
        )
        self.know(device)
        return device

    def know(self, device: Device) -> None:
        """A device that goes by the number it has."""
        self._by_name.setdefault((device.index, device.uuid, device.name), device)
        self._count = max(self._count, device.number + 1)

    def named(self, row: Fields) -> Device:
        """The device that a row speaks of; one that is described nowhere has its name and nothing else."""
        device = bare_device(row, self._count)
        name = device.index, device.uuid, device.name
        if name not in self._by_name:
            self._count += 1
            self._by_name[name] = device
        return self._by_name[name]


def read_host(row: Fields) -> Host:
    return Host(
        hostname=row.text("Hostname"),
        os=row.text("OS"),
        distro=row.text("Distro"),
        kernel=row.text("Kernel"),
        platform=row.text("Platform"),
        python=row.text("Python"),
        memory=row.maybe_text("Memory"),
        driver=row.maybe_text("Driver"),
    )


def read_foreign(row: Fields) -> Foreign:
    return Foreign(row.text("path"), row.integer("uid"), row.text("user"), row.word("what", _WHATS))


def read_device_usage(row: Fields, devices: Devices, number: int | None = None) -> DeviceUsage:
    pools = tuple(_device_pool(word, pool) for word, pool in row.named("memory"))
    device = devices.described(row, number)
    reason = read_reason(row)
    doubt = reason if reason in DOUBTS else ""
    worst_bytes, worst = _worst_core(row.inner("l1").maybe_inner("worst_core"))
    return DeviceUsage(
        device,
        pools,
        read_kinds(row),
        row.maybe_integer("launches"),
        activity_from_document(row),
        doubt,
        worst_core_bytes=worst_bytes,
        worst_core=worst,
        core_bytes=row.inner("l1").maybe_integer("core_total"),
        headroom_bytes=row.maybe_integer("headroom_bytes"),
        l1_hole_bytes=row.maybe_integer("l1_hole_bytes"),
        headroom_programs=tuple(
            (one.maybe_integer("pid") or 0, one.maybe_integer("program")) for one in row.items("headroom_programs")
        ),
    )


def _worst_core(row: Fields | None) -> tuple[int | None, tuple[int, int] | None]:
    if row is None:
        return None, None
    x, y = row.maybe_integer("x"), row.maybe_integer("y")
    return row.integer("used"), None if x is None or y is None else (x, y)


def _device_pool(word: str, row: Fields) -> PoolUsage:
    return read_pool(
        word,
        row,
        since_ns=row.maybe_time_ns("since"),
        capacity_bytes=row.maybe_integer("total"),
        largest_free_bytes=row.maybe_integer("largest_free"),
        largest_free_bank_bytes=row.maybe_integer("largest_free_per_bank"),
        unattributed_bytes=row.integer("unattributed"),
        read_bytes=row.maybe_integer("read"),
        stale_bytes=row.maybe_integer("stale"),
    )


def read_pool(word: str, row: Fields, reason: str | None = None, **of_a_chip: int | None) -> PoolUsage:
    """`reason`: of the whole process, where its pools do not tell it; `of_a_chip`: what only a chip's pool has."""
    return PoolUsage(
        pool=_POOLS[word] if word in _POOLS else row.refuse("", "one of the pools " + " ".join(_POOLS), word),
        used_bytes=row.integer("used"),
        requested_bytes=row.maybe_integer("requested"),
        count=row.maybe_integer("count"),
        peak_bytes=row.integer("peak"),
        peak_time_ns=row.maybe_time_ns("peak_time"),
        is_lower_bound=row.flag("lower_bound"),
        origin=row.word("origin", ORIGINS),
        reason=read_reason(row) if reason is None else reason,
        **of_a_chip,  # type: ignore[arg-type]
    )


def read_reason(row: Fields) -> str:
    return "" if row.flag("complete") else row.text("reason")


def read_kinds(row: Fields) -> tuple[KindUsage, ...]:
    """Kernels of every type that is there at all, then the other kinds."""
    kernels = (read_kind(word, inner, _KERNELS) for word, inner in row.maybe_named("kernels"))
    return (
        *(usage for usage in kernels if usage.count or usage.used_bytes or usage.is_estimated),
        *(read_kind(word, inner, _KINDS) for word, inner in row.named("kinds")),
    )


def read_kind(word: str, row: Fields, kinds: dict[str, Kind]) -> KindUsage:
    kind = kinds[word] if word in kinds else row.refuse("", "one of the kinds " + " ".join(kinds), word)
    return KindUsage(kind, row.integer("used"), row.integer("count"), row.flag("estimated"))


def _process(row: Fields, key: int, devices: Devices) -> ProcessUsage:
    pid, path = row.maybe_integer("pid"), row.text("path")
    return ProcessUsage(
        key=key,
        pid=pid or 0,
        claimed_pid=row.maybe_integer("claimed_pid"),
        source=row.word("source", SOURCES),
        uid=row.integer("uid"),
        user=row.text("user"),
        label=row.text("label"),
        command=row.text("cmdline"),
        path=path,
        state=_STATES[row.word("state", _STATES)],
        is_visible=row.flag("visible"),
        container=row.maybe_integer("container"),
        origin=row.word("origin", ORIGINS),
        reason=read_reason(row),
        start_time_ns=row.maybe_time_ns("start_time"),
        last_event_time_ns=row.maybe_time_ns("last_event_time"),
        event_count=row.integer("events"),
        lost_record_count=row.integer("lost_records"),
        skipped_count=row.integer("skipped"),
        untabled_count=row.integer("untabled"),
        live_count=row.maybe_integer("live_count"),
        thread_count=row.integer("threads"),
        refusal_count=row.integer("refusals"),
        clash_count=row.integer("clash_count"),
        devices=tuple(read_held_device(held, devices) for held in row.items("devices")),
        other_devices=tuple(read_process_device(held, devices) for held in row.items("other_devices")),
        programs=tuple(_program(program, devices) for program in row.items("programs")),
        phases=tuple(read_phase(phase, devices) for phase in row.items("phases")),
        open_phases=tuple(read_open_phase(phase) for phase in row.items("open_phases")),
        out_of_memory=tuple(read_out_of_memory(refused, devices.named) for refused in row.items("out_of_memory")),
        clashes=tuple(read_clash(clash, devices.named) for clash in row.items("clashes")),
        meshes=tuple(read_mesh(mesh, devices) for mesh in row.items("meshes")),
        findings=tuple(Finding(name, count, pid, path) for name, count in row.counts("findings").items()),
        start_ticks=row.maybe_integer("start_ticks"),
        incidents=read_incidents(row),
        incident_count=row.integer("incident_count"),
        sites_off=row.maybe_text("sites_off"),
    )


def read_incidents(row: Fields) -> "tuple[Incident, ...]":
    """The incidents of a process."""
    found = tuple(row.items("incidents"))
    if not found:
        return ()
    from ttmem.snapshot.incidents import read_incident  # here: most have none, and msgspec is slow to import

    return tuple(read_incident(one) for one in found)


def read_held_device(row: Fields, devices: Devices) -> ProcessDevice:
    held = read_process_device(row, devices)
    return held._replace(activity=activity_from_document(row), clash_count=row.integer("clashes"))


def read_process_device(row: Fields, devices: Devices) -> ProcessDevice:
    pools = tuple(read_pool(word, pool) for word, pool in row.named("memory"))
    return ProcessDevice(devices.named(row), pools, read_kinds(row), row.maybe_integer("launches"))


def _program(row: Fields, devices: Devices) -> Program:
    return Program(
        device=devices.named(row),
        program=row.maybe_integer("program"),
        status=_STATUSES[row.word("status", tuple(_STATUSES))],
        launch_count=row.integer("launches"),
        dram_bytes=row.integer("dram"),
        operation=row.maybe_text("operation"),
    )


def read_phase(row: Fields, devices: Devices) -> PhasePeak:
    return PhasePeak(
        name=row.text("phase"),
        device=devices.named(row),
        pool=_POOLS[row.word("pool", tuple(_POOLS))],
        peak_bytes=row.integer("peak"),
        time_ns=row.maybe_time_ns("peak_time"),
        run_count=row.integer("runs"),
        is_lower_bound=row.flag("lower_bound"),
    )


def read_open_phase(row: Fields) -> OpenPhase:
    return OpenPhase(row.text("phase"), row.maybe_time_ns("since"), row.integer("count"))


def read_mesh(row: Fields, devices: Devices) -> Mesh:
    chips = tuple(devices.named(chip) for chip in row.items("devices"))
    return Mesh(row.integer("mesh_id"), row.integer("rows"), row.integer("columns"), chips)


def read_finding(row: Fields) -> Finding:
    return Finding(
        name=row.text("name"),
        count=row.integer("count"),
        pid=row.maybe_integer("pid"),
        path=row.maybe_text("path"),
        text=row.maybe_text("text"),
    )
