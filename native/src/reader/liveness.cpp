#include "reader/liveness.hpp"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "journal/identity.hpp"
#include "journal/lock.hpp"

namespace ttmem {
namespace {

constexpr long kTmpfs = 0x01021994;
constexpr uint32_t kStandInUid = 65534;  // how uids look that a user namespace has no number for
constexpr int kLooksMost = 4;

/// What the kernel says of a journal's file.
struct File {
    uint64_t inode = 0, device = 0;
    uint32_t owner = 0;
    bool is_tmpfs = false;
    bool is_owners_alone = false;  // no other process may write to it
};

struct Uids {
    bool is_known = false;
    uint32_t real = 0, effective = 0, saved = 0;
};

File facts_of(int file) {
    File facts;
    struct stat found{};
    struct statfs system{};
    if (fstat(file, &found) != 0) return facts;
    facts.inode = found.st_ino;
    facts.device = found.st_dev;
    facts.owner = found.st_uid;
    facts.is_owners_alone = (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
    facts.is_tmpfs = fstatfs(file, &system) == 0 && static_cast<long>(system.f_type) == kTmpfs;
    return facts;
}

Uids uids_of(pid_t pid) {
    Uids uids;
    char path[48], text[4096];
    std::snprintf(path, sizeof path, "/proc/%d/status", static_cast<int>(pid));
    if (read_small_file(path, text, sizeof text) <= 0) return uids;
    const char* line = std::strstr(text, "\nUid:");  // the name before it has no line breaks: the kernel escapes them
    uids.is_known = line != nullptr && std::sscanf(line, "\nUid: %" SCNu32 " %" SCNu32 " %" SCNu32, &uids.real,
                                                   &uids.effective, &uids.saved) == 3;
    return uids;
}

bool is_one_of(const Uids& uids, uint32_t uid) {
    return uid == uids.real || uid == uids.effective || uid == uids.saved;
}

// In a user namespace all uids of outside look alike: that two of them are equal says nothing.
bool is_uid_reported(uint32_t uid) {
    static const bool sees_all = [] {
        char text[128];
        unsigned inside = 1, outside = 1, count = 0;
        return read_small_file("/proc/self/uid_map", text, sizeof text) <= 0 ||
               (std::sscanf(text, "%u %u %u", &inside, &outside, &count) == 3 && inside == 0 && outside == 0 &&
                count == UINT32_MAX);
    }();
    return sees_all || uid != kStandInUid;
}

bool owns(const Uids& uids, const File& file) {
    if (!file.is_owners_alone) return false;
    return file.owner == 0 || (uids.is_known && is_uid_reported(file.owner) && is_one_of(uids, file.owner));
}

enum class Maps { has_it, lacks_it, unreadable };

Maps look_into_maps_of(pid_t pid, pid_t thread, const File& file) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/task/%d/maps", static_cast<int>(pid), static_cast<int>(thread));
    FILE* maps = std::fopen(path, "re");
    if (maps == nullptr) return Maps::unreadable;
    char line[1024];
    bool has_lines = false;
    Maps answer = Maps::lacks_it;
    while (std::fgets(line, sizeof line, maps) != nullptr) {
        has_lines = true;
        uint64_t inode = 0;
        unsigned major = 0, minor = 0;
        if (std::sscanf(line, "%*x-%*x %*2c%*c%*c %*x %x:%x %" SCNu64, &major, &minor, &inode) == 3 &&
            inode == file.inode && (!file.is_tmpfs || makedev(major, minor) == file.device))
            answer = Maps::has_it;
    }
    std::fclose(maps);
    return has_lines ? answer : Maps::unreadable;
}

// Does the process still map the file? A first thread that has ended has no maps any more: then another one is asked.
Maps look_into_maps(pid_t pid, const File& file) {
    const Maps first = look_into_maps_of(pid, pid, file);
    const pid_t other = first == Maps::unreadable ? other_thread_of(pid) : 0;
    return other == 0 ? first : look_into_maps_of(pid, other, file);
}

// A process of another pid namespace that holds no lock: it cannot be named, but it can be recognised by its start time,
// its owner and the journal it maps.
pid_t find_by_map(uint64_t start_ticks, const File& file) {
    DIR* processes = opendir("/proc");
    if (processes == nullptr) return 0;
    pid_t found = 0;
    while (const dirent* entry = readdir(processes)) {
        const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
        if (pid <= 0 || start_ticks_of(pid) != start_ticks || !owns(uids_of(pid), file) ||
            look_into_maps(pid, file) != Maps::has_it)
            continue;
        found = pid;
        break;
    }
    closedir(processes);
    return found;
}

bool is_foreign(const Identity& identity) {
    static const uint64_t own_namespace = own_pid_namespace();
    return identity.pid_namespace != own_namespace;
}

// Whom a file's owner is shown as: the process itself, where root made the file for it.
uint32_t shown_uid(const Uids& uids, const File& file) {
    return uids.is_known && !is_one_of(uids, file.owner) ? uids.effective : file.owner;
}

Liveness unverified(const File& file) {
    return {.is_alive = true, .has_lost_lock = false, .is_verified = false, .uid = file.owner};
}

// No process has confirmed the process that the header names. Its number is shown only while no process has it: it would be
// read as that process.
Liveness ended(const Identity& identity, const File& file) {
    const auto named = static_cast<pid_t>(identity.pid);
    const bool may_be_named = named > 0 && file.is_owners_alone && !is_pid_in_use(named);
    return {.is_alive = false,
            .is_verified = may_be_named,
            .is_claimed = may_be_named,
            .pid = may_be_named && !is_foreign(identity) ? named : 0,
            .uid = file.owner,
            .start_ticks = identity.start_ticks};
}

Liveness of_holder(pid_t holder, const File& file) {
    const Uids uids = uids_of(holder);
    const bool may_be_hidden = file.is_owners_alone && !uids.is_known;
    const bool is_its_own =
        owns(uids, file) || may_be_hidden || (file.is_owners_alone && look_into_maps(holder, file) == Maps::has_it);
    if (!is_its_own) return unverified(file);
    return {.pid = holder, .uid = shown_uid(uids, file), .start_ticks = start_ticks_of(holder)};
}

// No process holds the lock, or the kernel does not say who: the process that the header names has to prove itself.
Liveness of_header(const Identity& identity, const File& file, pid_t known_pid) {
    const bool is_elsewhere = is_foreign(identity);
    const auto named = static_cast<pid_t>(identity.pid);
    pid_t pid = is_elsewhere ? known_pid : named;
    if (identity.start_ticks == 0) return ended(identity, file);
    if (pid <= 0 || start_ticks_of(pid) != identity.start_ticks)
        pid = is_elsewhere ? find_by_map(identity.start_ticks, file) : 0;
    if (pid <= 0) return ended(identity, file);
    const Uids uids = uids_of(pid);
    const bool is_owner = owns(uids, file);
    const Maps maps = look_into_maps(pid, file);
    if (start_ticks_of(pid) != identity.start_ticks) return ended(identity, file);  // meanwhile
    if (maps == Maps::lacks_it)
        return {.is_alive = false,
                .is_verified = is_owner,  // else the header names another process's process
                .pid = is_owner ? pid : 0,
                .uid = file.owner,
                .start_ticks = identity.start_ticks};
    if (!is_owner || maps != Maps::has_it) return unverified(file);
    return {.has_lost_lock = true, .pid = pid, .uid = shown_uid(uids, file), .start_ticks = identity.start_ticks};
}

bool is_same(pid_t holder, const KnownWriter& known) {
    return holder > 0 && holder == known.pid && known.is_holder &&
           (known.is_watched || (known.start_ticks != 0 && start_ticks_of(holder) == known.start_ticks));
}

Liveness judged(pid_t holder, int descriptor, const Identity& identity, const KnownWriter& known) {
    if (is_same(holder, known)) return {.pid = known.pid, .uid = known.uid, .start_ticks = known.start_ticks};
    const File file = facts_of(descriptor);
    if (holder > 0) return of_holder(holder, file);
    if (holder == kUnseenHolder && is_foreign(identity))
        return {.uid = file.owner, .start_ticks = identity.start_ticks};
    Liveness life = of_header(identity, file, known.pid);
    if (holder == kUnlocked) return life;
    if (!life.is_alive) return unverified(file);  // a process holds the lock: no process is ended
    life.has_lost_lock = false;
    return life;
}

}  // namespace

uint64_t own_pid_namespace() {
    struct stat ns{};
    return stat("/proc/self/ns/pid", &ns) == 0 ? ns.st_ino : 0;
}

// A number that we may not ask about belongs to another process.
bool is_pid_in_use(pid_t pid) {
    if (kill(pid, 0) != 0) return errno == EPERM;
    return start_ticks_of(pid) != 0;
}

int open_pidfd(pid_t pid) {
#ifdef SYS_pidfd_open
    return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
#else
    (void)pid;
    return -1;
#endif
}

// The holder may end while it is looked at, and another process get its pid: what was read counts if the lock is held by
// the same one before and after.
Liveness liveness_of(int file, const Identity& identity, const KnownWriter& known) {
    Liveness life;
    pid_t holder = lock_holder(file);
    for (int looks = 0; looks < kLooksMost; ++looks) {
        life = judged(holder, file, identity, known);
        if (holder <= 0 || (known.is_watched && holder == known.pid)) return life;
        const pid_t before = holder;
        holder = lock_holder(file);
        if (holder == before) return life;
    }
    life.is_verified = false;  // it changes hands all the time
    life.pid = 0;
    return life;
}

}  // namespace ttmem
