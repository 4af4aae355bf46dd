#include "reader/liveness.hpp"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>

#include "journal/identity.hpp"
#include "journal/lock.hpp"

namespace ttmem {
namespace {

enum class Maps { has_it, lacks_it, unreadable };

// Does the process still map the file? /proc/PID/maps names device and inode of every mapping.
Maps look_into_maps(pid_t pid, uint64_t inode) {
    char path[48];
    std::snprintf(path, sizeof path, "/proc/%d/maps", static_cast<int>(pid));
    FILE* maps = std::fopen(path, "re");
    if (maps == nullptr) return Maps::unreadable;
    char line[1024];
    bool has_lines = false;
    Maps answer = Maps::lacks_it;
    while (std::fgets(line, sizeof line, maps) != nullptr) {
        has_lines = true;
        uint64_t found = 0;
        // The device shown in maps is the file system's own and may differ from what stat says: the inode decides.
        if (std::sscanf(line, "%*x-%*x %*2c%*c%*c %*x %*x:%*x %" SCNu64, &found) == 1 && found == inode)
            answer = Maps::has_it;
    }
    std::fclose(maps);
    return has_lines ? answer : Maps::unreadable;
}

}  // namespace

uint64_t own_pid_namespace() {
    struct stat ns{};
    return stat("/proc/self/ns/pid", &ns) == 0 ? ns.st_ino : 0;
}

int open_pidfd(pid_t pid) {
#ifdef SYS_pidfd_open
    return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
#else
    (void)pid;
    return -1;
#endif
}

Liveness liveness_of(int file, const Identity& identity, uint64_t inode) {
    const pid_t holder = lock_holder(file);
    if (holder != kNobody) return {true, false, holder};
    static const uint64_t own_namespace = own_pid_namespace();
    const auto pid = static_cast<pid_t>(identity.pid);
    if (identity.pid_namespace != own_namespace || start_ticks_of(pid) != identity.start_ticks ||
        identity.start_ticks == 0)
        return {false, false, pid};
    const Maps maps = look_into_maps(pid, inode);
    if (maps == Maps::lacks_it && start_ticks_of(pid) == identity.start_ticks) return {false, false, pid};
    return {true, true, pid};
}

}  // namespace ttmem
