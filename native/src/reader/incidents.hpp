// What a journal keeps of the moments at which something was refused: the words of an incident's head, copied.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>

#include "journal/layout.hpp"

namespace ttmem {

/// A head as it stands in the journal. Values are whatever its process wrote.
struct IncidentHead {
    uint64_t commit, repeats, last_time, time, place, site_and_phase, other_site_and_cores, requested, per_bank, free,
        largest, bank_free, bank_largest, banks, space_begin, space_end, program, cb_end, lowest_buffer, trace, address,
        launches, sequence_before, sequence_after, entries, left_out, left_out_bytes, text_bytes, spare[36];
    char text[kIncidentTextBytes];

    bool operator==(const IncidentHead&) const = default;
    uint64_t number() const { return sequence_of(commit); }
    uint8_t kind() const { return IncidentPlace::unpack(place).kind; }
    uint8_t pool() const { return IncidentPlace::unpack(place).pool; }
    uint16_t target() const { return IncidentPlace::unpack(place).target; }
    uint16_t thread() const { return IncidentPlace::unpack(place).thread; }
    uint16_t flags() const { return IncidentPlace::unpack(place).flags; }
    uint32_t site() const { return SiteAndPhase::unpack(site_and_phase).site; }
    uint32_t phase() const { return SiteAndPhase::unpack(site_and_phase).phase; }
    uint32_t other_site() const { return OtherSiteAndCores::unpack(other_site_and_cores).site; }
    uint32_t cores() const { return OtherSiteAndCores::unpack(other_site_and_cores).core_set; }
    bool has_copy() const { return (flags() & kNoCopy) == 0; }
    uint64_t entry_count() const { return std::min<uint64_t>(entries, kIncidentEntries); }
    std::string said() const { return {text, std::min<size_t>(text_bytes, kIncidentTextBytes)}; }

    /// Whether it can be reported at all: a kind, a pool and a target that exist.
    bool is_sound() const {
        return kind() > TTMEM_INCIDENT_NONE && kind() < kIncidentKinds && pool() < kPools && target() < kTargets;
    }
};
static_assert(sizeof(IncidentHead) == sizeof(Incident) &&
              offsetof(IncidentHead, text_bytes) == offsetof(Incident, text_bytes) &&
              offsetof(IncidentHead, text) == offsetof(Incident, text));
static_assert(std::has_unique_object_representations_v<IncidentHead>);

}  // namespace ttmem
