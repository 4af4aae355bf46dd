// Shape, data type and layout of the tensor that a buffer is allocated for.
//
// The runtime makes the buffer of a tensor inside tensor_impl::allocate_device_buffer, which is given its specification. Its
// shape is its first member; its data type and layout are told by getters of a member whose place is confirmed: the size of
// a page that they give must once be the one that the specification itself computes. Before that only the shape is told.
#pragma once

#include <cstdint>

#include "hook/runtime.hpp"

namespace ttmem::hook {

/// Who asks for the buffer that is being allocated on this thread.
struct Asked {
    uint32_t site;   // his line, and his tensor if it is one's; 0: nobody can say
    uint64_t stack;  // of Python, as a number (interpreter/sites.hpp); 0: there is none
};
Asked asked_by(const Copy& copy) noexcept;

}  // namespace ttmem::hook
