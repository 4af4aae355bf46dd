#include "python/testing/peaks.hpp"

#include <algorithm>

namespace ttmem {

AllPeaks all_peaks(const Processes& processes, const Timebase& time) {
    AllPeaks peaks;
    for (const auto& process : processes)
        peaks.push_back(std::make_shared<const std::vector<OnChip>>(own_peaks(*process, time)));
    return peaks;
}

std::vector<History> histories_of(const Devices& devices, const Processes& processes, const AllPeaks& peaks) {
    std::vector<History> histories;
    std::vector<uint64_t> earliest;
    std::vector<bool> has_late(devices.all().size());
    for (const Device& device : devices.all()) {
        History history{{}, device.since_ns, {}};
        for (uint32_t p = 0; p < kPools; ++p) {
            const PeakAmount& sums = device.cell.pools[p];
            history.peaks[p] = {sums.peak, sums.peak_time_ns, device.is_lower_bound};
            history.is_request_known[p] = true;
        }
        histories.push_back(history);
        earliest.push_back(device.since_ns);
    }
    for (size_t i = 0; i < processes.size(); ++i) {
        const auto& process = processes[i];
        if (process->is_over() || !process->is_verified) continue;
        const bool is_shown = is_live(*process);
        const OnChip* at = peaks[i]->data();
        const uint32_t pools = process->book.used_pools() | process->noted.raised_anywhere;
        for (const auto& [number, cell] : process->book.cells()) {
            History& history = histories[number];
            const OnChip& own = *at++;
            for (uint32_t p = 0; p < kPools && !process->book.is_counting(); ++p)
                if (cell.pools[p].count > 0) history.is_request_known[p] = false;
            if (!is_shown) continue;
            for (uint32_t p = 0; p < kPools; ++p)
                if ((pools >> p & 1) != 0 && own.pools[p].bytes > history.peaks[p].bytes)
                    history.peaks[p] = {own.pools[p].bytes, own.pools[p].time_ns, history.peaks[p].is_lower_bound};
            if (process->peaks_since_ns != 0) continue;
            has_late[number] = has_late[number] || process->is_late;
            earliest[number] = std::min(earliest[number], process->started_ns);
        }
    }
    for (size_t number = 0; number < histories.size(); ++number) {
        if (has_late[number])
            for (Peak& peak : histories[number].peaks) peak.is_lower_bound = true;
        else if (earliest[number] != 0)
            histories[number].since_ns = earliest[number];
    }
    return histories;
}

}  // namespace ttmem
