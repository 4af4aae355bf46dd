// Buffers that are not on a mesh but on one of its chips.
//
// The runtime makes a buffer that is allocated by core (its allocator mode HYBRID) on the Device of each chip of a mesh,
// one after the other, and each core gives memory where it has room. Such a buffer is reported on its chip, with one part
// for each address. Any other buffer on a Device is reported on that chip like one on a mesh.
#pragma once

#include <cstdint>

#include "hook/devices.hpp"
#include "hook/runtime.hpp"

namespace ttmem::hook {

/// Whether it is allocated by core.
bool is_by_core(const Copy& copy, const void* buffer) noexcept;

/// Whether such a buffer has no address on any core: a capture only imagines it.
bool is_on_no_core(const Copy& copy, const void* buffer) noexcept;

/// Reports such a buffer; `report.per_bank_bytes` are what each of its cores gives. 0: it could not be.
ttmem_handle report_by_core(const Copy& copy, const void* buffer, const ttmem_buffer& report) noexcept;

}  // namespace ttmem::hook
