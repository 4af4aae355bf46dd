// Which operation a buffer was allocated for.
//
// An operation allocates, then launches, all of it inside one call from Python. So each thread keeps its buffers since its
// last launch, as long as they come from one and the same Python stack; a launch from that very stack gives them its
// operation. Buffers from another line get none, nor do those of an operation that was refused before it launched, and
// those beyond the newest kPendingMost.
#pragma once

#include <cstdint>

#include "interpreter/sites.hpp"
#include "ttmem/client.h"
#include "writer/writer.hpp"

namespace ttmem::hook {

struct Workload;

inline constexpr uint32_t kPendingMost = 64;  // a power of two

/// The site that a thread looked for last, and by which number: a loop asks for it again and again.
struct LastSite {
    uint64_t number;
    uint32_t site, generation;

    /// As find_site().
    bool find(uint64_t wanted, uint32_t& found) noexcept {
        if (__builtin_expect(number == wanted && generation == the_writer.generation, 1)) {
            found = site;
            return true;
        }
        if (!find_site(wanted, found)) return false;
        *this = {wanted, found, the_writer.generation};
        return true;
    }
};

/// Of one thread. All zero before its first buffer.
struct alignas(64) Pending {
    LastSite last_asked, last_named;
    uint64_t stack;       // buffers come from
    uint32_t generation;  // of the journal that has them
    uint32_t count;       // how many there were; the newest kPendingMost are kept
    ttmem_handle handles[kPendingMost];
};
extern thread_local __attribute__((tls_model("initial-exec"))) Pending pending_buffers;

/// A buffer that was allocated on this thread by a stack of Python; 0: nobody knows by which.
void note_pending(uint64_t stack, ttmem_handle handle) noexcept;

/// The operation that the thread is in came to nothing.
inline void forget_pending() noexcept { pending_buffers.count = 0; }

/// The thread has launched: its buffers are the launch's, if they come from the same stack. `caller`: where it returns to.
void name_pending(const Workload& workload, const void* caller) noexcept;

}  // namespace ttmem::hook
