#include "journal/dead_journals.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "journal/clock.hpp"
#include "journal/identity.hpp"
#include "journal/layout.hpp"
#include "journal/lock.hpp"

namespace ttmem {
namespace {

struct Candidate {
    char name[80];
    int64_t modified_ns;
    uint64_t bytes;
    bool has_incidents;
};

/// Numbers that cannot be predicted: which files are examined is not for others to choose.
class Dice {
public:
    Dice() noexcept {
        if (getrandom(&state_, sizeof state_, GRND_NONBLOCK) != sizeof state_) state_ = nanoseconds(CLOCK_MONOTONIC);
        state_ |= 1;
    }
    uint32_t below(uint32_t end) noexcept {  // xorshift64
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return static_cast<uint32_t>(state_ >> 16) % end;
    }

private:
    uint64_t state_ = 0;
};

bool is_journal_name(const char* name) noexcept {
    constexpr char kEnding[] = ".journal";
    constexpr size_t kTail = sizeof kEnding - 1;
    const size_t length = std::strlen(name);
    return name[0] != '.' && length > kTail && length < sizeof(Candidate::name) &&
           std::strcmp(name + length - kTail, kEnding) == 0;
}

// Every name has the same chance to be among the candidates (reservoir sampling).
uint32_t draw_names(int directory, Candidate* candidates, const ClearingBounds& bounds, uint32_t& listed) noexcept {
    const uint32_t most = bounds.examined_most;
    alignas(8) char batch[16 << 10];
    Dice dice;
    uint32_t count = 0, names = 0;
    lseek(directory, 0, SEEK_SET);
    for (long got;
         listed < bounds.listed_most && (got = syscall(SYS_getdents64, directory, batch, sizeof batch)) > 0;) {
        for (long at = 0; at < got && listed < bounds.listed_most; ++listed) {
            uint16_t bytes;  // of struct linux_dirent64: inode, offset, length, type, name
            std::memcpy(&bytes, batch + at + 16, sizeof bytes);
            const char* name = batch + at + 19;
            at += bytes;
            if (!is_journal_name(name)) continue;
            const uint32_t place = ++names <= most ? count++ : dice.below(names);
            if (place < most) std::snprintf(candidates[place].name, sizeof candidates->name, "%s", name);
        }
    }
    return count;
}

bool may_be_ours(const struct stat& facts, uint32_t own_uid) noexcept {
    return S_ISREG(facts.st_mode) && facts.st_uid == own_uid && facts.st_size >= static_cast<off_t>(sizeof(Identity));
}

bool has_incidents(int file, const Identity& identity) noexcept {
    uint64_t incidents = 0;
    return identity.version == kVersion &&
           pread(file, &incidents, sizeof incidents, offsetof(Header, incidents)) == sizeof incidents && incidents != 0;
}

// Dead: our own kind of file, no process holds its lock, and its process is gone (or of another pid namespace).
bool is_dead(int directory, Candidate& candidate, uint32_t own_uid, const Identity& self, uint32_t& opened) noexcept {
    struct stat facts{};
    if (fstatat(directory, candidate.name, &facts, AT_SYMLINK_NOFOLLOW) != 0 || !may_be_ours(facts, own_uid))
        return false;
    const int file = openat(directory, candidate.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return false;
    ++opened;
    Identity identity{};
    const bool is_left = fstat(file, &facts) == 0 && may_be_ours(facts, own_uid) &&
                         pread(file, &identity, sizeof identity, 0) == sizeof identity && identity.magic == kMagic &&
                         lock_holder(file) == kUnlocked;
    candidate.has_incidents = is_left && has_incidents(file, identity);
    close(file);
    if (!is_left) return false;
    if (identity.pid_namespace == self.pid_namespace && identity.boot_id[0] == self.boot_id[0] &&
        start_ticks_of(static_cast<pid_t>(identity.pid)) == identity.start_ticks)
        return false;
    candidate.modified_ns = int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec;
    candidate.bytes = static_cast<uint64_t>(facts.st_blocks) * 512;
    return true;
}

// Puts the newest first, perhaps only of those with incidents; returns how many are so, and adds up their bytes.
uint32_t keep_newest(Candidate* dead, uint32_t count, uint32_t most, bool with_incidents_only, uint64_t bytes_most,
                     uint64_t& bytes) noexcept {
    uint32_t kept = 0;
    for (; kept < count && kept < most; ++kept) {
        uint32_t newest = count;
        for (uint32_t i = kept; i < count; ++i)
            if ((dead[i].has_incidents || !with_incidents_only) &&
                (newest == count || dead[i].modified_ns > dead[newest].modified_ns))
                newest = i;
        if (newest == count || bytes + dead[newest].bytes > bytes_most) break;
        std::swap(dead[kept], dead[newest]);
        bytes += dead[kept].bytes;
    }
    return kept;
}

uint32_t keep_newest(Candidate* dead, uint32_t count, const ClearingBounds& bounds) noexcept {
    uint64_t bytes = 0;
    const uint32_t told = keep_newest(dead, count, bounds.most_with_incidents, true, bounds.most_bytes, bytes);
    return told + keep_newest(dead + told, count - told, bounds.most_count, false, bounds.most_bytes, bytes);
}

}  // namespace

Cleared remove_dead_journals(int directory, uint32_t own_uid, const ClearingBounds& bounds) noexcept {
    Cleared done;
    const size_t bytes = bounds.examined_most * sizeof(Candidate);
    void* room = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return done;
    auto* candidates = static_cast<Candidate*>(room);
    done.examined = draw_names(directory, candidates, bounds, done.listed);
    Identity self{};
    if (done.examined != 0) identify_self(self);
    uint32_t dead = 0;
    for (uint32_t i = 0; i < done.examined; ++i)
        if (is_dead(directory, candidates[i], own_uid, self, done.opened)) candidates[dead++] = candidates[i];
    const uint32_t kept = keep_newest(candidates, dead, bounds);
    for (const bool with_incidents : {false, true})
        for (uint32_t i = kept; i < dead && done.removed < kRemovedMost; ++i)
            if (candidates[i].has_incidents == with_incidents)
                done.removed += unlinkat(directory, candidates[i].name, 0) == 0;
    munmap(room, bytes);
    return done;
}

}  // namespace ttmem
