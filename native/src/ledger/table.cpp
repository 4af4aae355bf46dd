#include "ledger/table.hpp"

namespace ttmem {

size_t EntryTable::slot_of(EntryKey key, uint32_t hash) const {
    if (slots_.empty()) return kNowhere;
    for (size_t i = hash & mask_; slots_[i] != 0; i = (i + 1) & mask_) {
        if (static_cast<uint32_t>(slots_[i] >> 32) != hash) continue;
        if (entry_key(at(static_cast<uint32_t>(slots_[i]) - 1)) == key) return i;
    }
    return kNowhere;
}

Words* EntryTable::find(EntryKey key, uint32_t hash) {
    const size_t slot = slot_of(key, hash);
    return slot == kNowhere ? nullptr : &at(static_cast<uint32_t>(slots_[slot]) - 1);
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

void EntryTable::erase(EntryKey key, uint32_t hash) {
    size_t hole = slot_of(key, hash);
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
