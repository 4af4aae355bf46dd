#include "recording/lives/life_index.hpp"

#include <algorithm>

namespace ttmem::recording {
namespace {

constexpr size_t kLeastPlaces = 16;

}  // namespace

uint32_t* LifeIndex::find(uint64_t sequence) {
    if (places_.empty() || sequence == 0) return nullptr;
    for (size_t at = home_of(sequence);; at = (at + 1) & (places_.size() - 1)) {
        if (places_[at].sequence == sequence) return &places_[at].slot;
        if (places_[at].sequence == 0) return nullptr;
    }
}

void LifeIndex::insert(uint64_t sequence, uint32_t slot) {
    if ((size_ + 1) * 2 > places_.size()) grow();
    size_t at = home_of(sequence);
    while (places_[at].sequence != 0) at = (at + 1) & (places_.size() - 1);
    places_[at] = {sequence, slot};
    ++size_;
}

void LifeIndex::grow() {
    std::vector<Place> before(std::max(kLeastPlaces, places_.size() * 2));
    before.swap(places_);
    size_ = 0;
    for (const Place& place : before)
        if (place.sequence != 0) insert(place.sequence, place.slot);
}

// What follows moves up, so that no place of a chain is empty.
void LifeIndex::erase(uint64_t sequence) {
    uint32_t* found = find(sequence);
    if (found == nullptr) return;
    const size_t mask = places_.size() - 1;
    size_t hole = home_of(sequence);
    while (places_[hole].sequence != sequence) hole = (hole + 1) & mask;
    for (size_t at = (hole + 1) & mask; places_[at].sequence != 0; at = (at + 1) & mask) {
        const size_t home = home_of(places_[at].sequence);
        if (((at - home) & mask) < ((at - hole) & mask)) continue;
        places_[hole] = places_[at];
        hole = at;
    }
    places_[hole] = {};
    --size_;
}

}  // namespace ttmem::recording
