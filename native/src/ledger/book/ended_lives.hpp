// The lives of a process that ended last: a ring once it is full.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ledger/book/table.hpp"

namespace ttmem {

struct Freed {
    RecordCopy words;  // as it was alive
    uint64_t freed_sequence;
};

class EndedLives {
public:
    explicit EndedLives(size_t most) : most_(most) {}

    void add(const RecordCopy& words, uint64_t freed_sequence) {
        if (all_.size() < most_) {
            all_.push_back({words, freed_sequence});
            return;
        }
        dropped_ = std::max(dropped_, all_[next_].freed_sequence);
        all_[next_] = {words, freed_sequence};
        next_ = (next_ + 1) % most_;
    }

    /// Whether a free names one of the newest: by its key, or by a handle, which stands in the id of a free of nothing.
    bool has_newly(EntryKey key) const;

    const std::vector<Freed>& all() const { return all_; }
    /// The highest sequence that ended a life which is no longer here.
    uint64_t dropped() const { return dropped_; }

    void clear() {
        all_.clear();
        all_.shrink_to_fit();
        next_ = 0;
    }

private:
    size_t most_;
    std::vector<Freed> all_;
    size_t next_ = 0;
    uint64_t dropped_ = 0;
};

inline bool EndedLives::has_newly(EntryKey key) const {
    constexpr size_t kNewest = 4096;
    const size_t count = all_.size();
    for (size_t i = 0; i < std::min(count, kNewest); ++i) {
        const RecordCopy& life = all_[(next_ + count - 1 - i) % count].words;
        const bool is_by_handle = key.kind == 0 && life.sequence() == Handle::unpack(key.id).made_by;
        if (entry_key(life) == key || is_by_handle) return true;
    }
    return false;
}

}  // namespace ttmem
