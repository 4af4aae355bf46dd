// Is the writer of a journal alive? Asked without its help, and never answered with a guess that could bury the living.
//
//   lock held by anyone                                             alive
//   nobody, and no process with its start time is to be found       dead (killed, zombie, reused pid, gone container)
//   nobody, the process is there and still maps the journal         alive, `lock lost`: it closed its descriptors
//   nobody, the process is there and no longer maps it              dead: it became another program by exec
//   nobody, the process is there and may not be looked at           alive, `lock lost`
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "journal/layout.hpp"

namespace ttmem {

struct Liveness {
    bool is_alive = true;
    bool has_lost_lock = false;
    pid_t pid = 0;  // in our own pid namespace; 0: alive but not visible from here
};

/// `known_pid`: what an earlier look named, in our own pid namespace; 0 at the first.
Liveness liveness_of(int file, const Identity& identity, uint64_t inode, pid_t known_pid);

/// A descriptor that becomes readable when the process ends, or -1.
int open_pidfd(pid_t pid);

/// The pid namespace of this process.
uint64_t own_pid_namespace();

}  // namespace ttmem
