#include "ledger/chips/activity.hpp"

#include <algorithm>

namespace ttmem {

RecordCopy ring_of_launch(const RecordCopy& launch) {
    RecordCopy ring = RingMovedRecord::of(LaunchedRecord::unpack(launch).ring).pack();
    ring.commit = launch.commit;
    ring.time = launch.time;
    ring.set_thread(launch.thread());
    return ring;
}

namespace {

bool apply_ring(Activity& activity, const RingMovedRecord& told) {
    const uint64_t core_type = told.move.core_type(), stall = told.move.stall();
    if (core_type >= kCoreTypes || stall >= kStalls) return false;
    Activity::Ring& ring = activity.rings[core_type];
    const uint64_t launches = ring.launches + (told.move.is_aside() ? 0 : 1);
    ring = {told.live, told.retired, told.entries, launches, told.total != 0 ? told.total : ring.total};
    if (stall != TTMEM_STALL_NONE) ++activity.stalls[stall];
    return true;
}

bool apply_cache(Activity& activity, const CacheAnsweredRecord& told) {
    if (told.cache >= kCaches || told.outcome >= kOutcomes) return false;
    Activity::Cache& cache = activity.caches[told.cache];
    ++cache.outcomes[told.outcome];
    cache.entries = told.entries;
    cache.held = told.held;
    cache.shared = told.shared;
    return true;
}

}  // namespace

bool apply_activity(Activity& activity, const RecordCopy& event) {
    return event.type() == Type::ring_moved ? apply_ring(activity, RingMovedRecord::unpack(event))
                                            : apply_cache(activity, CacheAnsweredRecord::unpack(event));
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
