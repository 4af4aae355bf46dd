// What a host is given for an allocation, to free it by: which entry has it, and which life that is.
//
// An allocation that found the table full has no entry. Its handle carries the charge home instead, so that the counters
// stay right: 1 | target8 | pool4 | kind4 | bytes47.
#pragma once

#include "journal/bits.hpp"
#include "journal/sizes.hpp"

namespace ttmem {

inline constexpr uint64_t kUntabledHandle = 1ull << 63;

struct Handle {
    uint64_t made_by = 0;
    uint32_t entry = 0;

    static constexpr Bits kEntry{0, 20}, kMadeBy{20, 43};
    constexpr ttmem_handle pack() const noexcept { return kEntry.pack(entry) | kMadeBy.pack(made_by); }
    static constexpr Handle unpack(ttmem_handle handle) noexcept {
        return {kMadeBy.of(handle), kEntry.as<uint32_t>(handle)};
    }
    bool operator==(const Handle&) const = default;
};
static_assert(kTableMost - 1 <= Handle::kEntry.most());

struct UntabledHandle {
    uint16_t target = 0;
    uint8_t pool = 0, kind = 0;
    uint64_t bytes = 0;

    static constexpr Bits kBytes{0, 47}, kKind{47, 4}, kPool{51, 4}, kTarget{55, 8};
    constexpr ttmem_handle pack() const noexcept {
        return kUntabledHandle | kTarget.pack(target) | kPool.pack(pool) | kKind.pack(kind) | kBytes.pack(bytes);
    }
    static constexpr UntabledHandle unpack(ttmem_handle handle) noexcept {
        return {kTarget.as<uint16_t>(handle), kPool.as<uint8_t>(handle), kKind.as<uint8_t>(handle), kBytes.of(handle)};
    }
    bool operator==(const UntabledHandle&) const = default;
};
static_assert(kTargets - 1 <= UntabledHandle::kTarget.most() && kPools - 1 <= UntabledHandle::kPool.most() &&
              kKinds - 1 <= UntabledHandle::kKind.most() && kSizeMost <= UntabledHandle::kBytes.most());
static_assert(Handle::unpack(Handle{(1ull << 43) - 1, kTableMost - 1}.pack()) ==
              Handle{(1ull << 43) - 1, kTableMost - 1});

}  // namespace ttmem
