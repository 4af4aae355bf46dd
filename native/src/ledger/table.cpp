#include "ledger/table.hpp"

namespace ttmem {

template <typename Is>
size_t EntryTable::slot_of(EntryKey key, uint32_t hash, Is is_it) const {
    if (slots_.empty()) return kNowhere;
    for (size_t i = hash & mask_; slots_[i] != 0; i = (i + 1) & mask_) {
        if (static_cast<uint32_t>(slots_[i] >> 32) != hash) continue;
        const Words& entry = at(static_cast<uint32_t>(slots_[i]) - 1);
        if (entry_key(entry) == key && is_it(entry.sequence())) return i;
    }
    return kNowhere;
}

template <typename Is>
Words* EntryTable::entry_of(EntryKey key, uint32_t hash, Is is_it) {
    const size_t slot = slot_of(key, hash, is_it);
    return slot == kNowhere ? nullptr : &at(static_cast<uint32_t>(slots_[slot]) - 1);
}

Words* EntryTable::find(EntryKey key, uint32_t hash, uint64_t made_by) {
    return entry_of(key, hash, [made_by](uint64_t sequence) { return sequence == made_by; });
}

Words* EntryTable::find_any(EntryKey key, uint32_t hash) {
    return entry_of(key, hash, [](uint64_t) { return true; });
}

Words* EntryTable::find_half(EntryKey key, uint32_t hash, uint32_t half, uint64_t before) {
    return entry_of(key, hash, [half, before](uint64_t sequence) {
        return static_cast<uint32_t>(sequence) == half && sequence < before;
    });
}

void EntryTable::grow() {
    std::vector<uint64_t> old(slots_.empty() ? 64 : slots_.size() * 2);
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const uint64_t slot : old) {
        if (slot == 0) continue;
        size_t i = static_cast<size_t>(slot >> 32) & mask_;
        while (slots_[i] != 0) i = (i + 1) & mask_;
        slots_[i] = slot;
    }
}

void EntryTable::insert(const Words& words, uint32_t hash) {
    if ((size_ + 1) * 10 > slots_.size() * 7) grow();
    uint32_t entry;
    if (free_head_ != 0) {
        entry = free_head_ - 1;
        free_head_ = static_cast<uint32_t>(at(entry).id);
    } else {
        entry = used_++;
        if (entry / kChunk == chunks_.size()) chunks_.push_back(std::make_unique<Words[]>(kChunk));
    }
    at(entry) = words;
    size_t i = hash & mask_;
    while (slots_[i] != 0) i = (i + 1) & mask_;
    slots_[i] = uint64_t{hash} << 32 | (entry + 1);
    ++size_;
}

void EntryTable::erase(EntryKey key, uint32_t hash, uint64_t made_by) {
    size_t hole = slot_of(key, hash, [made_by](uint64_t sequence) { return sequence == made_by; });
    if (hole == kNowhere) return;
    const uint32_t entry = static_cast<uint32_t>(slots_[hole]) - 1;
    at(entry).id = free_head_;
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

void EntryTable::clear() {
    chunks_.clear();
    slots_.clear();
    mask_ = size_ = 0;
    used_ = free_head_ = 0;
}

}  // namespace ttmem
