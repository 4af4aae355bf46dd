// Where the lives of a process are, by the sequence that began each: a table of open addresses, without marks of the removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ttmem::recording {

class LifeIndex {
public:
    uint32_t* find(uint64_t sequence);
    void insert(uint64_t sequence, uint32_t slot);
    void erase(uint64_t sequence);
    size_t size() const { return size_; }
    template <typename Function>
    void for_each(Function function) const {
        for (const Place& place : places_)
            if (place.sequence != 0) function(place.sequence, place.slot);
    }

private:
    struct Place {
        uint64_t sequence = 0;
        uint32_t slot = 0;
    };
    size_t home_of(uint64_t sequence) const {
        return (sequence * 0x9e37'79b9'7f4a'7c15ull >> 20) & (places_.size() - 1);
    }
    void grow();

    std::vector<Place> places_;
    size_t size_ = 0;
};

}  // namespace ttmem::recording
