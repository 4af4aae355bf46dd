#include "ledger/places/headroom.hpp"

#include <algorithm>

#include "ledger/places/places.hpp"

namespace ttmem {
namespace {

constexpr size_t kProgramsMost = 16;

std::optional<uint64_t> lower(std::optional<uint64_t> a, std::optional<uint64_t> b) {
    if (!a || !b) return a ? a : b;
    return std::min(*a, *b);
}

std::optional<uint64_t> lowest_of(const Spans& spans) {
    std::optional<uint64_t> lowest;
    for (const Span& span : spans) lowest = lower(lowest, span.first);
    return lowest;
}

}  // namespace

Headroom headroom_of(const Spans& lockstep, const std::map<uint32_t, CoreTaken>& cores) {
    Headroom headroom;
    headroom.lowest = lowest_of(lockstep);
    headroom.core_count = cores.size();
    for (const auto& [number, core] : cores) {
        const std::optional<uint64_t> lowest = lower(headroom.lowest, lowest_of(core.own));
        if (core.planned.empty()) {
            headroom.own = lower(headroom.own, lowest);
            continue;
        }
        headroom.is_known &= core.planned.front().first != 0;  // no circular buffer lies there: it did not say
        const uint64_t end = core.planned.back().second;
        if (!lowest) {
            headroom.cb_end = std::max(headroom.cb_end.value_or(0), end);
            continue;
        }
        const int64_t room = room_between(*lowest, end);
        headroom.least = std::min(headroom.least.value_or(room), room);
    }
    return headroom;
}

void add_programs(Headroom& headroom, uint64_t process, const Laid& laid, const std::vector<uint16_t>& targets,
                  const std::map<uint32_t, CoreTaken>& cores) {
    const auto reaches = [&](const CbSpan& span) {
        const auto set = laid.core_sets.find(span.core_set);
        if (set == laid.core_sets.end()) return false;
        return std::any_of(set->second.begin(), set->second.end(), [&](uint32_t number) {
            const auto core = cores.find(number);
            if (core == cores.end()) return false;
            const std::optional<uint64_t> lowest = lower(headroom.lowest, lowest_of(core->second.own));
            return lowest && span.end > *lowest;
        });
    };
    for (const uint16_t target : targets) {
        const auto found = laid.by_target.find(target);
        if (found == laid.by_target.end()) continue;
        for (const CbSpan& span : found->second) {
            const std::pair<uint64_t, uint64_t> name{process, span.program & 0xffff'ffff'ffffull};
            const auto& known = headroom.programs;
            if (known.size() >= kProgramsMost || std::find(known.begin(), known.end(), name) != known.end()) continue;
            if (reaches(span)) headroom.programs.push_back(name);
        }
    }
}

}  // namespace ttmem
