#include "journal/place.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "journal/clock.hpp"
#include "journal/dead_journals.hpp"
#include "journal/directories.hpp"
#include "journal/identity.hpp"
#include "journal/lock.hpp"

namespace ttmem {
namespace {

constexpr char kRunsOn[] = "the program runs on untracked";

bool refuse(NewJournal& journal, const Trouble& trouble) noexcept {
    std::snprintf(journal.message, sizeof journal.message, "%s; %s; %s", trouble.what, trouble.next_step, kRunsOn);
    return false;
}

void describe(Trouble& trouble, const NewJournal& journal, const char* what, const char* next_step) noexcept {
    const int why = errno;
    if (trouble.is_set()) return;
    std::snprintf(trouble.what, sizeof trouble.what, "%s: %s (%s)", journal.path, what, strerror(why));
    trouble.next_step = next_step;
}

void describe_lack_of_room(Trouble& trouble, const NewJournal& journal) noexcept {
    const int why = errno;
    struct statvfs room{};
    char what[112];
    fstatvfs(journal.directory, &room);
    const auto tenths = [](uint64_t bytes) noexcept { return static_cast<unsigned long long>(bytes * 10 >> 20); };
    const auto needed = tenths(journal.reserved_bytes) + 1;  // rather too much than too little
    const auto left = tenths(uint64_t{room.f_bavail} * room.f_frsize);
    std::snprintf(what, sizeof what, "no room for a journal: it needs %llu.%llu MiB, and %llu.%llu MiB are free there",
                  needed / 10, needed % 10, left / 10, left % 10);
    errno = why;
    const bool is_first = !trouble.is_set();
    describe(trouble, journal, what, "make room, lower TTMEM_TABLE, or set TTMEM_DIR to another file system");
    if (is_first) trouble.is_noteworthy = true;
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

// The name of a journal follows from its identity: who has it open, and no name, finds it by that.
void fill_identity(NewJournal& journal, Sizes sizes, const Identity& self) noexcept {
    const Plan plan = plan_of(sizes);
    auto& header = *static_cast<Header*>(journal.base);
    Identity& identity = header.identity;
    identity = self;
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
    identity.incidents_offset = plan.incidents;
    identity.copies_offset = plan.copies;
    identity.stack_nodes_offset = plan.stack_nodes;
    identity.stack_texts_offset = plan.stack_texts;
    identity.incident_slots = kIncidentSlots;
    identity.incident_entries = kIncidentEntries;
    identity.stack_nodes = kStackNodes;
    identity.stack_text_bytes = kStackTextBytes;
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
    const ClockPair pair = take_pair(clock);
    identity.clock_raw = pair.raw;
    identity.clock_monotonic_ns = pair.monotonic_ns;
    identity.clock_realtime_ns = pair.realtime_ns;
    header.next_sequence.store(1, std::memory_order_relaxed);
    header.arena_used.store(8, std::memory_order_relaxed);  // id 0 stands for nothing
    header.stack_nodes_used.store(1, std::memory_order_relaxed);
    header.stack_texts_used.store(8, std::memory_order_relaxed);
}

// A file beyond the process's own limit is refused with a signal that ends most programs.
bool is_within_limit(uint64_t bytes) noexcept {
    rlimit limit{};
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

}  // namespace

namespace {

bool is_lack_of_room(int why) noexcept { return why == ENOSPC || why == EDQUOT; }

// Reserved up to its holes: a full file system then refuses here, and does not end the host later.
bool reserve(NewJournal& journal) noexcept {
    const auto bytes = static_cast<off_t>(journal.reserved_bytes);
    if (ftruncate(journal.file, static_cast<off_t>(journal.bytes)) != 0) return false;
    if (fallocate(journal.file, 0, 0, bytes) == 0) return true;
    if (!is_lack_of_room(errno)) return false;
    for (const uint32_t with_incidents : {8, 4, 2, 1, 0}) {  // what lives goes before what is kept of the dead
        ClearingBounds bounds = kMakeRoom;
        bounds.most_with_incidents = with_incidents;
        remove_dead_journals(journal.directory, geteuid(), bounds);
        if (fallocate(journal.file, 0, 0, bytes) == 0) return true;
    }
    return false;
}

// One range of addresses: what is reserved is there at once, pages of the holes when they were asked for.
void* map_journal(const NewJournal& journal) noexcept {
    constexpr int kAccess = PROT_READ | PROT_WRITE;
    void* base = mmap(nullptr, journal.bytes, kAccess, MAP_SHARED, journal.file, 0);
    if (base == MAP_FAILED) return base;
    void* again = mmap(base, journal.reserved_bytes, kAccess, MAP_SHARED | MAP_FIXED | MAP_POPULATE, journal.file, 0);
    if (again != MAP_FAILED) return base;
    munmap(base, journal.bytes);
    return MAP_FAILED;
}

// Says why, and what to do about it, if nothing was said before. Returns whether there was no room.
bool complain(Trouble& trouble, const NewJournal& journal, const char* what, const char* next_step) noexcept {
    const bool has_no_room = is_lack_of_room(errno);
    if (has_no_room)
        describe_lack_of_room(trouble, journal);
    else
        describe(trouble, journal, what, next_step);
    return has_no_room;
}

enum class Outcome { made, no_room, refused };

// The file has no name yet.
Outcome make_file(NewJournal& journal, Trouble& trouble) noexcept {
    constexpr char kNothing[] = "no journal can be made here";
    constexpr char kNext[] = "check the directory, or set TTMEM_DIR to another";
    journal.file = open_unnamed(journal);
    if (journal.file < 0) return complain(trouble, journal, kNothing, kNext) ? Outcome::no_room : Outcome::refused;
    if (!is_within_limit(journal.bytes)) {
        errno = EFBIG;
        journal.is_too_large = true;
        describe(trouble, journal, kNothing, "raise the limit on file sizes");
        return Outcome::refused;
    }
    struct stat facts{};
    void* base = MAP_FAILED;
    if (reserve(journal) && fstat(journal.file, &facts) == 0) base = map_journal(journal);
    if (base == MAP_FAILED)
        return complain(trouble, journal, "no room for a journal", kNext) ? Outcome::no_room : Outcome::refused;
    journal.base = base;
    journal.device = facts.st_dev;
    journal.inode = facts.st_ino;
    return Outcome::made;
}

}  // namespace

bool begin_journal(const char* asked_directory, Sizes sizes, NewJournal& journal) noexcept {
    Identity self{};
    identify_self(self);
    std::snprintf(journal.name, sizeof journal.name, "%u-%llu-%08x.journal", self.pid,
                  static_cast<unsigned long long>(self.start_ticks), static_cast<unsigned>(self.nonce));
    journal.bytes = plan_of(sizes).file;
    journal.reserved_bytes = plan_of(sizes).holes;
    Directories directories(asked_directory);
    journal.is_in_default_place = directories.is_default();
    Trouble trouble;
    while ((journal.directory = directories.open_next(journal.path, trouble)) >= 0) {
        remove_dead_journals(journal.directory, self.uid);
        const Outcome outcome = make_file(journal, trouble);
        if (outcome == Outcome::made) {
            if (trouble.is_noteworthy)
                std::snprintf(journal.message, sizeof journal.message, "%s; the journal of this program is in %s",
                              trouble.what, journal.path);
            fill_identity(journal, sizes, self);
            return true;
        }
        if (outcome == Outcome::no_room) {
            directories.pass_over_device_of(journal.directory);
            journal.is_too_large = true;
        }
        abandon_journal(journal);
        if (outcome == Outcome::refused) break;
    }
    return refuse(journal, trouble);
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
        Trouble trouble;
        describe(trouble, journal, "the journal could not be named", "check the directory");
        abandon_journal(journal);
        return refuse(journal, trouble);
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

}  // namespace ttmem
