// Where the pools of a chip begin and end in each of its banks, and the largest block that is free there.
//
// A chip's opener says how much each pool has, not where. Banks have one size on every chip of an architecture, and the
// pools lie at their upper end, so where they begin follows:
//
//    a DRAM bank   | kept by the runtime | DRAM                          | TRACE    |
//    L1 of a core  | kept by the runtime | kernel ring | L1              | L1_SMALL |
//
// No block of a pool is larger than what the opener said, less what is used.
#pragma once

#include <optional>
#include <vector>

#include "ledger/places/places.hpp"

namespace ttmem {

/// Where a pool lies in each bank.
struct Bounds {
    uint64_t begin = 0, end = 0;

    /// The largest free block, never more than is free; none if a process did not say where something lies.
    std::optional<uint64_t> largest_free(const Taken& taken, const Gaps& gaps) const;
    /// How many free blocks there are; none as above.
    std::optional<uint64_t> hole_count(const Taken& taken, const Gaps& gaps) const;
    /// The largest free block above the lowest allocation, 0 without any; none as above.
    std::optional<uint64_t> largest_hole(const Taken& taken, const Gaps& gaps) const;
};

/// Allocations that are shown as one: with the holes between them that are too small to be distinguished.
struct Stretch {
    uint64_t begin, end, count, hole_bytes;
};
/// At most about `most`, at least one: the largest holes part them. Of holes of one size none does, or all do.
std::vector<Stretch> stretches_of(const Taken& taken, size_t most);

/// What each bank has of a pool, 0 if the pool is not there; none if no process said how many banks there are.
std::optional<uint64_t> share_of(const DeviceDescriptor& facts, uint8_t pool);

/// By what the opener said and the size of the banks; none if either is not known.
std::optional<Bounds> bounds_of(const DeviceDescriptor& facts, uint8_t pool, const BankSizes* sizes);

/// What a core has for buffers, circular buffers and the kernel ring: its L1 but for what the runtime keeps.
std::optional<uint64_t> core_bytes_of(const DeviceDescriptor& facts);

/// Headroom by what is known of where L1 begins and ends; none if that is not enough.
std::optional<int64_t> headroom_of(const Headroom& headroom, const std::optional<Bounds>& l1,
                                   const DeviceDescriptor& facts);

}  // namespace ttmem
