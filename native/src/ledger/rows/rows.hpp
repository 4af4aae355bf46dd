// What a snapshot says of a chip and of a process, whole: one struct each, made under the collector's lock, with everything
// worked out (who counts, sums, doubts). Anyone who shows it only copies.
//
// Fields stand in the order in which Python gets them; python/rows/whole_rows.cpp makes nested tuples of them. Chips are named
// by their number, pools, kinds, core types, stalls and caches by theirs. What is not known is empty (None), never 0.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "journal/counters.hpp"

namespace ttmem {

using MaybeBytes = std::optional<uint64_t>;
using MaybeTime = std::optional<uint64_t>;  // nanoseconds since 1970
using MaybeCount = std::optional<uint64_t>;

/// 0 stands for unknown in journals.
inline std::optional<uint64_t> unless_zero(uint64_t value) { return value != 0 ? std::optional(value) : std::nullopt; }

inline std::optional<std::string> unless_empty(const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(text);
}

/// As `PoolUsage`: of a chip, of a process on a chip, or of a process over all its chips.
struct PoolRow {
    uint8_t pool = 0;
    uint64_t used = 0;
    MaybeBytes requested;
    uint64_t count = 0, peak = 0;
    MaybeTime peak_time_ns;
    bool is_lower_bound = false;
    std::string_view origin;  // "counted", "counter"
    // What follows is known of chips only; Python gets two fields for the runtime's counters, None here, before the reason.
    MaybeTime since_ns;
    MaybeBytes capacity, largest_free, largest_free_bank, hole_count;
    uint64_t unattributed = 0;
    std::string_view reason;
    std::array<MaybeBytes, kPoolTotals> totals{};  // since it began to report; of processes with a journal only
    bool operator==(const PoolRow&) const = default;
};

/// As `KindUsage`, and as `CoreUsage` of the kernels on cores of a type.
struct KindRow {
    uint8_t kind = 0;
    uint64_t used = 0, count = 0;
    bool is_estimated = false;
    bool operator==(const KindRow&) const = default;
};

struct FootprintRow {
    uint64_t planned = 0;
    MaybeBytes resident;
    uint64_t worst_planned = 0;
    MaybeBytes worst_resident;
    bool is_estimated = false;
    bool operator==(const FootprintRow&) const = default;
};

struct RingRow {
    uint8_t core_type = 0;
    uint64_t live = 0, retired = 0, entries = 0, launches = 0;
    MaybeBytes total;
    bool operator==(const RingRow&) const = default;
};

struct CacheRow {
    uint8_t cache = 0;
    uint64_t hits = 0, misses = 0, evicted = 0, bypassed = 0, emptied = 0, entries = 0, held = 0, shared = 0;
    bool operator==(const CacheRow&) const = default;
};

using StallRow = std::pair<uint8_t, uint64_t>;  // why launches waited, and how often

struct ActivityRow {
    std::vector<KindRow> cores;
    std::optional<FootprintRow> footprint;
    std::vector<RingRow> rings;
    std::vector<StallRow> stalls;
    std::vector<CacheRow> caches;
    bool is_empty() const { return cores.empty() && !footprint && rings.empty() && stalls.empty() && caches.empty(); }
    bool operator==(const ActivityRow&) const = default;
};

/// As `ProcessDevice`.
struct HeldRow {
    uint32_t chip = 0;
    std::vector<PoolRow> pools;
    std::vector<KindRow> kinds;
    uint64_t launches = 0;
    ActivityRow activity;
    uint64_t clashes = 0;
    bool operator==(const HeldRow&) const = default;
};

struct ProgramRow {
    uint32_t chip = 0;
    MaybeCount program;
    uint8_t status = 0;
    uint64_t launches = 0, dram = 0;
    std::string operation;
    bool operator==(const ProgramRow&) const = default;
};

struct PhaseRow {
    std::string name;
    uint32_t chip = 0;
    uint8_t pool = 0;
    uint64_t peak = 0;
    MaybeTime time_ns;
    uint64_t runs = 0;
    bool is_lower_bound = false;
    bool operator==(const PhaseRow&) const = default;
};

struct OpenPhaseRow {
    std::string name;
    MaybeTime since_ns;
    uint64_t count = 0;
    bool operator==(const OpenPhaseRow&) const = default;
};

struct OutOfMemoryRow {
    uint32_t chip = 0;
    uint8_t pool = 0;
    uint64_t requested = 0, free = 0, largest_free = 0, time_ns = 0;
    bool operator==(const OutOfMemoryRow&) const = default;
};

struct ClashRow {
    uint32_t chip = 0;
    MaybeCount program;
    uint64_t cb_end = 0, buffer = 0, time_ns = 0;
    bool operator==(const ClashRow&) const = default;
};

struct MeshRow {
    uint64_t mesh_id = 0;
    uint16_t rows = 0, columns = 0;
    std::vector<uint32_t> chips;
    bool operator==(const MeshRow&) const = default;
};

struct FrameRow {
    std::string file;
    uint32_t line = 0;
    std::string function;
    bool operator==(const FrameRow&) const = default;
};

struct SiteRow {
    std::vector<FrameRow> frames;
    std::optional<std::string> operation, device_operation, tensor, text;
    bool is_other = false;
    bool operator==(const SiteRow&) const = default;
};

/// As `Incident`; `kind` and `pool` by the journal's numbers, chips instead of their ids.
struct IncidentRow {
    uint64_t number = 0;
    uint8_t kind = 0, pool = 0;
    uint64_t time_ns = 0;
    std::vector<uint32_t> chips;
    bool is_mesh = false;
    MaybeCount thread;
    uint64_t repeats = 0;
    MaybeTime last_time_ns;
    bool is_read_later = false, is_of_text = false, is_per_core = false, is_uncertain = false;
    MaybeBytes requested, requested_per_bank, free, largest_free, free_per_bank, largest_free_per_bank;
    MaybeCount bank_count;
    MaybeBytes space_begin, space_end;
    MaybeCount program;
    std::optional<std::string> operation, cores;
    MaybeBytes cb_end, lowest_buffer;
    MaybeCount trace;
    MaybeBytes address;
    std::optional<std::string> phase;
    std::optional<SiteRow> site, other_site;
    uint64_t launches_before = 0;
    MaybeCount launches_since, operations_since, entry_count;
    uint64_t left_out_count = 0, left_out_bytes = 0;
    std::string text;
    bool operator==(const IncidentRow&) const = default;
};

/// What a process did or had in several places, for those who ask: as the details of `ProcessUsage`.
struct DetailsRow {
    std::vector<HeldRow> held;   // in the order of chips
    std::vector<HeldRow> other;  // as its socket says it: counted nowhere
    std::vector<ProgramRow> programs;
    std::vector<PhaseRow> phases;
    std::vector<OpenPhaseRow> open_phases;
    std::vector<OutOfMemoryRow> out_of_memory;
    std::vector<ClashRow> clashes;
    std::vector<MeshRow> meshes;
    bool operator==(const DetailsRow&) const = default;
};

using FindingRow = std::pair<std::string, uint64_t>;  // what does not add up, and how often

/// Whose an allocation is that lies where another target's does: the shape of a mesh (0 x 0: a chip), and its chips.
struct OwnerRow {
    uint16_t rows = 0, columns = 0;
    std::vector<uint32_t> chips;
    bool operator==(const OwnerRow&) const = default;
};

struct OverlapRow {
    uint8_t pool = 0;
    uint64_t address = 0, bytes = 0;
    std::vector<uint32_t> chips;
    OwnerRow first, second;
    bool operator==(const OverlapRow&) const = default;
};

/// As `ProcessUsage`, but for what Python knows (its parent, the user's name, whether its pid namespace is another).
struct ProcessRow {
    uint64_t key = 0;
    uint32_t pid = 0;
    MaybeCount claimed_pid;
    std::string_view source;  // "journal", "socket"
    uint32_t uid = 0;
    std::string label, command, path;
    std::string_view state;  // "live", "ended"
    bool is_visible = true;
    MaybeCount pid_namespace;
    std::string_view origin, reason;
    MaybeTime start_time_ns;
    MaybeCount start_ticks;
    MaybeTime last_event_time_ns;
    uint64_t event_count = 0, lost_record_count = 0, skipped_count = 0, untabled_count = 0, live_count = 0,
             thread_count = 0;
    std::vector<uint32_t> chips;  // that are shown, in their order
    std::vector<PoolRow> pools;   // summed over its chips, as what follows
    std::vector<KindRow> kinds;
    uint64_t launch_count = 0;
    MaybeBytes cb_planned;
    uint64_t refusal_count = 0, clash_count = 0;
    std::vector<IncidentRow> incidents;
    uint64_t incident_count = 0;
    std::string sites_off;
    std::vector<FindingRow> findings;
    std::vector<OverlapRow> overlaps;
    std::optional<DetailsRow> details;
    bool operator==(const ProcessRow&) const = default;
};

/// How a chip is named: as `ChipName`.
struct ChipNameRow {
    uint32_t number = 0;
    uint64_t unique_id = 0;
    std::optional<uint64_t> index;
    bool is_known = false;
    std::string name;
    bool operator==(const ChipNameRow&) const = default;
};

/// As `Device`.
struct DeviceRow {
    ChipNameRow name;  // its fields first
    std::string arch, board;
    std::optional<std::pair<uint16_t, uint16_t>> grid;
    MaybeCount dram_banks, l1_banks;
    MaybeBytes kernel_ring;
    std::vector<MaybeBytes> capacities;  // by pool
    uint64_t open_count = 0;
    bool operator==(const DeviceRow&) const = default;
};

/// Who described a chip; no pid: it is gone.
struct OpenerRow {
    MaybeCount pid, uid;
    std::string path;
    bool operator==(const OpenerRow&) const = default;
};

/// Two descriptions of a chip that cannot both be true.
struct ContradictionRow {
    uint64_t count = 0;
    std::string what, believed_text, other_text;
    std::optional<OpenerRow> believed;  // none: the driver
    OpenerRow other;
    bool operator==(const ContradictionRow&) const = default;
};

using CorePlace = std::pair<uint16_t, uint16_t>;  // x, y

/// As `DeviceUsage`, and what does not add up about it.
struct ChipRow {
    DeviceRow device;
    std::vector<PoolRow> pools;
    std::vector<KindRow> kinds;
    uint64_t launch_count = 0;
    ActivityRow activity;
    std::string_view doubt;
    MaybeBytes worst_core;  // of the fullest core, with what is planned there
    std::optional<CorePlace> worst_place;
    MaybeBytes core_bytes;
    std::optional<int64_t> headroom;
    std::vector<std::pair<uint32_t, MaybeCount>> headroom_programs;  // pid, program
    MaybeBytes l1_hole;
    MaybeBytes fullest_now;  // of the fullest core as it is now, with what is resident there
    std::optional<CorePlace> fullest_place;
    std::optional<ContradictionRow> contradiction;
    bool operator==(const ChipRow&) const = default;
};

}  // namespace ttmem
