// What a process has on each of its chips: the one place where its counters, its book and its circular buffers meet.
#include <algorithm>
#include <cstring>

#include "ledger/chips/activity.hpp"
#include "ledger/chips/peaks.hpp"
#include "ledger/rows/making.hpp"

namespace ttmem {
namespace {

bool is_idle(const Activity& activity) {
    static const Activity kNothing{};
    return std::memcmp(&activity, &kNothing, sizeof activity) == 0;
}

KindRow kind_row(uint32_t kind, const KindAmount& amount) {
    return {static_cast<uint8_t>(kind), never_negative(amount.used), never_negative(amount.count),
            amount.estimated > 0};
}

void add_amounts(HeldRow& row, const Process& process, const Cell& cell, const OnChip& own, std::string_view origin,
                 std::string_view reason) {
    const bool is_counting = process.book.is_counting();
    const uint32_t pools = process.book.used_pools() | process.noted.raised_anywhere, kinds = process.book.used_kinds();
    for (uint32_t left = pools; left != 0; left &= left - 1) {
        const auto p = static_cast<uint8_t>(__builtin_ctz(left));
        const PeakAmount& pool = cell.pools[p];
        const Peak& peak = own.pools[p];
        if (peak.bytes == 0 && pool.count == 0) continue;
        PoolRow& to = row.pools.emplace_back();
        to.pool = p;
        to.used = never_negative(pool.used);
        if (is_counting) to.requested = never_negative(pool.requested);
        to.count = never_negative(pool.count);
        to.peak = never_negative(peak.bytes);
        to.peak_time_ns = unless_zero(peak.time_ns);
        to.is_lower_bound = peak.is_lower_bound;
        to.origin = origin;
        for (size_t i = 0; i != to.totals.size() && !process.targets.empty(); ++i) to.totals[i] = own.totals[p][i];
        const bool is_l1 = p == TTMEM_L1 || p == TTMEM_L1_SMALL;
        if (is_l1 || reason != "undivided") to.reason = reason;
    }
    for (uint32_t left = kinds; left != 0; left &= left - 1) {
        const auto k = static_cast<uint32_t>(__builtin_ctz(left));
        if (cell.kinds[k].count > 0) row.kinds.push_back(kind_row(k, cell.kinds[k]));
    }
}

void add_activity_rows(ActivityRow& row, const Activity& activity) {
    for (uint8_t c = 0; c < kCoreTypes; ++c) {
        const Activity::Ring& ring = activity.rings[c];
        if (is_used(ring))
            row.rings.push_back({c, ring.live, ring.retired, ring.entries, ring.launches, unless_zero(ring.total)});
    }
    for (uint8_t s = 0; s < kStalls; ++s)
        if (activity.stalls[s] != 0) row.stalls.emplace_back(s, activity.stalls[s]);
    for (uint8_t c = 0; c < kCaches; ++c) {
        const Activity::Cache& cache = activity.caches[c];
        const auto& o = cache.outcomes;
        if (is_used(cache))
            row.caches.push_back({c, o[0], o[1], o[2], o[3], o[4], cache.entries, cache.held, cache.shared});
    }
}

FootprintRow footprint_row(const Footprint& found) {
    FootprintRow row{found.planned, found.resident, found.worst_planned, found.worst_resident, found.is_estimated};
    if (found.has_strangers) row.resident = row.worst_resident = std::nullopt;
    return row;
}

// Whether the targets of a process, each of which stands for some chips, say something beside what lies there.
template <typename Visit>
void for_each_acting(const Process& process, Visit visit) {
    const std::vector<TargetBook>& targets = process.book.targets();
    for (uint32_t i = 0; i < process.book.target_count() && i < targets.size(); ++i) {
        const bool is_counted = i < process.targets.size();
        if (!targets[i].is_named || (is_counted && !process.noted.acting[i])) continue;
        visit(targets[i], is_counted ? &process.targets[i] : nullptr);
    }
}

bool has_anything(const HeldRow& row) {
    return !row.pools.empty() || !row.kinds.empty() || (row.launches | row.clashes) != 0 || !row.activity.is_empty();
}

}  // namespace

bool is_used(const Activity::Ring& ring) { return (ring.launches | ring.live | ring.retired | ring.total) != 0; }

bool is_used(const Activity::Cache& cache) {
    const auto& o = cache.outcomes;
    static_assert(kOutcomes == 5);
    return (o[0] | o[1] | o[2] | o[3] | o[4] | cache.entries) != 0;
}

std::map<uint32_t, ChipCounts> counts_on(const Process& process) {
    std::map<uint32_t, ChipCounts> on_device;
    for_each_acting(process, [&](const TargetBook& target, const TargetCounters* counters) {
        const uint64_t launches = counters != nullptr ? counters->launches : target.launches;
        const uint64_t clashes = counters != nullptr ? counters->clashes : target.clashes;
        if ((launches | clashes) == 0) return;
        for (const uint32_t device : target.devices) {
            on_device[device].launches += launches;
            on_device[device].clashes += clashes;
        }
    });
    return on_device;
}

std::map<uint32_t, Activity> activity_on(const Process& process) {
    std::map<uint32_t, Activity> on_device;
    for_each_acting(process, [&](const TargetBook& target, const TargetCounters* counters) {
        if (counters == nullptr && target.activity == nullptr) return;
        const Activity& own = counters != nullptr ? counters->activity : *target.activity;
        if (is_idle(own)) return;
        for (const uint32_t device : target.devices) add_activity(on_device[device], own);
    });
    return on_device;
}

std::vector<HeldRow> holdings_of(const Process& process, const Footprints& footprints, const Timebase& time) {
    std::vector<HeldRow> rows;
    if (process.mode == Mode::damaged) return rows;
    const bool is_journal = process.way != Way::socket;  // a socket does not report programs
    const std::string_view origin = origin_of(process), reason = reason_of(process);
    const std::vector<OnChip> peaks = own_peaks(process, time);
    const auto counts = is_journal ? counts_on(process) : std::map<uint32_t, ChipCounts>();
    const auto activities = is_journal ? activity_on(process) : std::map<uint32_t, Activity>();
    const bool has_kernels = is_journal && process.book.used_kinds() >= 2u << TTMEM_BUFFER;
    auto footprint = footprints.begin();  // in the order of chips, as all of these
    auto count = counts.begin();
    auto activity = activities.begin();
    const OnChip* own = peaks.data();
    rows.reserve(peaks.size());
    for (const auto& [device, cell] : process.book.cells()) {
        HeldRow& row = rows.emplace_back();
        row.chip = device;
        add_amounts(row, process, cell, *own++, origin, reason);
        for (uint32_t c = 0; c < kCoreTypes && has_kernels; ++c)
            if (cell.cores[c].count > 0) row.activity.cores.push_back(kind_row(c, cell.cores[c]));
        while (footprint != footprints.end() && footprint->first < device) ++footprint;
        if (footprint != footprints.end() && footprint->first == device)
            row.activity.footprint = footprint_row(footprint->second);
        while (count != counts.end() && count->first < device) ++count;
        if (count != counts.end() && count->first == device)
            row.launches = count->second.launches, row.clashes = count->second.clashes;
        while (activity != activities.end() && activity->first < device) ++activity;
        if (activity != activities.end() && activity->first == device)
            add_activity_rows(row.activity, activity->second);
        if (!has_anything(row)) rows.pop_back();
    }
    return rows;
}

std::vector<HeldRow> other_holdings_of(const Process& process, const Timebase& time) {
    std::vector<HeldRow> rows;
    const std::vector<OnChip> peaks = own_peaks(process, time);
    const OnChip* own = peaks.data();
    for (const auto& [device, cell] : process.book.cells()) {
        HeldRow& row = rows.emplace_back();
        row.chip = device;
        add_amounts(row, process, cell, *own++, "counted", "");
        if (!has_anything(row)) rows.pop_back();
    }
    return rows;
}

}  // namespace ttmem
