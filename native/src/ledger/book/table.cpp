#include "ledger/book/table.hpp"

#include <algorithm>

namespace ttmem {
namespace {

bool is_counted(const RecordCopy& words) { return !is_bookkeeping(words) && !words.is_further(); }

}  // namespace

template <typename Is>
size_t EntryTable::slot_where(EntryKey key, uint32_t hash, Is is_it) const {
    if (slots_.empty()) return kNowhere;
    for (size_t i = hash & mask_; slots_[i] != 0; i = (i + 1) & mask_) {
        if (static_cast<uint32_t>(slots_[i] >> 32) != hash) continue;
        const RecordCopy& entry = at(static_cast<uint32_t>(slots_[i]) - 1);
        if (entry_key(entry) == key && is_it(entry)) return i;
    }
    return kNowhere;
}

size_t EntryTable::slot_of(EntryKey key, uint32_t hash, uint64_t made_by) const {
    return slot_where(key, hash, [made_by](const RecordCopy& life) { return life.sequence() == made_by; });
}

size_t EntryTable::slot_of_any(EntryKey key, uint32_t hash) const {
    return slot_where(key, hash, [](const RecordCopy& life) { return !life.is_further(); });
}

size_t EntryTable::slot_replaced_by(const RecordCopy& replacement, uint32_t hash) const {
    uint64_t newest = 0;
    slot_where(entry_key(replacement), hash, [&](const RecordCopy& life) {
        if (!life.is_further() && replacement.is_replacement_of(life.sequence()) && life.sequence() > newest)
            newest = life.sequence();
        return false;  // look at them all
    });
    return newest == 0 ? kNowhere : slot_of(entry_key(replacement), hash, newest);
}

uint32_t EntryTable::take_entry() {
    if (free_head_ != 0) {
        const uint32_t entry = free_head_ - 1;
        free_head_ = static_cast<uint32_t>(at(entry).id);
        return entry;
    }
    if (used_ < kSmallEntries) {
        if (used_ / kChunk >= small_.size()) small_.push_back(make_block<RecordCopy>(kChunk));
    } else if ((used_ - kSmallEntries) / kLargeChunk >= large_.size()) {
        large_.push_back(make_block<RecordCopy>(kLargeChunk));
    }
    return used_++;
}

void EntryTable::grow() {
    std::vector<uint64_t, BlockAllocator<uint64_t>> old(slots_.empty() ? 64 : slots_.size() * 2);
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const uint64_t slot : old) {
        if (slot == 0) continue;
        size_t i = static_cast<size_t>(slot >> 32) & mask_;
        while (slots_[i] != 0) i = (i + 1) & mask_;
        slots_[i] = slot;
    }
}

void EntryTable::insert(const RecordCopy& words, uint32_t hash) {
    if ((size_ + 1) * 10 > slots_.size() * 7) grow();
    ++changes_;
    const uint32_t entry = take_entry();
    at(entry) = words;
    size_t i = hash & mask_;
    while (slots_[i] != 0) i = (i + 1) & mask_;
    slots_[i] = uint64_t{hash} << 32 | (entry + 1);
    ++size_;
    uncounted_ += is_counted(words) ? 0 : 1;
}

void EntryTable::erase_at(size_t hole) {
    if (hole == kNowhere) return;
    ++changes_;
    const uint32_t entry = static_cast<uint32_t>(slots_[hole]) - 1;
    uncounted_ -= is_counted(at(entry)) ? 0 : 1;
    at(entry).id = free_head_;
    at(entry).commit = kFree;
    free_head_ = entry + 1;
    --size_;
    // Whatever stands behind the hole and does not belong behind it moves up.
    for (size_t i = (hole + 1) & mask_; slots_[i] != 0; i = (i + 1) & mask_) {
        const size_t home = static_cast<size_t>(slots_[i] >> 32) & mask_;
        if (((i - home) & mask_) < ((i - hole) & mask_)) continue;
        slots_[hole] = slots_[i];
        hole = i;
    }
    slots_[hole] = 0;
}

void EntryTable::start_over(size_t count) {
    ++changes_;
    size_ = uncounted_ = 0;
    used_ = free_head_ = 0;
    size_t slots = std::max<size_t>(slots_.size(), 64);
    while ((count + 1) * 10 > slots * 7) slots *= 2;
    slots_.assign(slots, 0);
    mask_ = slots - 1;
}

void EntryTable::clear() {
    ++changes_;
    small_.clear();
    large_.clear();
    slots_.clear();
    mask_ = size_ = uncounted_ = 0;
    used_ = free_head_ = 0;
}

}  // namespace ttmem
