// Memory that the runtime refused: every exception that leaves its allocator, or its checks of circular buffers, is an incident.
//
// Figures are those of the runtime's own words. Where they tell none, getters are asked, a moment later: other threads may
// have gone on by then, and the incident says so.
#pragma once

#include <cstdint>
#include <string_view>

#include "ttmem/client.h"

namespace ttmem::hook {

/// One of which nothing is known but what was said.
ttmem_incident an_incident(uint8_t kind, std::string_view words) noexcept;

/// An exception leaves AllocatorImpl::allocate_buffer, and is passing.
void report_refusal(void* allocator, void* buffer) noexcept;

}  // namespace ttmem::hook
