// What was alive at an incident of a process, with its head.
#pragma once

#include "ledger/collector.hpp"
#include "ledger/rows/rows.hpp"

namespace ttmem {

/// As `HeldEntry`.
struct HeldEntryRow {
    uint8_t kind = 0, pool = 0;
    uint64_t id = 0;
    MaybeCount address;
    uint64_t reserved = 0, requested = 0;
    MaybeBytes per_bank;
    MaybeCount program;
    std::optional<std::string> operation, cores;
    MaybeCount core_count;
    bool is_per_core = false, is_view = false;
    uint8_t layout = 0;
    MaybeBytes page;
    MaybeCount thread;
    uint64_t time_ns = 0, sequence = 0;
    std::optional<std::string> phase;
    std::optional<SiteRow> site;
    std::vector<uint32_t> chips;  // empty: those of the incident
};

/// As `IncidentCopy`; `chips` has the names of all that its rows may name.
struct IncidentCopyRow {
    uint32_t pid = 0;
    std::vector<ChipNameRow> chips;
    IncidentRow incident;
    std::vector<HeldEntryRow> entries;
    uint64_t sequence_before = 0, sequence_after = 0;
};

/// The copy of an incident, by its number; none if it is not there. `key`: which process; 0 for one of that pid that has
/// such an incident, one that lives before one that has ended.
std::optional<IncidentCopyRow> incident_copy_of(const Processes& processes, const Devices& devices,
                                                const Timebase& time, uint32_t pid, uint64_t key, uint64_t number);

}  // namespace ttmem
