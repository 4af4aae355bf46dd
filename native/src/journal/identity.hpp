// Who a process is: pid, start time, pid namespace, boot. Read from procfs with plain system calls, so that it may
// be asked inside a signal handler and after a fork.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "journal/layout.hpp"

namespace ttmem {

/// Reads at most `room - 1` bytes and ends them with 0. Returns the length, or -1.
long read_small_file(const char* path, char* text, size_t room) noexcept;

/// The start time in clock ticks since boot (field 22 of /proc/PID/stat); 0 when there is no such process.
/// A zombie counts as gone: it holds nothing any more (unless other threads of it live on).
uint64_t start_ticks_of(pid_t pid) noexcept;

/// Some thread of a process besides its first; 0 when there is none.
pid_t other_thread_of(pid_t pid) noexcept;

/// Fills pid, uid, start time, namespace, boot, nonce and command of this process.
void identify_self(Identity& identity) noexcept;

}  // namespace ttmem
