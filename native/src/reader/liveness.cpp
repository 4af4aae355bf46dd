#include "reader/liveness.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "journal/identity.hpp"
#include "journal/lock.hpp"

namespace ttmem {
namespace {

enum class Maps { has_it, lacks_it, unreadable };

Maps look_into_maps_of(pid_t pid, pid_t thread, uint64_t inode) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/task/%d/maps", static_cast<int>(pid), static_cast<int>(thread));
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

// Does the process still map the file? A first thread that has ended has no maps any more: then another one is asked.
Maps look_into_maps(pid_t pid, uint64_t inode) {
    const Maps first = look_into_maps_of(pid, pid, inode);
    const pid_t other = first == Maps::unreadable ? other_thread_of(pid) : 0;
    return other == 0 ? first : look_into_maps_of(pid, other, inode);
}

// A process of another pid namespace that holds no lock: it cannot be named, but it can be recognised by its start time
// and by the journal it maps.
pid_t find_by_map(uint64_t start_ticks, uint64_t inode) {
    DIR* processes = opendir("/proc");
    if (processes == nullptr) return 0;
    pid_t found = 0;
    while (const dirent* entry = readdir(processes)) {
        const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
        if (pid <= 0 || start_ticks_of(pid) != start_ticks || look_into_maps(pid, inode) != Maps::has_it) continue;
        found = pid;
        break;
    }
    closedir(processes);
    return found;
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

Liveness liveness_of(int file, const Identity& identity, uint64_t inode, pid_t known_pid) {
    const pid_t holder = lock_holder(file);
    if (holder != kNobody) return {true, false, holder};
    static const uint64_t own_namespace = own_pid_namespace();
    const auto named = static_cast<pid_t>(identity.pid);
    const bool is_foreign = identity.pid_namespace != own_namespace;
    const pid_t pid = is_foreign ? known_pid : named;
    if (identity.start_ticks == 0) return {false, false, named};
    if (pid == 0 || start_ticks_of(pid) != identity.start_ticks) {
        const pid_t found = is_foreign ? find_by_map(identity.start_ticks, inode) : 0;
        return {found != 0, found != 0, found != 0 ? found : named};
    }
    const Maps maps = look_into_maps(pid, inode);
    if (maps == Maps::lacks_it && start_ticks_of(pid) == identity.start_ticks) return {false, false, pid};
    return {true, true, pid};
}

}  // namespace ttmem
