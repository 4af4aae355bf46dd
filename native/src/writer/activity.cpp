// What goes on besides memory changing hands: the kernel ring after each launch, the answers of caches, and clashes.
#include "writer/operations.hpp"

namespace ttmem {
namespace {

constexpr uint64_t kLow48 = (1ull << 48) - 1;

void publish_activity(Type type, uint16_t target, const uint64_t (&values)[4], uint64_t words_of_its_own) noexcept {
    const Writer& writer = the_writer;
    const uint64_t sequence = take_sequence(writer);
    Words words;
    words.time = raw_now(writer.clock);
    words.tag = tag_of(type, 0, 0, 0, 0);
    words.id = values[0];
    words.address = values[1];
    words.reserved = pack48(values[2], target);
    words.requested = pack48(values[3], thread_number());
    words.per_bank = words_of_its_own;
    publish(writer, sequence, words);
}

void count(Word& counter) noexcept { counter.fetch_add(1, std::memory_order_relaxed); }
void keep(Word& gauge, uint64_t value) noexcept { gauge.store(value, std::memory_order_relaxed); }

void publish_ring(const RingState& ring) noexcept {
    publish_activity(Type::ring_moved, static_cast<uint16_t>(ring.move.target()),
                     {ring.live, ring.retired, ring.total, ring.entries}, ring.move.word & kLow48);
}

}  // namespace

void note_ring(const RingState& ring) noexcept {
    keep_ring(ring.live, ring.retired, ring.total, ring.entries, ring.move);
    publish_ring(ring);
}

void tell_ring(const LaunchedRing& ring) noexcept {
    if (ring.is_there())
        publish_ring({ring.live(), ring.retired(), ring.total, static_cast<uint32_t>(ring.entries()), ring.move()});
}

void note_cache(const ttmem_cache_answer& answer) noexcept {
    CacheCounters& cache = the_writer.targets[answer.target].caches[answer.cache];
    count(cache.outcomes[answer.outcome]);
    keep(cache.entries, answer.entry_count);
    keep(cache.held, answer.held_bytes);
    keep(cache.shared, answer.shared_bytes);
    publish_activity(Type::cache_answered, answer.target,
                     {answer.size_bytes, answer.held_bytes, answer.shared_bytes & kLow48, answer.entry_count},
                     uint64_t{answer.cache} | uint64_t{answer.outcome} << 8);
}

void note_clash(const ttmem_cb_clash& clash) noexcept {
    count(the_writer.targets[clash.target].clashes);
    publish_activity(Type::clashed, clash.target, {clash.program, clash.cb_end_address, clash.buffer_address, 0}, 0);
}

void end_activity(Target& target) noexcept {
    for (RingCounters& ring : target.rings)
        for (Word* gauge : {&ring.live, &ring.retired, &ring.entries}) keep(*gauge, 0);
    for (CacheCounters& cache : target.caches)
        for (Word* gauge : {&cache.entries, &cache.held, &cache.shared}) keep(*gauge, 0);
}

}  // namespace ttmem
