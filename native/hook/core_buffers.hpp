// Buffers that not all cores of a mesh give memory for.
//
// The runtime makes a buffer that is allocated by core (its allocator mode HYBRID) on the Device of each chip of a mesh,
// one after the other, and each core gives memory where it has room. Such a buffer is reported on its chip, with one part
// for each address. Any other buffer on a Device is reported on that chip like one on a mesh.
//
// A sub-device that has L1 of its own (`local_l1_size`) has an allocator of its own, which hands out the lowest addresses of
// L1 on its cores, and the mesh's allocator hands out those above. Such a buffer is reported on its mesh, by core, with one
// part: all cores of the sub-device have it at the same address.
#pragma once

#include <cstdint>

#include "hook/devices.hpp"
#include "hook/runtime.hpp"

namespace ttmem::hook {

/// Whether it is allocated by core.
bool is_by_core(const Copy& copy, const void* buffer) noexcept;

/// Whether such a buffer has no address on any core: a capture only imagines it.
bool is_on_no_core(const Copy& copy, const void* buffer) noexcept;

/// Whether this allocator of a buffer on the mesh is that of a sub-device.
inline bool is_of_sub_device(const Mesh& mesh, const void* allocator) noexcept {
    return allocator != mesh.allocator && allocator != nullptr && mesh.allocator != nullptr;
}

/// The cores of a sub-device whose allocator was asked last on this thread: how many, and their name in the journal, 0 unknown.
struct SubDeviceCores {
    uint32_t core_set;
    uint16_t count;
};
SubDeviceCores cores_of_sub_device(const Copy& copy, const Mesh& mesh, const void* allocator) noexcept;

/// Reports a buffer that it gave; `report.per_bank_bytes` are what each of its cores gives.
ttmem_handle report_on_sub_device(const Copy& copy, const Mesh& mesh, const void* allocator,
                                  const ttmem_buffer& report) noexcept;

/// Reports a buffer that is allocated by core; `report.per_bank_bytes` are what each of its cores gives. 0: it could not be.
ttmem_handle report_by_core(const Copy& copy, const void* buffer, const ttmem_buffer& report) noexcept;

}  // namespace ttmem::hook
