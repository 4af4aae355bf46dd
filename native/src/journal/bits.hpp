// Where a value lies in a word that several share. A word of the journal is packed and unpacked through one of these, so
// the two ways cannot disagree.
#pragma once

#include <cstdint>

namespace ttmem {

struct Bits {
    uint32_t first, width;

    constexpr uint64_t most() const noexcept { return ~uint64_t{0} >> (64 - width); }
    constexpr uint64_t mask() const noexcept { return most() << first; }
    constexpr uint64_t of(uint64_t word) const noexcept { return word >> first & most(); }
    template <typename Value>
    constexpr Value as(uint64_t word) const noexcept {
        return static_cast<Value>(of(word));
    }
    /// A word that has nothing but the value; what of it does not fit is cut off.
    constexpr uint64_t pack(uint64_t value) const noexcept { return (value & most()) << first; }
    constexpr uint64_t clear(uint64_t word) const noexcept { return word & ~mask(); }
    constexpr uint64_t put(uint64_t word, uint64_t value) const noexcept { return clear(word) | pack(value); }
};

/// Two halves of a word.
inline constexpr Bits kLowHalf{0, 32}, kHighHalf{32, 32};

static_assert(Bits{8, 16}.of(Bits{8, 16}.pack(0x1'2345)) == 0x2345 && Bits{8, 16}.mask() == 0xff'ff00);
static_assert(Bits{0, 64}.of(~uint64_t{0}) == ~uint64_t{0} && Bits{8, 8}.put(0xffff'ffff, 1) == 0xffff'01ff);

}  // namespace ttmem
