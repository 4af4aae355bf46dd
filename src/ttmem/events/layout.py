"""The bytes of every struct that a journal, or a daemon's checkpoint, holds, written down a second time.

The native core has its own description; a test compares the two field by field, so neither can drift. Offsets follow
from the order of the fields: each starts at the next multiple of its alignment, as compilers lay out plain structs.
"""

from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["STRUCTS", "StructField", "StructLayout"]


class StructField(NamedTuple):
    """Where a field lies in its struct."""

    offset_bytes: int
    size_bytes: int


class StructLayout(NamedTuple):
    """A struct's size, and its fields by name."""

    size_bytes: int
    fields: dict[str, StructField]


class _StructPart(NamedTuple):
    name: str
    size_bytes: int
    length: int = 1
    alignment: int = 0  # 0: that of an integer of this size


def _struct(parts: Iterable[_StructPart]) -> StructLayout:
    fields: dict[str, StructField] = {}
    end = 0
    widest = 1
    for part in parts:
        alignment = part.alignment or part.size_bytes
        widest = max(widest, alignment)
        start = -(-end // alignment) * alignment
        if not part.name.startswith("pad"):
            fields[part.name] = StructField(start, part.size_bytes * part.length)
        end = start + part.size_bytes * part.length
    return StructLayout(-(-end // widest) * widest, fields)


def _words(names: str, size_bytes: int = 8) -> list[_StructPart]:
    return [_StructPart(name, size_bytes) for name in names.split()]


def _text(name: str, length: int) -> _StructPart:
    return _StructPart(name, 1, length)


_POOL_COUNT = 10
_KIND_COUNT = 11
_CORE_TYPE_COUNT = 5
_CACHE_COUNT = 5
_OUTCOME_COUNT = 5
_STALL_COUNT = 7
_INDEX_LEVELS = 3
_INCIDENT_KIND_COUNT = 4
_INCIDENT_TEXT_BYTES = 512
_PAGE_BYTES = 4096

STRUCTS: dict[str, StructLayout] = {}

STRUCTS["Record"] = _struct(_words("commit time tag id address reserved requested per_bank"))

STRUCTS["PoolCounters"] = _struct(
    _words("used peak peak_time window_peak allocs frees own_peak totals"),
)

STRUCTS["KindCounters"] = _struct(_words("used count"))

STRUCTS["RingCounters"] = _struct(_words("live retired entries launches total"))

STRUCTS["CacheCounters"] = _struct([_StructPart("outcomes", 8, _OUTCOME_COUNT), *_words("entries held shared")])

STRUCTS["Target"] = _struct(
    [
        *_words("state descriptor", 4),
        *_words("unique_id closed_sequence launches clashes refusals"),
        _StructPart("spare", 8, 2),
        _StructPart("kinds", STRUCTS["KindCounters"].size_bytes, _KIND_COUNT, 8),
        _StructPart("kinds_spare", 8, 2),
        _StructPart("pools", STRUCTS["PoolCounters"].size_bytes, _POOL_COUNT, 8),
        _StructPart("pools_spare", 8, 16),
        _StructPart("caches", STRUCTS["CacheCounters"].size_bytes, _CACHE_COUNT, 8),
        _StructPart("rings", STRUCTS["RingCounters"].size_bytes, _CORE_TYPE_COUNT, 8),
        _StructPart("stalls", 8, _STALL_COUNT),
    ]
)

STRUCTS["PhasePeak"] = _struct(_words("name_and_place peak time runs"))

STRUCTS["Incident"] = _struct(
    [
        *_words(
            "commit repeats last_time time place site_and_phase other_site_and_cores requested per_bank free largest"
        ),
        *_words(
            "bank_free bank_largest banks space_begin space_end program cb_end lowest_buffer trace address launches"
        ),
        *_words("sequence_before sequence_after entries left_out left_out_bytes text_bytes"),
        _StructPart("spare", 8, 36),
        _text("text", _INCIDENT_TEXT_BYTES),
    ]
)

STRUCTS["StackNode"] = _struct(_words("parent name file kind_and_line", 4))

STRUCTS["DeviceDescriptor"] = _struct(
    [
        *_words("unique_id"),
        *_words("index kernel_ring_bytes", 4),
        *_words("grid_x grid_y dram_banks l1_banks", 2),
        _StructPart("capacity_bytes", 8, _POOL_COUNT),
        _text("arch", 32),
        _text("board", 32),
    ]
)

STRUCTS["MeshDescriptor"] = _struct([*_words("mesh_id"), *_words("rows columns", 2), *_words("chip_count", 4)])

STRUCTS["Identity"] = _struct(
    [
        *_words("magic"),
        *_words("version header_bytes", 4),
        *_words("file_bytes"),
        *_words("targets_offset threads_offset slab_offset index_offset ring_offset phases_offset arena_offset"),
        *_words("target_count thread_count table ring_slots phase_peaks arena_bytes", 4),
        _StructPart("index_slots", 4, _INDEX_LEVELS),
        *_words("pid uid clock_kind", 4),
        *_words("start_ticks pid_namespace"),
        _StructPart("boot_id", 8, 2),
        *_words("nonce first_sequence clock_raw clock_monotonic_ns clock_realtime_ns"),
        _text("command", 256),
        _text("run", 136),
        *_words("incidents_offset copies_offset stack_nodes_offset stack_texts_offset"),
        *_words("incident_slots incident_entries stack_nodes stack_text_bytes", 4),
    ]
)

STRUCTS["Header"] = _struct(
    [
        _StructPart("identity", STRUCTS["Identity"].size_bytes, 1, 8),
        _text("pad0", 1024 - STRUCTS["Identity"].size_bytes),
        *_words("next_sequence"),
        _text("pad1", 56),
        *_words("free_head slab_high"),
        _StructPart("index_live", 8, _INDEX_LEVELS),
        _text("pad2", 24),
        *_words("skipped untabled_allocs untabled_frees unsized_frees unmatched_frees replaced clamped shrunk_kernels"),
        *_words("arena_used arena_refused phases_refused"),
        *_words("label threads_used", 4),
        *_words("target_refused unreported undivided_l1 incidents"),
        _StructPart("incident_counts", 8, _INCIDENT_KIND_COUNT * _POOL_COUNT),
        *_words("stack_nodes_used stack_texts_used stacks_refused"),
        *_words("sites_off sites_spare", 4),
        *_words("unjudged"),
        _text("pad3", _PAGE_BYTES - 1024 - 64 - 64 - (21 + _INCIDENT_KIND_COUNT * _POOL_COUNT) * 8),
    ]
)

STRUCTS["CheckpointHead"] = _struct(
    [
        _text("magic", 8),
        *_words("version process_count", 4),
        _StructPart("boot_id", 8, 2),
        *_words("time_ns body_bytes checksum"),
    ]
)

STRUCTS["CheckpointProcess"] = _struct(
    [
        *_words("pid uid", 4),
        *_words("start_ticks started_ns sequence event_count"),
        *_words("claimed_pid chip_count", 4),
        *_words("entry_count"),
        _text("command", 256),
    ]
)
