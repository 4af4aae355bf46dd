// What the runtime is doing on this thread: hooks around a call leave word for the hooks that are reached inside it.
//
// A buffer in DRAM that is allocated while a workload is launched for the first time holds the binaries of its program
// (docs/understanding/rules.md); for those buffers.cpp asks here first:
//
//   if (hold_binaries(mesh, buffer_id, reserved_bytes, address)) return;      // on allocation
//   if (release_held(mesh, buffer_id)) return;                       // on release
//
// One that is allocated while a capture ends holds the commands of its trace: hold_trace() books it as that.
//
// A word that a call leaves is taken back when the call returns or throws (call_within).
#pragma once

#include <cstdint>

#include "hook/guard.h"
#include "ttmem/client.h"

namespace ttmem {
struct LaunchedRing;
}

namespace ttmem::hook {

struct Workload;
struct LocalPass;
struct MarkPass;
struct Mesh;
struct Manager;
struct Copy;

/// All zero on a thread that is in no call of the runtime's.
struct Context {
    Workload* enqueued;    // the workload that is being launched
    LaunchedRing* ring;    // in the frame of that launch: where the ring it moves is left, to be told with it; or null
    LocalPass* locals;     // circular buffers of a program are being laid out
    MarkPass* marks;       // dataflow buffers or scratchpads of a program are being laid out
    Mesh* mesh;            // the mesh that is being worked on
    const void* launcher;  // where the first launch of that workload returns to; null: its operation is known
    const void* tensor;    // the TensorSpec that a buffer is being allocated for
    uint8_t owner;         // ttmem_kind of the kernels that are being configured: fabric, dispatch, or 0
    bool is_beginning_trace;  // the host's books are being put aside for a capture
    bool is_ending_trace;     // what was captured is being stored
    uint64_t trace_bytes;     // and how much it took
};

/// The mesh that a thread asked for last, and which opening of it that was.
struct LastMesh {
    const void* device;
    Mesh* mesh;
    uint32_t number;
};

/// What the hooks of a thread need at hand. Every operation of the host comes by and finds little of ours in the processor's
/// cache: so what most of them need is in one line of memory.
struct alignas(64) AtHand {
    LastMesh mesh;
    Manager* manager;  // of the ring that was looked for last
    const Copy* copy;  // of the runtime, which the last call came to
    Context context;
    const void* allocator;  // that was asked for memory last
};
extern thread_local __attribute__((tls_model("initial-exec"))) AtHand at_hand;
inline Context& context() noexcept { return at_hand.context; }

/// Calls `real` with up to six words, with the context of this thread as it was set up by the caller, and afterwards, also
/// if it throws, brings back `before`.
ttmem_result call_within(void* real, const uint64_t (&arguments)[6], Context& before);

/// Whether a buffer that was allocated on this thread just now holds the binaries of a program; if so it is booked there.
bool hold_binaries(const Mesh& mesh, uint64_t buffer_id, uint64_t reserved_bytes, uint64_t address) noexcept;

/// Whether a buffer that was allocated on this thread just now holds a captured trace; if so it is booked as that.
bool hold_trace(const Mesh& mesh, ttmem_buffer& report) noexcept;

/// Whether this buffer held binaries or a trace; they are given back.
bool release_held(const Mesh& mesh, uint64_t buffer_id) noexcept;

/// Chips got their names: what was loaded on them before is reported now.
void report_waiting_programs() noexcept;

/// The mesh has its name again: so have parts of it that programs run on.
void name_parts_again(const Mesh& mesh) noexcept;

/// The mesh was closed: parts of it that programs ran on end with it.
void close_parts(const Mesh& mesh) noexcept;

/// The kernel ring of a worker core in bytes, as the runtime set it up last; 0 unknown.
uint32_t kernel_ring_bytes() noexcept;

inline uint64_t word_of(const void* pointer) noexcept { return reinterpret_cast<uintptr_t>(pointer); }

}  // namespace ttmem::hook
