#include "ledger/chips/peaks.hpp"

#include <algorithm>

namespace ttmem {
namespace {

using Targets = std::vector<uint16_t>;

class OwnPeaks {
public:
    OwnPeaks(const Process& process, const Timebase& time) : process_(process), time_(time) {
        const std::vector<TargetBook>& targets = process.book.targets();
        for (uint32_t i = 0; i < process.book.target_count() && i < targets.size(); ++i)
            for (const uint32_t device : targets[i].devices) covering_.emplace_back(device, static_cast<uint16_t>(i));
        if (!std::is_sorted(covering_.begin(), covering_.end())) std::sort(covering_.begin(), covering_.end());
    }

    OnChip on(uint32_t device, const Cell& cell) {
        find_targets(device);
        const bool is_covered_once = named_.size() == 1 && named_[0] < process_.targets.size();
        uint32_t used = process_.book.used_pools();
        for (const uint16_t target : targets_) used |= process_.noted.raised[target];
        OnChip peaks;
        for (uint32_t p = 0; p < kPools; ++p) {
            if ((used >> p & 1) == 0) continue;  // most are never used
            const PeakAmount& followed = cell.pools[p];
            peaks.pools[p] = is_covered_once && is_exact_by(process_.targets[named_[0]], p, followed)
                                 ? counted(process_.targets[named_[0]], p)
                                 : highest(p, followed);
            for (const uint16_t target : targets_)
                for (uint32_t i = 0; i < kPoolTotalWords; ++i)
                    peaks.totals[p][i] += process_.targets[target].pools[p].totals[i];
        }
        return peaks;
    }

private:
    void find_targets(uint32_t device) {
        targets_.clear();
        named_.clear();
        auto at = std::lower_bound(covering_.begin(), covering_.end(), std::pair(device, uint16_t{0}));
        for (; at != covering_.end() && at->first == device; ++at) {
            if (process_.book.targets()[at->second].is_named) named_.push_back(at->second);
            if (at->second < process_.targets.size()) targets_.push_back(at->second);
        }
    }

    // Where one target covers the chip the journal's counter is exact whatever we missed.
    bool is_exact_by(const TargetCounters& target, uint32_t pool, const PeakAmount& followed) const {
        const auto& counter = target.pools[pool];
        return static_cast<int64_t>(counter.peak) >= followed.peak && !is_reset(counter.peak_time);
    }

    Peak counted(const TargetCounters& target, uint32_t pool) const {
        const auto& counter = target.pools[pool];
        return {static_cast<int64_t>(counter.peak), process_.realtime(counter.peak_time, time_), false};
    }

    // Where several do, the peak of their sum is only known from the events we followed.
    Peak highest(uint32_t pool, const PeakAmount& followed) const {
        int64_t bytes = followed.peak;
        uint64_t raw = followed.peak_raw;
        for (const uint16_t target : targets_) {
            if ((process_.noted.raised[target] >> pool & 1) == 0) continue;
            const auto& counter = process_.targets[target].pools[pool];
            if (static_cast<int64_t>(counter.peak) <= bytes || is_reset(counter.peak_time)) continue;
            bytes = static_cast<int64_t>(counter.peak);
            raw = counter.peak_time;
        }
        return {bytes, process_.realtime(raw, time_), process_.is_late};
    }

    bool is_reset(uint64_t raw) const {
        return process_.peaks_since_ns != 0 && process_.realtime(raw, time_) < process_.peaks_since_ns;
    }

    const Process& process_;
    const Timebase& time_;
    std::vector<std::pair<uint32_t, uint16_t>> covering_;  // a chip, and a target that stands for it; in order
    Targets targets_, named_;                              // of the chip at hand
};

}  // namespace

std::vector<OnChip> own_peaks(const Process& process, const Timebase& time) {
    std::vector<OnChip> peaks;
    peaks.reserve(process.book.cells().size());
    OwnPeaks own(process, time);
    for (const auto& [device, cell] : process.book.cells()) peaks.push_back(own.on(device, cell));
    return peaks;
}

OnChip own_peaks_on(const Process& process, const Timebase& time, uint32_t device) {
    const auto cell = process.book.cells().find(device);
    return cell == process.book.cells().end() ? OnChip{} : OwnPeaks(process, time).on(device, cell->second);
}

}  // namespace ttmem
