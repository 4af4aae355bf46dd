// What the runtime's Inspector is told of a launch: the device operation, by the runtime's own name.
//
// On a card the Inspector is on, and each launch tells it an entry just before; on mock chips it never is. It is only
// listened to: what the launch itself says (callers.hpp) is thereby confirmed, or marked.
#pragma once

#include "hook/naming/callers.hpp"

namespace ttmem::hook {

/// The entry of the launch that this thread is about to make, for an operation that is yet to be named; "": none.
struct LaunchEntry {
    const void* workload;  // the runtime's MeshWorkloadImpl
    char name[Operation::kMost];
};
extern thread_local __attribute__((tls_model("initial-exec"))) LaunchEntry launch_entry;

/// Makes `device` what both say: where only the Inspector names one, that; where they differ, both, marked.
void confirm_by_entry(const void* workload, Operation& operation) noexcept;

}  // namespace ttmem::hook
