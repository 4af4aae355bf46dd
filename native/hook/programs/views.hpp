// What circular and dataflow buffers have in common: a layout that is told again takes the place of the one before.
#pragma once

#include "hook/programs/programs.hpp"

namespace ttmem::hook {

/// Which part of which program a CircularBufferImpl is.
struct Seen {
    uint64_t program;  // its key
    uint32_t number;
};

/// Lists a part as it lies now; one that lies as before is left alone. `layout` names it by kind and number.
void lay_out(const Program& program, uint32_t* first, const Part& layout) noexcept;

/// Ends those of a list, views apart, that a layout of `count` no longer has.
void end_beyond(uint32_t* link, uint32_t count) noexcept;

}  // namespace ttmem::hook
