// A process over all its chips, and its share of each: what an overview says of it.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>
#include <vector>

#include "ledger/collector.hpp"
#include "ledger/footprint.hpp"
#include "python/peaks.hpp"

namespace ttmem {

using Chips = std::vector<bool>;  // by number

/// What all processes of one origin and reason hold on a chip, as if they were one.
struct Held {
    int64_t used[kPools] = {};
    bool has[kPools] = {};
    uint64_t launches = 0;

    void add(const Held& other) {
        for (uint32_t p = 0; p < kPools; ++p) {
            add_to(used[p], other.used[p]);
            has[p] |= other.has[p];
        }
        launches += other.launches;
    }
};

/// What a living process has on each chip, besides what the chip's own balance says.
struct Share {
    std::vector<std::pair<uint32_t, Held>> held;
    std::vector<std::pair<uint32_t, Activity>> activity;
    std::vector<std::pair<uint32_t, Footprint>> footprints;
};

/// A process over all its chips.
struct Sum {
    struct {
        int64_t used = 0, requested = 0, count = 0, peak = 0;
        uint64_t peak_time_ns = 0;
        bool is_lower_bound = false, has = false;
    } pools[kPools];
    KindAmount kinds[kKinds];
    uint64_t launches = 0, planned = 0;
    bool is_planned_known = true;
    Chips chips;  // of which there is something to tell

    explicit Sum(size_t device_count) : chips(device_count) {}
};

/// `peaks`: its own.
Sum sum_of(const Process& process, const std::vector<OnChip>& peaks, size_t device_count, Share& share);
nanobind::tuple sum_row(const Process& process, const Sum& sum);

}  // namespace ttmem
