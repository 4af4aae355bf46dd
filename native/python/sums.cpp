#include "python/sums.hpp"

#include "ledger/activity.hpp"
#include "python/row_parts.hpp"

namespace nb = nanobind;

namespace ttmem {
namespace {

void add_pool(Sum& sum, uint32_t p, const PeakAmount& pool, const Peak& peak) {
    auto& to = sum.pools[p];
    to.has = true;
    add_to(to.used, shown(pool.used));
    add_to(to.requested, shown(pool.requested));
    add_to(to.count, shown(pool.count));
    add_to(to.peak, peak.bytes);
    to.peak_time_ns = std::max(to.peak_time_ns, peak.time_ns);
    to.is_lower_bound |= peak.is_lower_bound;
}

void add_cells(Sum& sum, const Process& process, const std::vector<OnChip>& peaks, std::vector<Held>& held) {
    const OnChip* at = peaks.data();
    const uint32_t pools = process.book.used_pools() | process.noted.raised_anywhere, kinds = process.book.used_kinds();
    const bool has_kernels = kinds >= 2u << TTMEM_BUFFER;
    for (const auto& [device, cell] : process.book.cells()) {
        const OnChip& own = *at++;
        bool is_any = false;
        for (uint32_t left = pools; left != 0; left &= left - 1) {
            const auto p = static_cast<uint32_t>(__builtin_ctz(left));
            const PeakAmount& pool = cell.pools[p];
            if (own.pools[p].bytes == 0 && pool.count == 0) continue;
            add_pool(sum, p, pool, own.pools[p]);
            held[device].has[p] = is_any = true;
            held[device].used[p] = shown(pool.used);
        }
        for (uint32_t left = kinds; left != 0; left &= left - 1) {
            const auto k = static_cast<uint32_t>(__builtin_ctz(left));
            if (cell.kinds[k].count <= 0) continue;
            add_to(sum.kinds[k], shown(cell.kinds[k].used), cell.kinds[k].count, cell.kinds[k].estimated > 0);
            is_any = true;
        }
        for (uint32_t c = 0; c < kCoreTypes && has_kernels; ++c) is_any |= cell.cores[c].count > 0;
        if (is_any) sum.chips[device] = true;
    }
}

void add_footprints(Sum& sum, const Process& process, Share& share) {
    Chips laid(sum.chips.size());
    if ((process.book.used_pools() >> TTMEM_CB & 1) == 0) return;
    if (process.book.is_counting()) share.footprints = footprints_of(process.book);
    for (const auto& [device, found] : share.footprints) {
        laid[device] = sum.chips[device] = true;
        sum.planned += found.planned;
    }
    for (const auto& [device, cell] : process.book.cells())
        if (cell.pools[TTMEM_CB].count > 0 && !laid[device]) sum.is_planned_known = false;
}

bool is_there(const Activity& activity) {
    bool is_any = false;
    for (const Activity::Ring& ring : activity.rings) is_any |= is_used(ring);
    for (const uint64_t stall : activity.stalls) is_any |= stall != 0;
    for (const Activity::Cache& cache : activity.caches) is_any |= is_used(cache);
    return is_any;
}

void add_activity(Sum& sum, const Process& process, Share& share, std::vector<Held>& held) {
    for (const auto& [device, counts] : counts_on(process)) {
        sum.chips[device] = true;
        sum.launches += counts.launches;
        held[device].launches += counts.launches;
    }
    for (const auto& [device, activity] : activity_on(process)) {
        if (!is_there(activity)) continue;
        sum.chips[device] = true;
        share.activity.emplace_back(device, activity);
    }
}

}  // namespace

Sum sum_of(const Process& process, const std::vector<OnChip>& peaks, size_t device_count, Share& share) {
    Sum sum(device_count);
    sum.is_planned_known = process.way != Way::socket;  // it cannot speak of programs
    if (process.mode == Mode::damaged) return sum;
    std::vector<Held> held(device_count);
    add_cells(sum, process, peaks, held);
    if (process.way != Way::socket) {
        add_footprints(sum, process, share);
        add_activity(sum, process, share, held);
    }
    for (uint32_t device = 0; device < device_count; ++device)
        if (sum.chips[device]) share.held.emplace_back(device, held[device]);  // also if it holds nothing there
    return sum;
}

nb::tuple sum_row(const Process& process, const Sum& sum) {
    nb::list pools, kinds, chips;
    for (uint32_t p = 0; p < kPools; ++p) {
        const auto& pool = sum.pools[p];
        if (!pool.has) continue;
        const int64_t requested = process.book.is_counting() ? pool.requested : -1;
        pools.append(
            nb::make_tuple(p, pool.used, requested, pool.count, pool.peak, pool.peak_time_ns, pool.is_lower_bound));
    }
    for (uint32_t k = 0; k < kKinds; ++k)
        if (sum.kinds[k].count > 0)
            kinds.append(nb::make_tuple(k, sum.kinds[k].used, sum.kinds[k].count, sum.kinds[k].estimated > 0));
    for (uint32_t device = 0; device < sum.chips.size(); ++device)
        if (sum.chips[device]) chips.append(device);
    const nb::object planned = sum.is_planned_known ? nb::object(nb::int_(sum.planned)) : nb::none();
    return nb::make_tuple(nb::tuple(chips), pools, kinds, sum.launches, planned);
}

}  // namespace ttmem
