// The lock that says alive: a POSIX record lock its writer holds on the whole journal.
//
// A forked child does not inherit it and a zombie has lost it; the kernel names the holder in the asker's own pid
// namespace. Closing any descriptor of the file inside the holding process drops it, so a process never opens its
// own journal.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

namespace ttmem {

inline constexpr pid_t kUnlocked = -1;
inline constexpr pid_t kUnseenHolder = 0;    // a process of a pid namespace that is not ours to see
inline constexpr pid_t kUnnamedHolder = -2;  // the kernel does not say who: no writer takes such a lock

/// Works on a descriptor opened for reading only.
inline pid_t lock_holder(int file) noexcept {
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (fcntl(file, F_GETLK, &lock) != 0) return kUnnamedHolder;  // unknown: never reap on a guess
    if (lock.l_type == F_UNLCK) return kUnlocked;
    return lock.l_pid >= 0 ? lock.l_pid : kUnnamedHolder;  // below 0: an open file description's, or a remote one
}

inline bool take_lock(int file) noexcept {
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    return fcntl(file, F_SETLK, &lock) == 0;
}

}  // namespace ttmem
