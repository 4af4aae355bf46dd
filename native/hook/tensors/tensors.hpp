// Shape, data type and layout of the tensor that a buffer is allocated for.
//
// The runtime makes the buffer of a tensor inside tensor_impl::allocate_device_buffer, which is given its specification. Its
// shape is its first member; its data type and layout are told by getters of a member whose place is confirmed: the size of
// a page that they give must once be the one that the specification itself computes. Before that only the shape is told.
#pragma once

#include <cstdint>

#include "hook/runtime.hpp"

namespace ttmem::hook {

/// The site of a buffer that is being allocated on this thread, with its tensor; 0: it is no tensor's, or nobody can say.
uint32_t site_of_tensor(const Copy& copy) noexcept;

}  // namespace ttmem::hook
