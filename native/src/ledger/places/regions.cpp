#include "ledger/places/regions.hpp"

#include <algorithm>
#include <functional>

namespace ttmem {
namespace {

uint64_t above(uint64_t high, uint64_t low) { return high > low ? high - low : 0; }

std::optional<uint64_t> capacity_of(const DeviceDescriptor& facts, uint8_t pool) {
    return facts.capacity_bytes[pool] != 0 ? std::optional(facts.capacity_bytes[pool]) : std::nullopt;
}

// The smallest hole that is distinguished if at most that many stretches are.
uint64_t least_hole(const Spans& spans, size_t most) {
    if (spans.size() <= most) return 0;
    std::vector<uint64_t> holes;
    for (size_t i = 1; i < spans.size(); ++i) holes.push_back(spans[i].first - spans[i - 1].second);
    const auto middle = holes.begin() + static_cast<std::ptrdiff_t>(most - 1);
    std::nth_element(holes.begin(), middle, holes.end(), std::greater<>());
    return *middle + 1;  // of equal ones none: there may be any number of them
}

}  // namespace

std::vector<Stretch> stretches_of(const Taken& taken, size_t most) {
    std::vector<Stretch> stretches;
    const uint64_t least = least_hole(taken.spans, std::max<size_t>(most, 1));
    for (size_t i = 0; i < taken.spans.size(); ++i) {
        const auto [begin, end] = taken.spans[i];
        if (i == 0 || begin - stretches.back().end >= least) {
            stretches.push_back({begin, end, taken.counts[i], 0});
            continue;
        }
        Stretch& last = stretches.back();
        last.hole_bytes += begin - last.end;
        last.end = end;
        last.count += taken.counts[i];
    }
    return stretches;
}

std::optional<uint64_t> Bounds::largest_free(const Taken& taken, const Gaps& gaps) const {
    if (taken.unplaced != 0) return std::nullopt;
    if (taken.count == 0) return end - begin;
    const uint64_t free = above(end - begin, gaps.used);
    return std::min(free, std::max({gaps.largest, above(gaps.lowest, begin), above(end, gaps.highest)}));
}

std::optional<uint64_t> Bounds::hole_count(const Taken& taken, const Gaps& gaps) const {
    if (taken.unplaced != 0) return std::nullopt;
    if (taken.count == 0) return end > begin ? 1 : 0;
    return gaps.count + (gaps.lowest > begin ? 1 : 0) + (end > gaps.highest ? 1 : 0);
}

std::optional<uint64_t> Bounds::largest_hole(const Taken& taken, const Gaps& gaps) const {
    if (taken.unplaced != 0) return std::nullopt;
    return taken.count == 0 ? 0 : std::max(gaps.largest, above(end, gaps.highest));
}

std::optional<uint64_t> share_of(const DeviceDescriptor& facts, uint8_t pool) {
    const uint64_t banks = bank_count_of(facts, pool);
    return banks == 0 ? std::nullopt : std::optional(facts.capacity_bytes[pool] / banks);
}

std::optional<Bounds> bounds_of(const DeviceDescriptor& facts, uint8_t pool, const BankSizes* sizes) {
    const std::optional<uint64_t> share = share_of(facts, pool);
    const bool is_lower = pool == TTMEM_DRAM || pool == TTMEM_L1;  // another pool lies above it
    if (sizes == nullptr || !share || (is_lower && !capacity_of(facts, pool))) return std::nullopt;
    const uint64_t bank = pool <= TTMEM_TRACE ? sizes->dram_bytes : sizes->l1_bytes;
    const uint64_t upper = is_lower ? share_of(facts, static_cast<uint8_t>(pool + 1)).value_or(0) : 0;
    const uint64_t end = above(bank, upper);  // an opener may say that more is kept above than there is
    return Bounds{above(end, *share), end};
}

std::optional<uint64_t> core_bytes_of(const DeviceDescriptor& facts) {
    const std::optional<uint64_t> share = share_of(facts, TTMEM_L1);
    if (!share || facts.kernel_ring_bytes == 0 || !capacity_of(facts, TTMEM_L1)) return std::nullopt;
    return facts.kernel_ring_bytes + *share + share_of(facts, TTMEM_L1_SMALL).value_or(0);
}

std::optional<int64_t> headroom_of(const Headroom& headroom, const std::optional<Bounds>& l1,
                                   const DeviceDescriptor& facts) {
    if (!l1)  // then only cores that have both are known; others have more, unless these have their own
        return headroom.cb_end || headroom.own ? std::nullopt : headroom.least;
    std::optional<int64_t> least = headroom.least;
    const auto take = [&](int64_t room) { least = std::min(least.value_or(room), room); };
    if (headroom.cb_end) take(room_between(l1->end, *headroom.cb_end));
    if (headroom.own) take(room_between(*headroom.own, l1->begin));
    if (headroom.core_count < facts.l1_banks) take(room_between(headroom.lowest.value_or(l1->end), l1->begin));
    return least;
}

}  // namespace ttmem
