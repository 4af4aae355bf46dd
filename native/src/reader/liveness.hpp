// Is the writer of a journal alive, and which process is it? Asked of the kernel, never of the journal: a header may name
// any process. The answer never ends the living, and never shows figures under a process that did not write them.
//
//   lock                        the process it names                                  answer
//   held by a process           owns the file, or maps it                             alive, that process
//                               neither                                               alive, unverified
//   held, in another namespace  -                                                     alive, not to be seen from here
//   held, the holder unnamed    as without a lock; if that names none               alive, unverified
//   held by none                none has the header's pid                             dead (killed, container), claimed
//                               another has the header's pid                          dead, unverified
//                               is there, owns the file and maps it                   alive, `lock lost`
//                               is there, maps it and does not own it                 alive, unverified
//                               is there and does not map it                          dead: became another program by exec
//                               is there and may not be looked at                     alive, unverified
//
// What a header alone claims of a dead process can be a stranger's number, or become one: anyone who keeps the answer asks
// again whether a process has it (is_pid_in_use). A file that others may write to is unverified when its writer is dead, too.
//
// A process owns a file if the file belongs to root or to one of the process's real, effective or saved uids, and no process
// else may write to it. It maps a file if its maps have the inode, on tmpfs with the device: elsewhere (btrfs, overlay)
// the device in maps is another than stat's.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "journal/layout.hpp"

namespace ttmem {

struct Liveness {
    bool is_alive = true;
    bool has_lost_lock = false;
    bool is_verified = true;   // false: the process that wrote it is not known
    bool is_claimed = false;   // dead, and only the header names the process: no process has its pid now
    pid_t pid = 0;             // in our own pid namespace; 0: not visible from here, or not known
    uint32_t uid = 0;          // of the process, if it is known; else the file's owner
    uint64_t start_ticks = 0;  // of the process, if it is known
};

/// What earlier looks have found out; `pid` 0 at the first. `is_holder`: that process held the lock and was verified.
/// `is_watched`: it has been alive ever since (a pidfd says), so that its lock is all there is to ask for; else its start
/// time says.
struct KnownWriter {
    pid_t pid = 0;
    uint32_t uid = 0;
    uint64_t start_ticks = 0;
    bool is_holder = false, is_watched = false;
};

Liveness liveness_of(int file, const Identity& identity, const KnownWriter& known);

/// Whether a process that lives has this pid in our own pid namespace.
bool is_pid_in_use(pid_t pid);

/// A descriptor that becomes readable when the process ends, or -1.
int open_pidfd(pid_t pid);

/// The pid namespace of this process.
uint64_t own_pid_namespace();

}  // namespace ttmem
