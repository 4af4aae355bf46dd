// The exception that passes a frame of ours, and what it says (guard.h calls it passing while its on_throw runs).
//
// It is read as every C++ runtime lays it out: the header of the Itanium ABI, 32 bytes for the unwinder, the object; and asked
// for its what() only if its type says, by one base after the other, that it is a std::exception. None of it needs a C++
// runtime of our own.
#pragma once

#include <string_view>

namespace ttmem::hook {

/// False if no exception passes: the thread is being ended (pthread_exit, pthread_cancel).
bool is_exception_passing() noexcept;

/// Its words, which are there as long as it is; "" if it has none, or is no std::exception.
std::string_view words_of_passing() noexcept;

}  // namespace ttmem::hook
