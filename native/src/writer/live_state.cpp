#include "writer/live_state.hpp"

#include "writer/steps.hpp"

#if defined(__SANITIZE_THREAD__)
#define TTMEM_WATCHED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TTMEM_WATCHED 1
#endif
#endif
#if defined(__SSE2__) && !defined(TTMEM_WATCHED)  // a sanitizer of threads knows no vectors of atomics
#include <emmintrin.h>
#define TTMEM_SSE2 1
#endif

namespace ttmem {
namespace {

constexpr uint32_t kEntryMask = (1u << 21) - 1;

uint32_t tag_in(uint64_t hash) noexcept { return static_cast<uint32_t>(hash >> 32) & ~kEntryMask; }

AtomicU32* bucket_of(const Writer& writer, uint32_t level, uint64_t hash) noexcept {
    const uint32_t mask = writer.index_buckets[level] - 1;
    return writer.index[level] + (static_cast<uint32_t>(hash) & mask) * kBucketSlots;
}

bool is_in_use(const Writer& writer, uint32_t level) noexcept {
    return level == 0 ||
           (writer.index_buckets[level] != 0 && writer.header->index_live[level].load(std::memory_order_acquire) != 0);
}

// One bit per slot of a bucket: those that bear the tag, and those that are empty.
struct Masks {
    uint32_t tagged = 0;
    uint32_t empty = 0;
};

#ifdef TTMEM_SSE2
// Sixteen slots in four loads. Every 4-byte lane of an aligned load is a whole word here, and x86 loads acquire.
uint32_t equal_lanes(__m128i a, __m128i b, __m128i c, __m128i d, __m128i wanted) noexcept {
    const __m128i low = _mm_packs_epi32(_mm_cmpeq_epi32(a, wanted), _mm_cmpeq_epi32(b, wanted));
    const __m128i high = _mm_packs_epi32(_mm_cmpeq_epi32(c, wanted), _mm_cmpeq_epi32(d, wanted));
    return static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(low, high)));
}

Masks look_at(const AtomicU32* bucket, uint32_t tag) noexcept {
    const auto* at = reinterpret_cast<const __m128i*>(bucket);
    const __m128i a = _mm_load_si128(at), b = _mm_load_si128(at + 1), c = _mm_load_si128(at + 2),
                  d = _mm_load_si128(at + 3);
    const __m128i tags = _mm_set1_epi32(static_cast<int>(~kEntryMask));
    const uint32_t empty = equal_lanes(a, b, c, d, _mm_setzero_si128());
    const uint32_t tagged = equal_lanes(_mm_and_si128(a, tags), _mm_and_si128(b, tags), _mm_and_si128(c, tags),
                                        _mm_and_si128(d, tags), _mm_set1_epi32(static_cast<int>(tag)));
    return {tagged & ~empty, empty};
}
#else
Masks look_at(const AtomicU32* bucket, uint32_t tag) noexcept {
    Masks masks;
    for (uint32_t i = 0; i < kBucketSlots; ++i) {
        const uint32_t word = bucket[i].load(std::memory_order_acquire);
        masks.empty |= static_cast<uint32_t>(word == 0) << i;
        masks.tagged |= static_cast<uint32_t>(word != 0 && (word & ~kEntryMask) == tag) << i;
    }
    return masks;
}
#endif

bool is_entry_of(const Record& entry, Key key, uint64_t& made_by) noexcept {
    const uint64_t commit = entry.commit.load(std::memory_order_acquire);
    if (!is_committed(commit) || entry.id.load(std::memory_order_acquire) != key.id) return false;
    const uint8_t kind = kind_of(entry);
    const uint16_t target = target_of(entry);
    made_by = sequence_of(commit);
    return kind == key.kind && target == key.target;
}

bool find_in(const Writer& writer, AtomicU32* bucket, Masks masks, Key key, uint32_t besides, Found& found) noexcept {
    for (uint32_t left = masks.tagged; left != 0; left &= left - 1) {
        const auto i = static_cast<uint32_t>(__builtin_ctz(left));
        const uint32_t word = bucket[i].load(std::memory_order_acquire);
        const uint32_t entry = (word & kEntryMask) - 1;
        TTMEM_TEST_YIELD(index_slot_read);
        if (entry == besides || entry >= writer.table || !is_entry_of(writer.slab[entry], key, found.made_by)) continue;
        // The entry may have begun another life for the same key since the slot was read. It then stands elsewhere, or
        // nowhere yet; if the slot still names it, the slot is that life's own.
        if (bucket[i].load(std::memory_order_acquire) != word) continue;
        found.entry = entry;
        found.slot = bucket + i;
        return true;
    }
    return false;
}

// A level above the first is counted before it is used: anyone who reads 0 there may pass it over.
bool insert_in(const Writer& writer, uint32_t level, uint64_t hash, uint32_t word, uint32_t empty) noexcept {
    AtomicU32* bucket = bucket_of(writer, level, hash);
    if (level > 0) writer.header->index_live[level].fetch_add(1, std::memory_order_seq_cst);
    for (; empty != 0; empty = look_at(bucket, 0).empty) {
        uint32_t expected = 0;
        AtomicU32& slot = bucket[__builtin_ctz(empty)];
        TTMEM_TEST_YIELD(index_slot_chosen);
        if (__builtin_expect(slot.compare_exchange_strong(expected, word, std::memory_order_seq_cst), 1)) return true;
    }
    if (level > 0) writer.header->index_live[level].fetch_sub(1, std::memory_order_acq_rel);
    return false;
}

}  // namespace

uint64_t hash_of(Key key) noexcept {
    uint64_t hash = key.id ^ ((uint64_t{key.target} << 8 | key.kind) * 0x9e37'79b9'7f4a'7c15ull);
    hash = (hash ^ hash >> 32) * 0xd6e8'feb8'6659'fd93ull;
    hash = (hash ^ hash >> 32) * 0xd6e8'feb8'6659'fd93ull;
    return hash ^ hash >> 32;
}

uint32_t take_entry(const Writer& writer) noexcept {
    Header& header = *writer.header;
    uint64_t head = header.free_head.load(std::memory_order_acquire);
    while (static_cast<uint32_t>(head) != 0) {
        const uint32_t entry = static_cast<uint32_t>(head) - 1;
        // A free entry keeps the link to the next one in its time word. If a process takes it first, the tag differs.
        const uint64_t next = writer.slab[entry].time.load(std::memory_order_acquire) & 0xffff'ffff;
        const uint64_t replacement = ((head >> 32) + 1) << 32 | next;
        TTMEM_TEST_YIELD(free_head_seen);
        if (header.free_head.compare_exchange_weak(head, replacement, std::memory_order_acq_rel,
                                                   std::memory_order_acquire))
            return entry;
    }
    uint64_t high = header.slab_high.load(std::memory_order_acquire);
    while (high < writer.table)
        if (header.slab_high.compare_exchange_weak(high, high + 1, std::memory_order_acq_rel))
            return static_cast<uint32_t>(high);
    return kNoEntry;
}

void give_entry(const Writer& writer, uint32_t entry) noexcept {
    Header& header = *writer.header;
    uint64_t head = header.free_head.load(std::memory_order_relaxed);
    do {
        writer.slab[entry].time.store(head & 0xffff'ffff, std::memory_order_release);
        TTMEM_TEST_YIELD(free_link_written);
    } while (!header.free_head.compare_exchange_weak(head, ((head >> 32) + 1) << 32 | (entry + 1u),
                                                     std::memory_order_acq_rel, std::memory_order_relaxed));
}

void commit_entry(const Writer& writer, uint32_t entry, uint64_t sequence, const RecordCopy& words) noexcept {
    Record& record = writer.slab[entry];
    record.commit.store(busy(sequence), std::memory_order_relaxed);
    record.time.store(words.time, std::memory_order_release);
    record.tag.store(words.tag, std::memory_order_release);
    record.id.store(words.id, std::memory_order_release);
    record.address.store(words.address, std::memory_order_release);
    TTMEM_TEST_YIELD(entry_half_written);
    record.reserved.store(words.reserved, std::memory_order_release);
    record.requested.store(words.requested, std::memory_order_release);
    record.per_bank.store(words.per_bank, std::memory_order_release);
    record.commit.store(committed(sequence), std::memory_order_release);
}

bool end_life(const Writer& writer, uint32_t entry, uint64_t made_by, RecordCopy& words) noexcept {
    Record& record = writer.slab[entry];
    uint64_t expected = committed(made_by);
    if (!record.commit.compare_exchange_strong(expected, busy(made_by), std::memory_order_acq_rel)) return false;
    TTMEM_TEST_YIELD(life_ended);
    words.commit = committed(made_by);
    copy_words(record, words);
    return true;
}

Found find_other(const Writer& writer, Key key, uint64_t hash, uint32_t own) noexcept {
    Found found;
    for (uint32_t level = 0; level < kIndexLevels; ++level) {
        if (!is_in_use(writer, level)) continue;
        AtomicU32* bucket = bucket_of(writer, level, hash);
        const Masks masks = look_at(bucket, tag_in(hash));
        if (found.empty == 0) found.room = level, found.empty = masks.empty;
        found.level = level;
        if (__builtin_expect(masks.tagged != 0, 0) && find_in(writer, bucket, masks, key, own, found)) return found;
    }
    found.entry = kNoEntry;
    return found;
}

void fetch_window(const Writer& writer, uint64_t hash) noexcept {
    for (uint32_t level = 0; level < kIndexLevels; ++level)
        if (is_in_use(writer, level)) __builtin_prefetch(bucket_of(writer, level, hash), 1);
}

bool may_have_twin(const Writer& writer, uint64_t hash, const Found& looked) noexcept {
    const bool is_low = looked.empty != 0 && looked.room == 0 && !is_in_use(writer, 1) && !is_in_use(writer, 2);
    if (__builtin_expect(!is_low, 0)) return true;
    const uint32_t tagged = look_at(bucket_of(writer, 0, hash), tag_in(hash)).tagged;
    return (tagged & (tagged - 1)) != 0;  // one is our own
}

uint64_t life_at(const Writer& writer, Key key, uint32_t entry) noexcept {
    uint64_t made_by = 0;
    return entry < writer.table && is_entry_of(writer.slab[entry], key, made_by) ? made_by : 0;
}

Found find(const Writer& writer, Key key, uint64_t hash) noexcept { return find_other(writer, key, hash, kNoEntry); }

bool insert(const Writer& writer, uint64_t hash, uint32_t entry, const Found& looked) noexcept {
    const uint32_t word = tag_in(hash) | (entry + 1u);
    if (looked.empty != 0 && __builtin_expect(insert_in(writer, looked.room, hash, word, looked.empty), 1)) return true;
    for (uint32_t level = 0; level < kIndexLevels; ++level) {
        if (writer.index_buckets[level] == 0) continue;
        const uint32_t empty = look_at(bucket_of(writer, level, hash), 0).empty;
        if (empty != 0 && insert_in(writer, level, hash, word, empty)) return true;
    }
    return false;
}

// A taken slot belongs to its entry, and an ended entry to the one caller who ended it: a plain store will do.
void erase(const Writer& writer, const Found& found) noexcept {
    found.slot->store(0, std::memory_order_release);
    if (found.level > 0) writer.header->index_live[found.level].fetch_sub(1, std::memory_order_acq_rel);
}

void erase(const Writer& writer, uint64_t hash, uint32_t entry) noexcept {
    const uint32_t word = tag_in(hash) | (entry + 1u);
    for (uint32_t level = 0; level < kIndexLevels; ++level) {
        if (!is_in_use(writer, level)) continue;
        AtomicU32* bucket = bucket_of(writer, level, hash);
        for (uint32_t i = 0; i < kBucketSlots; ++i)
            if (bucket[i].load(std::memory_order_acquire) == word) {
                Found found;
                found.slot = bucket + i;
                found.level = level;
                return erase(writer, found);
            }
    }
}

}  // namespace ttmem
