// Bounds for what a host passes: nothing of it is trusted. Sizes beyond 2^42 or below zero are cut and counted, targets,
// kinds and pools out of range are kept under `unknown`.
#pragma once

#include "writer/operations.hpp"

// The whole hot path in one function: its eight words then live in registers, and no copy waits for another.
#define TTMEM_HOT __attribute__((flatten))

namespace ttmem {

inline uint16_t checked_target(uint16_t target) noexcept { return target < kTargets ? target : uint16_t{0}; }
inline uint8_t checked_kind(uint8_t kind) noexcept { return kind < kKinds ? kind : uint8_t{TTMEM_KIND_UNKNOWN}; }
inline uint8_t checked_pool(uint8_t pool) noexcept { return pool < kPools ? pool : uint8_t{TTMEM_POOL_UNKNOWN}; }

// Above 2^63 a size is a negative number a process cast.
inline uint64_t checked_size(uint64_t bytes, uint8_t& flags) noexcept {
    if (__builtin_expect(bytes <= kSizeMost, 1)) return bytes;
    flags |= kClamped;
    return static_cast<int64_t>(bytes) < 0 ? 0 : kSizeMost;
}

inline uint64_t checked_product(uint64_t each, uint64_t count, uint8_t& flags) noexcept {
    uint64_t product = 0;
    if (__builtin_mul_overflow(checked_size(each, flags), count, &product)) product = kSizeMost + 1;
    return checked_size(product, flags);
}

inline void count_if_clamped(uint8_t flags) noexcept {
    if (__builtin_expect((flags & kClamped) != 0, 0))
        the_writer.header->clamped.fetch_add(1, std::memory_order_relaxed);
}

// One that does not fit is unknown: cut, it would be another program's.
inline uint64_t program_of(uint64_t program) noexcept { return program <= in::kProgram.most() ? program : 0; }

// One that does not fit is unknown: cut, it would be another place.
inline uint64_t checked_address(uint64_t address) noexcept { return address <= in::kAddress.most() ? address : 0; }

inline uint8_t checked_layout(uint8_t layout) noexcept {
    return layout < TTMEM_LAYOUT_COUNT ? layout : uint8_t{TTMEM_LAYOUT_UNKNOWN};
}

/// Who asks, as the caller says, else as the source of sites does.
inline uint32_t site_of(uint32_t told) noexcept {
    if (told != 0) return told;
    const ttmem_site_source source = site_source.load(std::memory_order_acquire);
    return __builtin_expect(source == nullptr, 1) ? 0 : source();
}

}  // namespace ttmem
