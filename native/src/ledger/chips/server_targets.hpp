// The logical chips that one process names by number, as targets of its book. Numbers are data: any is taken, the first
// 65,535 get a target of their own, and the rest (as whatever is below zero) go to target 0, which stands for unknown.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace ttmem {

class ServerTargets {
public:
    static constexpr uint32_t kMost = 65'535;
    static constexpr uint16_t kUnknown = 0;

    /// The target of a chip that was named before, else kUnknown.
    uint16_t find(int32_t id) const {
        if (static_cast<uint32_t>(id) < kSmall) return small_[id];
        const auto known = large_.find(id);
        return known == large_.end() ? kUnknown : known->second;
    }

    bool is_full() const { return ids_.size() > kMost; }

    /// A target for a chip that is named for the first time.
    uint16_t add(int32_t id) {
        const auto number = static_cast<uint16_t>(ids_.size());
        ids_.push_back(id);
        if (static_cast<uint32_t>(id) < kSmall)
            small_[id] = number;
        else if (id >= 0)
            large_.emplace(id, number);
        return number;
    }

    /// The chip of each target; that of the first is none.
    const std::vector<int32_t>& ids() const { return ids_; }

private:
    static constexpr uint32_t kSmall = 64;

    uint16_t small_[kSmall] = {};
    std::unordered_map<int32_t, uint16_t> large_;
    std::vector<int32_t> ids_ = {-1};
};

}  // namespace ttmem
