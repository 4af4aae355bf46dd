// What goes on besides memory changing hands: the kernel ring after each launch, the answers of caches, and clashes.
#include "writer/operations.hpp"

namespace ttmem {
namespace {

void count(AtomicU64& counter) noexcept { counter.fetch_add(1, std::memory_order_relaxed); }
void keep(AtomicU64& gauge, uint64_t value) noexcept { gauge.store(value, std::memory_order_relaxed); }

}  // namespace

void note_ring(const RingMovedRecord& ring) noexcept {
    keep_ring(ring.live, ring.retired, ring.total, ring.entries, ring.move);
    publish_now(ring.pack());
}

void report_ring_change(const LaunchedRing& ring) noexcept {
    if (ring.is_there()) publish_now(RingMovedRecord::of(ring).pack());
}

void note_cache(const ttmem_cache_answer& answer) noexcept {
    CacheCounters& cache = the_writer.targets[answer.target].caches[answer.cache];
    count(cache.outcomes[answer.outcome]);
    keep(cache.entries, answer.entry_count);
    keep(cache.held, answer.held_bytes);
    keep(cache.shared, answer.shared_bytes);
    publish_now(CacheAnsweredRecord{answer.target, answer.cache, answer.outcome, answer.size_bytes, answer.held_bytes,
                                    answer.shared_bytes, answer.entry_count}
                    .pack());
}

void note_clash(const ttmem_cb_clash& clash) noexcept {
    count(the_writer.targets[clash.target].clashes);
    publish_now(ClashedRecord{clash.target, clash.program, clash.cb_end_address, clash.buffer_address}.pack());
}

void end_activity(Target& target) noexcept {
    for (RingCounters& ring : target.rings)
        for (AtomicU64* gauge : {&ring.live, &ring.retired, &ring.entries}) keep(*gauge, 0);
    for (CacheCounters& cache : target.caches)
        for (AtomicU64* gauge : {&cache.entries, &cache.held, &cache.shared}) keep(*gauge, 0);
}

}  // namespace ttmem
