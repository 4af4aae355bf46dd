#include "journal/place.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "journal/clock.hpp"
#include "journal/environment.hpp"
#include "journal/identity.hpp"
#include "journal/lock.hpp"

namespace ttmem {
namespace {

bool refuse(NewJournal& journal, const char* what, const char* next_step) noexcept {
    const int why = errno;
    std::snprintf(journal.error, sizeof journal.error, "%s: %s (%s); %s", journal.path, what, strerror(why), next_step);
    return false;
}

// A directory of ours, not a link, owned by this user (or root, for one that an administrator set up).
int open_directory(const char* path) noexcept {
    if (mkdir(path, 0700) != 0 && errno != EEXIST) return -1;
    const int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory < 0) return -1;
    struct stat facts{};
    if (fstat(directory, &facts) == 0 && (facts.st_uid == geteuid() || facts.st_uid == 0) &&
        faccessat(directory, ".", W_OK | X_OK, AT_EACCESS) == 0)
        return directory;
    close(directory);
    errno = EACCES;
    return -1;
}

bool choose_directory(const char* asked, NewJournal& journal) noexcept {
    const char* wanted = asked != nullptr ? asked : environment("TTMEM_DIR");
    if (wanted != nullptr && *wanted != '\0') {
        const auto length = std::snprintf(journal.path, sizeof journal.path, "%s", wanted);
        errno = ENAMETOOLONG;  // a path cut short would be another directory
        if (static_cast<size_t>(length) + 1 + sizeof journal.name < sizeof journal.path)
            journal.directory = open_directory(journal.path);
        return journal.directory >= 0 ||
               refuse(journal, "not a directory this user may write to",
                      "make it, or set TTMEM_DIR to one that is; the program runs on untracked");
    }
    std::snprintf(journal.path, sizeof journal.path, "/dev/shm/ttmem-%u", static_cast<unsigned>(geteuid()));
    journal.directory = open_directory(journal.path);
    if (journal.directory >= 0) return true;
    const char* runtime = environment("XDG_RUNTIME_DIR");
    if (runtime != nullptr && *runtime == '/') {
        std::snprintf(journal.path, sizeof journal.path, "%s/ttmem", runtime);
        journal.directory = open_directory(journal.path);
        if (journal.directory >= 0) return true;
    }
    return refuse(journal, "cannot be used for journals",
                  "set TTMEM_DIR to a writable directory; the program runs on untracked");
}

// O_TMPFILE where the file system has it, else a dot name that viewers pass over.
int open_unnamed(NewJournal& journal) noexcept {
    const int file = openat(journal.directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0) return file;
    char dotted[96];
    std::snprintf(dotted, sizeof dotted, ".%s", journal.name);
    journal.has_dot_name = true;
    return openat(journal.directory, dotted, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
}

void fill_identity(NewJournal& journal, Sizes sizes) noexcept {
    const Plan plan = plan_of(sizes);
    auto& header = *static_cast<Header*>(journal.base);
    Identity& identity = header.identity;
    identify_self(identity);
    identity.magic = kMagic;
    identity.version = kVersion;
    identity.header_bytes = sizeof(Header);
    identity.file_bytes = plan.file;
    identity.targets_offset = plan.targets;
    identity.threads_offset = plan.threads;
    identity.slab_offset = plan.slab;
    identity.index_offset = plan.index;
    identity.ring_offset = plan.ring;
    identity.phases_offset = plan.phases;
    identity.arena_offset = plan.arena;
    identity.target_count = kTargets;
    identity.thread_count = kThreads;
    identity.table = sizes.table;
    identity.ring_slots = sizes.ring_slots;
    identity.phase_peaks = kPhasePeaks;
    identity.arena_bytes = kArenaBytes;
    for (uint32_t level = 0; level < kIndexLevels; ++level) identity.index_slots[level] = plan.index_slots[level];
    identity.first_sequence = 1;
    const ClockKind clock = trusted_clock();
    identity.clock_kind = clock;
    identity.clock_raw = raw_now(clock);
    identity.clock_monotonic_ns = nanoseconds(CLOCK_MONOTONIC);
    identity.clock_realtime_ns = nanoseconds(CLOCK_REALTIME);
    header.next_sequence.store(1, std::memory_order_relaxed);
    header.arena_used.store(8, std::memory_order_relaxed);  // id 0 stands for nothing
}

bool ends_with(const char* text, const char* end) noexcept {
    const size_t length = std::strlen(text), tail = std::strlen(end);
    return length > tail && std::strcmp(text + length - tail, end) == 0;
}

struct Corpse {
    int64_t modified_ns;
    uint64_t bytes;
    char name[80];
};

// Dead: our own kind of file, nobody holds its lock, and its process is gone (or of another pid namespace).
bool is_corpse(int directory, const char* name, uint32_t own_uid, Corpse& corpse) noexcept {
    const int file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return false;
    struct stat facts{};
    Identity identity{};
    Identity self{};
    bool dead = fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == own_uid &&
                pread(file, &identity, sizeof identity, 0) == sizeof identity && identity.magic == kMagic &&
                lock_holder(file) == kNobody;
    close(file);
    if (!dead) return false;
    identify_self(self);
    if (identity.pid_namespace == self.pid_namespace && identity.boot_id[0] == self.boot_id[0] &&
        start_ticks_of(static_cast<pid_t>(identity.pid)) == identity.start_ticks)
        return false;
    corpse.modified_ns = int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec;
    corpse.bytes = static_cast<uint64_t>(facts.st_blocks) * 512;
    std::snprintf(corpse.name, sizeof corpse.name, "%s", name);
    return true;
}

uint32_t collect_corpses(int directory, uint32_t own_uid, Corpse* corpses, uint32_t most) noexcept {
    struct Entry {
        uint64_t inode;
        int64_t offset;
        uint16_t length;
        uint8_t type;
        char name[1];
    };
    alignas(Entry) char batch[4096];
    uint32_t count = 0;
    lseek(directory, 0, SEEK_SET);
    for (long got; count < most && (got = syscall(SYS_getdents64, directory, batch, sizeof batch)) > 0;) {
        for (long at = 0; at < got && count < most;) {
            uint16_t length;
            std::memcpy(&length, batch + at + offsetof(Entry, length), sizeof length);
            const char* name = batch + at + offsetof(Entry, name);
            if (name[0] != '.' && std::strlen(name) < sizeof(Corpse::name) && ends_with(name, ".journal") &&
                is_corpse(directory, name, own_uid, corpses[count]))
                ++count;
            at += length;
        }
    }
    return count;
}

// A file beyond the process's own limit is refused with a signal that ends most programs.
bool is_within_limit(uint64_t bytes) noexcept {
    rlimit limit{};
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

}  // namespace

bool begin_journal(const char* asked_directory, Sizes sizes, NewJournal& journal) noexcept {
    if (!choose_directory(asked_directory, journal)) return false;
    Identity self{};
    identify_self(self);
    std::snprintf(journal.name, sizeof journal.name, "%u-%llu-%08x.journal", self.pid,
                  static_cast<unsigned long long>(self.start_ticks), static_cast<unsigned>(self.nonce));
    remove_dead_journals(journal.directory, self.uid);
    const char* next = "free some room there or set TTMEM_DIR; the program runs on untracked";
    journal.file = open_unnamed(journal);
    if (journal.file < 0) {
        refuse(journal, "no journal can be made here", next);
        abandon_journal(journal);
        return false;
    }
    journal.bytes = plan_of(sizes).file;
    struct stat facts{};
    void* base = MAP_FAILED;
    if (!is_within_limit(journal.bytes)) {
        errno = EFBIG;
        refuse(journal, "no journal can be made here", "raise the limit on file sizes; the program runs on untracked");
        abandon_journal(journal);
        return false;
    }
    if (fallocate(journal.file, 0, 0, static_cast<off_t>(journal.bytes)) == 0 && fstat(journal.file, &facts) == 0)
        base = mmap(nullptr, journal.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, journal.file, 0);
    if (base == MAP_FAILED) {
        refuse(journal, "no room for a journal", next);
        abandon_journal(journal);
        return false;
    }
    journal.base = base;
    journal.device = facts.st_dev;
    journal.inode = facts.st_ino;
    fill_identity(journal, sizes);
    return true;
}

bool name_journal(NewJournal& journal) noexcept {
    char dotted[96], descriptor[48];
    std::snprintf(dotted, sizeof dotted, ".%s", journal.name);
    std::snprintf(descriptor, sizeof descriptor, "/proc/self/fd/%d", journal.file);
    const bool named =
        take_lock(journal.file) &&
        (journal.has_dot_name ? renameat(journal.directory, dotted, journal.directory, journal.name) == 0
                              : linkat(AT_FDCWD, descriptor, journal.directory, journal.name, AT_SYMLINK_FOLLOW) == 0);
    if (!named) {
        refuse(journal, "the journal could not be named", "check the directory; the program runs on untracked");
        abandon_journal(journal);
        return false;
    }
    close(journal.directory);
    journal.directory = -1;
    const size_t length = std::strlen(journal.path);
    std::snprintf(journal.path + length, sizeof journal.path - length, "/%s", journal.name);
    return true;
}

void abandon_journal(NewJournal& journal) noexcept {
    if (journal.base != nullptr) munmap(journal.base, journal.bytes);
    if (journal.file >= 0) close(journal.file);
    if (journal.has_dot_name && journal.directory >= 0) {
        char dotted[96];
        std::snprintf(dotted, sizeof dotted, ".%s", journal.name);
        unlinkat(journal.directory, dotted, 0);
    }
    if (journal.directory >= 0) close(journal.directory);
    journal.base = nullptr;
    journal.file = journal.directory = -1;
}

void remove_dead_journals(int directory, uint32_t own_uid) noexcept {
    constexpr uint32_t kMost = 1024;
    void* room = mmap(nullptr, kMost * sizeof(Corpse), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return;
    auto* corpses = static_cast<Corpse*>(room);
    const uint32_t count = collect_corpses(directory, own_uid, corpses, kMost);
    uint64_t bytes = 0;
    for (uint32_t kept = 0; kept < count; ++kept) {  // selection by age, newest first: few files, no allocation
        uint32_t newest = kept;
        for (uint32_t i = kept + 1; i < count; ++i)
            if (corpses[i].modified_ns > corpses[newest].modified_ns) newest = i;
        const Corpse corpse = corpses[newest];
        corpses[newest] = corpses[kept];
        corpses[kept] = corpse;
        bytes += corpse.bytes;
        if (kept >= kDeadKept || bytes > kDeadBytesKept) unlinkat(directory, corpse.name, 0);
    }
    munmap(room, kMost * sizeof(Corpse));
}

}  // namespace ttmem
