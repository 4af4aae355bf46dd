// The copy of what was alive at an incident: made by the thread to which it happened, while others go on.
#pragma once

#include <cstdint>

#include "writer/writer.hpp"

namespace ttmem {

/// Which entries of the slab matter to an incident.
class Concerned {
public:
    Concerned(const Writer& writer, uint8_t kind, uint8_t pool, uint16_t target) noexcept;
    /// Reads target and pool alone.
    bool has(const Record& record) const noexcept {
        const uint64_t target = target_of(record), pool = tag_of(record).pool;
        return target < kTargets && (targets_[target / 64] >> target % 64 & 1) != 0 && pool < kPools &&
               (pools_ >> pool & 1) != 0;
    }
    bool is_in_l1() const noexcept { return is_in_l1_; }

private:
    void add_target(uint16_t target) noexcept { targets_[target / 64] |= uint64_t{1} << target % 64; }
    uint64_t targets_[kTargets / 64] = {};
    uint32_t pools_ = 0;
    bool is_in_l1_ = false;
};

struct CopyMade {
    uint32_t entries = 0;
    uint64_t left_out = 0, left_out_bytes = 0;
    bool has_pages = false;  // without them nothing is copied, and all is left out
};

/// Fills the copy of a slot that the caller owns. Beyond kIncidentEntries: in L1 the buffers at the lowest addresses
/// (kLowestListed), then the largest of all.
CopyMade copy_alive(const Writer& writer, uint32_t slot, const Concerned& concerned) noexcept;

}  // namespace ttmem
