// Python stacks as sites of buffers: which line of the program asked for the memory.
//
// The writer asks, inside the report, on the thread that allocates. Stacks that were seen before are found by the code
// objects and instructions of their frames; only for a new one names and lines are looked up:
//
//   frames  ->  hash  ->  table of known stacks  ->  site
//                              | not there: frames of the user's program, the 16 innermost, as nodes of the tree
//
// Frames of ttmem, ttnn, torch and pytest, and those by which Python itself runs modules, are left out. Of a file's path the last three parts are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ttmem {

/// The site of the calling thread's Python stack; 0: there is none. Only while has_journal(). Never blocks.
uint32_t python_site() noexcept;

/// The calling thread's Python stack as a number: equal stacks have equal ones. 0: there is none. Only while has_journal().
uint64_t python_stack() noexcept;

/// The site of that stack.
uint32_t site_of_stack(uint64_t stack) noexcept;

/// Sites of this journal that were found before, by what they were found by, as a number. A number that is not kept, since there
/// is no room or no process did, is not found.
bool find_site(uint64_t number, uint32_t& site) noexcept;
void keep_site(uint64_t number, uint32_t site) noexcept;

/// A number of two: other ones give another.
inline uint64_t mixed(uint64_t number, uint64_t more) noexcept {
    number = (number ^ more * 0xc2b2'ae3d'27d4'eb4full) * 0x9e37'79b9'7f4a'7c15ull;
    return number ^ number >> 32;
}

/// Why the stack of the caller, a thread of Python, cannot be read; empty if it can. Asks the kernel alone, keeps nothing.
const char* python_trouble() noexcept;

/// Whether a file belongs to a library whose frames are left out: an installed package, or one in its source tree.
bool is_library_file(std::string_view path) noexcept;

/// The last three parts of a path.
std::string_view end_of_path(std::string_view path) noexcept;

}  // namespace ttmem
