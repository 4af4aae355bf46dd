// What the runtime is doing on this thread: hooks around a call leave word for the hooks that are reached inside it.
//
// Buffers that are allocated while a workload loads its binaries are the binaries of its program (docs/rules.md); for them
// buffers.cpp asks here first:
//
//   if (hold_binaries(mesh, buffer_id, reserved_bytes, address)) return;      // on allocation
//   if (release_binaries(mesh, buffer_id)) return;                   // on release
//
// A word that a call leaves is taken back when the call returns or throws (call_within).
#pragma once

#include <cstdint>

#include "hook/guard.h"

namespace ttmem::hook {

struct Workload;
struct LocalPass;
struct MarkPass;
struct Mesh;

/// All zero on a thread that is in no call of the runtime's.
struct Context {
    Workload* enqueued;       // the workload that is being launched
    Workload* loading;        // the workload whose binaries are being loaded
    LocalPass* locals;        // circular buffers of a program are being laid out
    MarkPass* marks;          // dataflow buffers or scratchpads of a program are being laid out
    Mesh* mesh;               // the mesh that is being worked on
    uint8_t owner;            // ttmem_kind of the kernels that are being configured: fabric, dispatch, or 0
    bool is_beginning_trace;  // the host's books are being put aside for a capture
};

extern thread_local __attribute__((tls_model("initial-exec"))) Context this_context;
inline Context& context() noexcept { return this_context; }

/// Calls `real` with up to six words, with the context of this thread as it was set up by the caller, and afterwards, also
/// if it throws, brings back `before`.
ttmem_result call_within(void* real, const uint64_t (&arguments)[6], Context& before);

/// Whether a buffer that was allocated on this thread just now holds the binaries of a program; if so it is booked there.
bool hold_binaries(const Mesh& mesh, uint64_t buffer_id, uint64_t reserved_bytes, uint64_t address) noexcept;

/// Whether this buffer held such binaries; they are given back.
bool release_binaries(const Mesh& mesh, uint64_t buffer_id) noexcept;

/// Chips got their names: what was loaded on them before is reported now.
void report_waiting_programs() noexcept;

/// The mesh was closed: parts of it that programs ran on end with it.
void close_parts(const Mesh& mesh) noexcept;

/// The kernel ring of a worker core in bytes, as the runtime set it up last; 0 unknown.
uint32_t kernel_ring_bytes() noexcept;

inline uint64_t word_of(const void* pointer) noexcept { return reinterpret_cast<uintptr_t>(pointer); }

}  // namespace ttmem::hook
