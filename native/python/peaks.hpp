// How high it went: what a process had at most on a chip, and what all of them together had.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ledger/collector.hpp"

namespace ttmem {

struct Peak {
    int64_t bytes = 0;
    uint64_t time_ns = 0;
    bool is_lower_bound = false;
};

/// Whose figures are among those of the chips.
inline bool is_live(const Process& process) { return process.is_counted(); }

/// The peaks of one process on one chip, by pool.
struct OnChip {
    Peak pools[kPools];
};

/// The peaks of one process on each of its chips, in the order of its cells.
std::vector<OnChip> own_peaks(const Process& process, const Timebase& time);

/// Those of all processes, in their order.
using AllPeaks = std::vector<std::shared_ptr<const std::vector<OnChip>>>;
AllPeaks all_peaks(const Processes& processes, const Timebase& time);

/// Those on one chip.
OnChip own_peaks_on(const Process& process, const Timebase& time, uint32_t device);

/// What is known of a chip's history: our own sums, and the peaks that each process's journal has kept by itself. If one
/// of them was there before us, nobody knows how high all of them together have been.
struct History {
    Peak peaks[kPools];
    uint64_t since_ns = 0;
    bool is_request_known[kPools];  // counters do not tell what was asked for
};

/// Of every chip, by its number.
std::vector<History> histories_of(const Devices& devices, const Processes& processes, const AllPeaks& peaks);

}  // namespace ttmem
