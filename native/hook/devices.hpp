// Meshes and chips as the runtime opens and closes them.
//
// Every mesh of the runtime is a target of its own, a mesh of one chip too: two meshes may share chips, and the end of
// one must not end what the other holds. The runtime numbers its meshes again at each opening; a target is found again by
// the chips in it, so that a program that opens a device a thousand times takes one place.
//
//   word                    writer                            readers                             order
//   Mesh, plain members     open, before the number is set    calls on a mesh that is still open  by the number
//   number, is_open, target open, close, first report; 0 by   any                                 release / acquire
//                           who turns tracking off
#pragma once

#include <atomic>
#include <cstdint>

#include "hook/programs/context.hpp"
#include "ttmem/client.h"

namespace ttmem::hook {

inline constexpr uint32_t kMeshesMost = 256;
inline constexpr uint32_t kChipsMost = 255;  // as many as a journal can name
inline constexpr uint32_t kBufferTypes = 5;  // tt-metal's BufferType: DRAM, L1, SYSTEM_MEMORY, L1_SMALL, TRACE

/// Where buffers of each type live.
inline constexpr uint8_t kPoolOf[kBufferTypes] = {TTMEM_DRAM, TTMEM_L1, TTMEM_HOST, TTMEM_L1_SMALL, TTMEM_TRACE};

/// One opening of a mesh.
struct alignas(64) Mesh {          // every report looks at its first line of memory
    std::atomic<uint32_t> number;  // counts the openings of this process; 0: none
    std::atomic<uint64_t> name;    // the copy of the runtime that opened it, and its id there; 0: none
    std::atomic<bool> is_open;
    std::atomic<uint16_t> target;  // 0: not named, tracking being off or having been
    const void* allocator;
    uint16_t chip_count, rows, columns;
    int16_t chips[kChipsMost];           // the runtime's chip ids, in mesh order
    const void* devices[kChipsMost];     // its Device objects, in the same order
    uint32_t bank_counts[kBufferTypes];  // 0 unknown
    uint32_t dram_alignment;             // 0 unknown
    uint64_t bank_bytes[kBufferTypes];
    uint64_t l1_small_begin;  // buffers in L1 from this address on are L1_SMALL; 0: nobody can say which are
    uint16_t grid_x, grid_y;
    int32_t arch;
    uint64_t key;  // of the target: its chips, shape, and which of several equal meshes it is
};

// Most calls of a thread are about one mesh. Its object is not reused for another one while the mesh is open.
inline Mesh* last_mesh_if(const void* device) noexcept {
    const LastMesh& last = at_hand.mesh;
    Mesh* mesh = last.mesh;
    const bool is_it = device == last.device && mesh != nullptr &&
                       mesh->number.load(std::memory_order_relaxed) == last.number &&
                       mesh->is_open.load(std::memory_order_acquire);
    return __builtin_expect(is_it, 1) ? mesh : nullptr;
}

/// The mesh of a device that is not the last one of this thread.
Mesh* mesh_of_another(const void* device) noexcept;

/// The mesh that a MeshDevice (the runtime's IDevice of most calls) stands for, or null. Open or just closed.
inline Mesh* mesh_of(const void* device) noexcept {
    Mesh* mesh = last_mesh_if(device);
    return __builtin_expect(mesh != nullptr, 1) ? mesh : mesh_of_another(device);
}

/// What its copy of the runtime calls a mesh.
inline uint64_t id_of(const Mesh& mesh) noexcept {
    return static_cast<uint32_t>(mesh.name.load(std::memory_order_acquire)) - 1;
}

/// The mesh that the current copy of the runtime knows by this id, or null.
Mesh* mesh_numbered(int64_t id) noexcept;

/// An open mesh that holds this Device, or null.
Mesh* mesh_with_chip(const void* device) noexcept;

/// The open mesh of this Allocator; the only open one where a part of a mesh has an allocator of its own. Null unknown.
Mesh* mesh_with_allocator(const void* allocator) noexcept;

/// Names a mesh that has no name in the journal, or none since tracking was turned off.
uint16_t name_if_open(const Mesh& mesh) noexcept;

/// What an open mesh is called in the journal; 0 when it was closed or tracking is off.
inline uint16_t target_of(const Mesh& mesh) noexcept {
    const uint16_t target = mesh.target.load(std::memory_order_acquire);
    return __builtin_expect(target != 0, 1) ? target : name_if_open(mesh);
}

/// The same for a MeshDevice, or for a Device: that chip alone.
uint16_t target_of(const void* device) noexcept;

/// Whether an IDevice is a MeshDevice (else it is a chip's Device).
bool is_mesh(const void* device) noexcept;

}  // namespace ttmem::hook
