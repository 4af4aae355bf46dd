// The figures in what the runtime says when it refuses memory.
//
// They are those of the moment: taken under the allocator's lock, and kept in the text. Asked for when the exception passes,
// they may be others. A text is searched for one of the sentences below; what comes before it (where in the runtime's source
// it was thrown) and behind it (a stack) does not matter.
#pragma once

#include <cstdint>
#include <string_view>

#include "hook/programs/cores.hpp"

namespace ttmem::hook {

inline constexpr uint64_t kUntoldFigure = ~uint64_t{0};
inline constexpr uint8_t kUntoldType = 0xff;

/// "Out of Memory: Not enough space ...".
struct RefusedWords {
    uint64_t requested_bytes = kUntoldFigure;  // in all banks
    uint64_t per_bank_bytes = kUntoldFigure;
    uint64_t bank_bytes = kUntoldFigure, free_bytes = kUntoldFigure, largest_bytes = kUntoldFigure;  // of one bank
    uint32_t bank_count = 0;
    uint8_t type = kUntoldType;  // tt-metal's BufferType
};

/// "Statically allocated circular buffers ...".
struct ClashWords {
    uint64_t program = kUntoldFigure;         // the runtime's number
    uint64_t buffer_address = kUntoldFigure;  // of the lowest L1 buffer there
    uint64_t region_end = kUntoldFigure;      // of the circular or dataflow buffers
    uint64_t l1_end = kUntoldFigure;          // which that is beyond
    CoreRange cores{};
};

/// False: nothing of the kind is in the text, and nothing was set.
bool read_refused(std::string_view text, RefusedWords& words) noexcept;
bool read_clash(std::string_view text, ClashWords& words) noexcept;

}  // namespace ttmem::hook
