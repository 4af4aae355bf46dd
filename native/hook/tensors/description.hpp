// A tensor in words, "1x1x32x14336 bfloat16 tile", and how large its pages are if it is what it seems. Pure functions.
#pragma once

#include <cstdint>
#include <string_view>

namespace ttmem::hook {

inline constexpr uint32_t kRankMost = 8;

/// What a TensorSpec says; the last two as the runtime numbers them.
struct TensorForm {
    uint32_t rank = 0;
    uint32_t sides[kRankMost] = {};
    bool has_type = false;  // whether the last two are known
    int data_type = -1, layout = -1;
};

/// The bytes of a page of tiles of 32 x 32, or of a whole row; 0 if the type or the layout is none that is known.
uint64_t page_bytes_of(const TensorForm& form) noexcept;

/// Its words in `room`; ends with a zero. "" if it has no shape.
class TensorWords {
public:
    explicit TensorWords(const TensorForm& form) noexcept;
    const char* text() const noexcept { return text_; }

private:
    void put(std::string_view words) noexcept;
    void put(uint32_t number) noexcept;

    uint32_t length_ = 0;
    char text_[128];
};

}  // namespace ttmem::hook
