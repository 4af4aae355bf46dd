// How high it went, and what only grew: what a process had at most on each of its chips, and its totals there.
#pragma once

#include <cstdint>
#include <vector>

#include "ledger/collector.hpp"

namespace ttmem {

struct Peak {
    int64_t bytes = 0;
    uint64_t time_ns = 0;
    bool is_lower_bound = false;
};

/// The peaks of one process on one chip, by pool.
struct OnChip {
    Peak pools[kPools];
    uint64_t totals[kPools][kPoolTotalWords] = {};  // of the targets that stand for it
};

/// The peaks of one process on each of its chips, in the order of its cells.
std::vector<OnChip> own_peaks(const Process& process, const Timebase& time);

/// Those on one chip.
OnChip own_peaks_on(const Process& process, const Timebase& time, uint32_t device);

}  // namespace ttmem
