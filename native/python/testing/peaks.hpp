// How high it went: what all processes together had.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ledger/chips/peaks.hpp"

namespace ttmem {

/// Whose figures are among those of the chips.
inline bool is_live(const Process& process) { return process.is_counted(); }

/// Those of all processes, in their order.
using AllPeaks = std::vector<std::shared_ptr<const std::vector<OnChip>>>;
AllPeaks all_peaks(const Processes& processes, const Timebase& time);

/// What is known of a chip's history: our own sums, and the peaks that each process's journal has kept by itself. If one
/// of them was there before us, it is unknown how high all of them together have been.
struct History {
    Peak peaks[kPools];
    uint64_t since_ns = 0;
    bool is_request_known[kPools];  // counters do not say what was asked for
};

/// Of every chip, by its number.
std::vector<History> histories_of(const Devices& devices, const Processes& processes, const AllPeaks& peaks);

}  // namespace ttmem
