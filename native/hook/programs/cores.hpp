// Sets of cores as text, the way a journal names them: "0,0-7,7;0,8-3,8", rectangles with their corners.
#pragma once

#include <cstdint>

#include "ttmem/client.h"

namespace ttmem::hook {

/// The runtime's CoreRange: two corners, both included.
struct CoreRange {
    uint64_t first_x, first_y, last_x, last_y;
    uint64_t core_count() const noexcept { return (last_x - first_x + 1) * (last_y - first_y + 1); }
    bool operator==(const CoreRange&) const = default;
    bool overlaps(const CoreRange& other) const noexcept {
        return first_x <= other.last_x && other.first_x <= last_x && first_y <= other.last_y && other.first_y <= last_y;
    }
};

/// A std::vector of them: where it begins and where it ends.
struct Ranges {
    const CoreRange *begin, *end;
};

/// Rectangles, as many as fit; what is too long for the text is counted all the same.
class CoreText {
public:
    void add(const CoreRange& range) noexcept {
        core_count_ += range.core_count();
        const uint32_t before = length_;
        if (length_ != 0) put(';');
        put_number(range.first_x);
        put(',');
        put_number(range.first_y);
        put('-');
        put_number(range.last_x);
        put(',');
        put_number(range.last_y);
        if (!is_cut_) return;
        length_ = before;
    }

    uint16_t core_count() const noexcept { return static_cast<uint16_t>(core_count_); }
    /// Its name in the journal; 0 (unknown) if it did not fit.
    uint32_t interned() const noexcept { return is_cut_ || length_ == 0 ? 0 : ttmem_intern(text_, length_); }

private:
    void put(char letter) noexcept {
        if (length_ < sizeof text_)
            text_[length_++] = letter;
        else
            is_cut_ = true;
    }
    void put_number(uint64_t number) noexcept {
        if (number >= 10) put_number(number / 10);
        put(static_cast<char>('0' + number % 10));
    }

    char text_[1024];
    uint32_t length_ = 0;
    uint64_t core_count_ = 0;
    bool is_cut_ = false;
};

}  // namespace ttmem::hook
