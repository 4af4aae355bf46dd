// Headroom: how far the lowest L1 buffer of a core is above the end of its circular buffers, of all loaded programs.
//
// Below 0 some of these programs would be refused if they were launched now. L1_SMALL does not count. A core without
// buffers, or without circular buffers, has the end or the beginning of L1 instead: a journal does not say those, so such
// cores are distinguished.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ledger/places/footprint.hpp"
#include "ledger/places/spans.hpp"

namespace ttmem {

struct CoreTaken;

/// How far one address is above another; below 0 if it is not.
inline int64_t room_between(uint64_t high, uint64_t low) {
    constexpr uint64_t kMost = uint64_t{1} << 62;  // whatever another process says: addresses are far below
    return static_cast<int64_t>(std::min(high, kMost)) - static_cast<int64_t>(std::min(low, kMost));
}

struct Headroom {
    std::optional<int64_t> least;    // of cores that have both
    std::optional<uint64_t> cb_end;  // the highest, of cores without any buffer
    std::optional<uint64_t> own;     // the lowest buffer, of cores with buffers of their own and no circular buffers
    std::optional<uint64_t> lowest;  // the lowest buffer of all cores, where there are no others
    uint64_t core_count = 0;         // cores with circular buffers, or buffers of their own
    bool is_known = true;            // false: a process did not say where something lies
    // Where it is below 0: programs whose circular buffers reach into a buffer, as (process, program), the first few.
    std::vector<std::pair<uint64_t, uint64_t>> programs;
};

/// Of a chip; `lockstep`: L1 buffers of every core, joined. `cores` are joined, too.
Headroom headroom_of(const Spans& lockstep, const std::map<uint32_t, CoreTaken>& cores);

/// Adds the programs of a process, by some of its targets, that reach into a buffer.
void add_programs(Headroom& headroom, uint64_t process, const Laid& laid, const std::vector<uint16_t>& targets,
                  const std::map<uint32_t, CoreTaken>& cores);

}  // namespace ttmem
