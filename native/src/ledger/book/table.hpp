// What one process has alive: entries of 64 bytes, found by (target, kind, id).
//
// The sequence that made an entry names its life. Threads that race for one id may give it two lives for a moment, and
// callers that free by handle only may even keep two; the table holds what the journal holds.
//
// Entries lie in chunks that never move, so growing copies nothing; the index over them is open addressing with
// 8-byte slots (hash32 | entry + 1) and backward-shift deletion, so it never fills with tombstones. Memory per live entry:
// 64 bytes and 11 to 23 of index.
#pragma once

#include <cstdint>
#include <vector>

#include "journal/layout.hpp"
#include "ledger/places/blocks.hpp"

namespace ttmem {

struct EntryKey {
    uint64_t id;
    uint16_t target;
    uint8_t kind;
    bool operator==(const EntryKey&) const = default;
};

inline EntryKey entry_key(const RecordCopy& words) { return {words.id, words.target(), words.kind()}; }

inline uint32_t entry_hash(EntryKey key) {
    uint64_t hash = key.id ^ ((uint64_t{key.target} << 8 | key.kind) * 0x9e37'79b9'7f4a'7c15ull);
    hash = (hash ^ hash >> 32) * 0xd6e8'feb8'6659'fd93ull;
    return static_cast<uint32_t>(hash ^ hash >> 32);
}

class EntryTable {
public:
    size_t size() const { return size_; }
    /// How many of them are allocations: programs without memory of their own, and further parts of a buffer, are not.
    size_t allocation_count() const { return size_ - uncounted_; }
    /// How often something came or went: anyone who has worked something out from all entries sees whether it still holds.
    uint64_t changes() const { return changes_; }
    /// A life by its key and the sequence that made it.
    RecordCopy* find(EntryKey key, uint32_t hash, uint64_t made_by) { return at_slot(slot_of(key, hash, made_by)); }
    /// Where it stands in the index, for finding and erasing with one search.
    size_t slot_of(EntryKey key, uint32_t hash, uint64_t made_by) const;
    RecordCopy* at_slot(size_t slot) {
        return slot == kNowhere ? nullptr : &at(static_cast<uint32_t>(slots_[slot]) - 1);
    }
    void erase_at(size_t slot);
    /// Some life of a key, but for further parts of a buffer.
    RecordCopy* find_any(EntryKey key, uint32_t hash) { return at_slot(slot_of_any(key, hash)); }
    size_t slot_of_any(EntryKey key, uint32_t hash) const;
    const RecordCopy* find(EntryKey key) const { return const_cast<EntryTable*>(this)->find_any(key, entry_hash(key)); }
    /// The life of its key that a replacement has ended: the newest that fits its hint.
    size_t slot_replaced_by(const RecordCopy& replacement, uint32_t hash) const;
    /// The life must not be there yet.
    void insert(const RecordCopy& words, uint32_t hash);
    void erase(EntryKey key, uint32_t hash, uint64_t made_by) { erase_at(slot_of(key, hash, made_by)); }
    void clear();
    /// Empties it and keeps its memory: about so many come now.
    void start_over(size_t count);

    /// Brings the lines that a coming find will need into the cache: first the slot, then the entry.
    void prefetch_slot(uint32_t hash) const {
        if (!slots_.empty()) __builtin_prefetch(&slots_[hash & mask_]);
    }
    void prefetch_entry(uint32_t hash) const {
        if (slots_.empty()) return;
        for (size_t i = hash & mask_; slots_[i] != 0; i = (i + 1) & mask_) {
            if (static_cast<uint32_t>(slots_[i] >> 32) != hash) continue;
            const RecordCopy* entry = &at(static_cast<uint32_t>(slots_[i]) - 1);
#if defined(__x86_64__)
            asm volatile("prefetcht0 %0" : : "m"(*entry));  // g++ 12 drops a function whose only effect is the builtin
#else
            __builtin_prefetch(entry);
#endif
            return;
        }
    }

    /// Everything alive, in no order: along the entries where most of them live, along the index where few do.
    template <typename Visit>
    void for_each(Visit visit) const {
        if (size_ >= used_ / 4) {
            for (uint32_t entry = 0; entry < used_; ++entry)
                if (at(entry).commit != kFree) visit(at(entry));
        } else {
            for (const uint64_t slot : slots_)
                if (slot != 0) visit(at(static_cast<uint32_t>(slot) - 1));
        }
    }

    void copy_to(std::vector<RecordCopy>& entries) const {
        entries.reserve(entries.size() + size_);
        for_each([&](const RecordCopy& entry) { entries.push_back(entry); });
    }

private:
    // A small process takes little: chunks of 256 KiB; a large one has 2 MiB chunks, which may become huge pages.
    static constexpr uint32_t kChunk = 4096, kLargeChunk = 32'768, kSmallEntries = kLargeChunk;
    static constexpr size_t kNowhere = ~size_t{0};
    static constexpr uint64_t kFree = busy(0);  // the commit of an entry that is none

    RecordCopy& at(uint32_t entry) { return const_cast<RecordCopy&>(static_cast<const EntryTable*>(this)->at(entry)); }
    const RecordCopy& at(uint32_t entry) const {
        if (entry < kSmallEntries) return small_[entry / kChunk].get()[entry % kChunk];
        entry -= kSmallEntries;
        return large_[entry / kLargeChunk].get()[entry % kLargeChunk];
    }
    template <typename Is>
    size_t slot_where(EntryKey key, uint32_t hash, Is is_it) const;
    uint32_t take_entry();
    void grow();

    std::vector<Block<RecordCopy>> small_, large_;
    std::vector<uint64_t, BlockAllocator<uint64_t>> slots_;
    size_t mask_ = 0;
    size_t size_ = 0, uncounted_ = 0;
    uint64_t changes_ = 0;
    uint32_t used_ = 0;       // entries ever taken from the chunks
    uint32_t free_head_ = 0;  // entry + 1 of the last freed; a free entry keeps the next one in `id`
};

}  // namespace ttmem
