// Which operation a program belongs to.
//
// A launch returns into a function that the runtime's library of operations has for each device operation, and its name says
// which; further out is the function that the user has called (naming/callers.hpp). A program is named at its first launch,
// from then on also its kernels and circular buffers are known by it; where nothing says it, by the source of its kernels,
// and that is marked.
#pragma once

#include <cstdint>

#include "hook/programs/programs.hpp"

namespace ttmem::hook {

/// How a program got its name; the later the surer.
enum class NamedBy : uint8_t { nobody, kernels, launch };

struct Naming {
    uint32_t site;  // 0: nobody knows
    NamedBy by;
};
/// The operation of a program: by the launch that this thread is at, else by its kernels.
Naming naming_of(const Program& program) noexcept;

/// Names a program, if it is listed and more is known than before.
void name_program(Program& program) noexcept;

/// Notes whose source a kernel of the program is.
void note_source(Program& program, const char* path, uint64_t length) noexcept;

}  // namespace ttmem::hook
