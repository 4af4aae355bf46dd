// Numbers as bytes: varints, and the checksum of a block.
//
// The checksum takes eight bytes at a step. For a given state every step maps different words to different states, so a
// change within one word is always noticed.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace ttmem::recording {

inline constexpr size_t kVarintMost = 10;

inline uint8_t* put_varint(uint8_t* to, uint64_t value) noexcept {
    while (value >= 0x80) {
        *to++ = static_cast<uint8_t>(value | 0x80);
        value >>= 7;
    }
    *to++ = static_cast<uint8_t>(value);
    return to;
}

inline void put_varint(std::string& to, uint64_t value) {
    uint8_t bytes[kVarintMost];
    to.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(put_varint(bytes, value) - bytes));
}

inline void put_text(std::string& to, std::string_view text) {
    put_varint(to, text.size());
    to.append(text);
}

/// Small for small differences of either sign.
inline constexpr uint64_t zigzag(uint64_t difference) noexcept { return (difference << 1) ^ (0 - (difference >> 63)); }
inline constexpr uint64_t unzigzag(uint64_t value) noexcept { return (value >> 1) ^ (0 - (value & 1)); }
static_assert(zigzag(~uint64_t{0}) == 1 && unzigzag(zigzag(1ull << 63)) == 1ull << 63);

/// Reads what was put. Past the end, or at a number that is none, everything is 0 and `has_failed`.
class Bytes {
public:
    Bytes() = default;
    Bytes(const uint8_t* from, size_t size) : at_(from), end_(from + size) {}
    explicit Bytes(std::string_view from) : Bytes(reinterpret_cast<const uint8_t*>(from.data()), from.size()) {}

    uint64_t varint() noexcept {
        if (at_ < end_ && *at_ < 0x80) return *at_++;
        uint64_t value = 0;
        for (unsigned shift = 0; shift < 64 && at_ < end_; shift += 7) {
            const uint8_t byte = *at_++;
            value |= uint64_t{byte & 0x7fu} << shift;
            if (byte < 0x80) return value;
        }
        return fail();
    }
    uint8_t byte() noexcept { return at_ < end_ ? *at_++ : static_cast<uint8_t>(fail()); }
    std::string_view text() noexcept { return take(varint()); }
    std::string_view take(uint64_t size) noexcept {
        if (size > left()) {
            fail();
            return {};
        }
        const std::string_view found(reinterpret_cast<const char*>(at_), size);
        at_ += size;
        return found;
    }
    size_t left() const noexcept { return static_cast<size_t>(end_ - at_); }
    bool has_failed() const noexcept { return has_failed_; }

private:
    uint64_t fail() noexcept {
        has_failed_ = true;
        at_ = end_;
        return 0;
    }

    const uint8_t* at_ = nullptr;
    const uint8_t* end_ = nullptr;
    bool has_failed_ = false;
};

inline uint64_t checksum(const void* from, size_t size, uint64_t seed = 0) noexcept {
    constexpr uint64_t kOdd = 0x9e37'79b9'7f4a'7c15ull;
    const auto* at = static_cast<const uint8_t*>(from);
    uint64_t lanes[4] = {seed ^ size, seed + 1, seed + 2, seed + 3};
    const auto step = [](uint64_t lane, uint64_t word) { return std::rotl((lane ^ word) * kOdd, 29); };
    for (; size >= 32; size -= 32, at += 32)
        for (size_t i = 0; i < 4; ++i) {
            uint64_t word = 0;
            std::memcpy(&word, at + i * 8, 8);
            lanes[i] = step(lanes[i], word);
        }
    uint64_t sum = 0;
    for (const uint64_t lane : lanes) sum = step(sum, lane);
    for (; size != 0; --size, ++at) sum = step(sum, *at + 1u);
    return step(sum, sum >> 32);
}

}  // namespace ttmem::recording
