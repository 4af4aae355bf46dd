#include "ledger/activity.hpp"

#include <algorithm>

namespace ttmem {

bool has_ring(const Words& event) { return event.type() == Type::launched && (event.flags() & kWithRing) != 0; }

Words ring_of_launch(const Words& launch) {
    Words ring = launch;
    ring.tag = tag_of(Type::ring_moved, 0, 0, 0, 0);
    ring.id = launch.address >> 32;
    ring.address = launch.address & 0xffff'ffff;
    ring.requested = pack48(launch.low48(launch.per_bank) >> 24, launch.thread());
    return ring;
}

bool apply_activity(Activity& activity, const Words& event) {
    const uint64_t first = event.per_bank & 0xff, second = event.per_bank >> 8 & 0xff;
    const uint64_t entries = event.requested_bytes();
    if (event.type() == Type::ring_moved) {
        if (first >= kCoreTypes || second >= kStalls) return false;
        Activity::Ring& ring = activity.rings[first];
        const bool is_launch = (event.per_bank >> 16 & 1) == 0;
        const uint64_t total = event.low48(event.reserved);
        ring = {event.id, event.address, entries, ring.launches + is_launch, total != 0 ? total : ring.total};
        if (second != TTMEM_STALL_NONE) ++activity.stalls[second];
        return true;
    }
    if (first >= kCaches || second >= kOutcomes) return false;
    Activity::Cache& cache = activity.caches[first];
    ++cache.outcomes[second];
    cache.entries = entries;
    cache.held = event.address;
    cache.shared = event.low48(event.reserved);
    return true;
}

void add_activity(Activity& sum, const Activity& own) {
    for (uint32_t c = 0; c < kCoreTypes; ++c) {
        sum.rings[c].live += own.rings[c].live;
        sum.rings[c].retired += own.rings[c].retired;
        sum.rings[c].entries += own.rings[c].entries;
        sum.rings[c].launches += own.rings[c].launches;
        sum.rings[c].total = std::max(sum.rings[c].total, own.rings[c].total);
    }
    for (uint32_t s = 0; s < kStalls; ++s) sum.stalls[s] += own.stalls[s];
    for (uint32_t c = 0; c < kCaches; ++c) {
        for (uint32_t o = 0; o < kOutcomes; ++o) sum.caches[c].outcomes[o] += own.caches[c].outcomes[o];
        sum.caches[c].entries += own.caches[c].entries;
        sum.caches[c].held += own.caches[c].held;
        sum.caches[c].shared += own.caches[c].shared;
    }
}

void end_activity(Activity& activity) {
    for (Activity::Ring& ring : activity.rings) ring = {0, 0, 0, ring.launches, ring.total};
    for (Activity::Cache& cache : activity.caches) cache.entries = cache.held = cache.shared = 0;
}

}  // namespace ttmem
