#include "journal/directories.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "journal/environment.hpp"

namespace ttmem {
namespace {

constexpr char kShared[] = "/dev/shm";
constexpr int kPlaces = 4;
constexpr int kNotThere = -2;     // nothing to complain about
constexpr size_t kNameRoom = 96;  // for the file, behind the directory's path

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

int open_named(const char* named, char (&path)[kPathRoom]) noexcept {
    const auto length = std::snprintf(path, sizeof path, "%s", named);
    errno = ENAMETOOLONG;  // a path cut short would be another directory
    return static_cast<size_t>(length) + kNameRoom < sizeof path ? open_directory(path) : -1;
}

// Below a directory that others could have made, or may write to, ours would be theirs to replace.
int open_in_runtime(const char* runtime, char (&path)[kPathRoom]) noexcept {
    struct stat facts{};
    const auto length = std::snprintf(path, sizeof path, "%s/ttmem", runtime);
    if (static_cast<size_t>(length) + kNameRoom >= sizeof path || stat(runtime, &facts) != 0 ||
        facts.st_uid != geteuid() || (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return kNotThere;
    return open_directory(path);
}

// One that an earlier program of this user has made. What others have given such a name is theirs, and passed over.
bool find_further(const char* prefix, char (&path)[kPathRoom]) noexcept {
    constexpr long kNamesMost = 100'000;  // others may fill the directory
    const int shared = open(kShared, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (shared < 0) return false;
    alignas(8) char batch[16 << 10];
    const size_t length = std::strlen(prefix);
    bool is_found = false;
    long names = 0;
    for (long got; !is_found && names < kNamesMost && (got = syscall(SYS_getdents64, shared, batch, sizeof batch)) > 0;)
        for (long at = 0; at < got && !is_found; ++names) {
            uint16_t bytes;  // of struct linux_dirent64: inode, offset, length, type, name
            std::memcpy(&bytes, batch + at + 16, sizeof bytes);
            const char* name = batch + at + 19;
            at += bytes;
            struct stat facts{};
            if (std::strncmp(name, prefix, length) != 0 || std::strlen(name) > 64 ||
                fstatat(shared, name, &facts, AT_SYMLINK_NOFOLLOW) != 0 || facts.st_uid != geteuid() ||
                !S_ISDIR(facts.st_mode))
                continue;
            std::snprintf(path, sizeof path, "%s/%.64s", kShared, name);
            is_found = true;
        }
    close(shared);
    return is_found;
}

int open_further(char (&path)[kPathRoom]) noexcept {
    char prefix[32];
    std::snprintf(prefix, sizeof prefix, "ttmem-%u.", static_cast<unsigned>(geteuid()));
    if (find_further(prefix, path)) return open_directory(path);
    uint32_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) number = static_cast<uint32_t>(getpid());
    std::snprintf(path, sizeof path, "%s/%s%08x", kShared, prefix, number);
    return open_directory(path);
}

// Why a directory could not be used. It could not be opened, so its name is asked.
void describe(Trouble& trouble, const char* path, bool is_named) noexcept {
    const int why = errno;
    struct stat facts{};
    const bool is_there = lstat(path, &facts) == 0;
    const unsigned own = geteuid(), owner = facts.st_uid;
    trouble.next_step = is_named ? "make it, or set TTMEM_DIR to one that is"
                                 : "no other place can be used either: set TTMEM_DIR to a directory of your own";
    trouble.is_noteworthy = is_there && !is_named && owner != own;
    if (trouble.is_noteworthy)
        std::snprintf(trouble.what, sizeof trouble.what, "%s belongs to uid %u, not to uid %u", path, owner, own);
    else
        std::snprintf(trouble.what, sizeof trouble.what, "%s: not a directory this user may write to (%s)", path,
                      strerror(why));
}

}  // namespace

Directories::Directories(const char* asked) noexcept : named_(asked != nullptr ? asked : environment("TTMEM_DIR")) {
    if (named_ != nullptr && *named_ == '\0') named_ = nullptr;
}

void Directories::pass_over_device_of(int directory) noexcept {
    struct stat facts{};
    if (fstat(directory, &facts) == 0) full_device_ = facts.st_dev;
}

bool Directories::is_on_full_device(const char* above) const noexcept {
    struct stat facts{};
    return full_device_ != 0 && stat(above, &facts) == 0 && facts.st_dev == full_device_;
}

int Directories::open_place(int number, char (&path)[kPathRoom]) noexcept {
    const char* runtime = environment("XDG_RUNTIME_DIR");
    char usual[32];
    std::snprintf(usual, sizeof usual, "/run/user/%u", static_cast<unsigned>(geteuid()));
    switch (number) {
        case 0:
            if (named_ != nullptr) return open_named(named_, path);
            std::snprintf(path, sizeof path, "%s/ttmem-%u", kShared, static_cast<unsigned>(geteuid()));
            return open_directory(path);
        case 1:
            if (runtime == nullptr || *runtime != '/' || is_on_full_device(runtime)) return kNotThere;
            return open_in_runtime(runtime, path);
        case 2:
            return is_on_full_device(usual) ? kNotThere : open_in_runtime(usual, path);
        default:
            return is_on_full_device(kShared) ? kNotThere : open_further(path);
    }
}

int Directories::open_next(char (&path)[kPathRoom], Trouble& trouble) noexcept {
    const int count = is_default() ? kPlaces : 1;
    while (next_ < count) {
        const int directory = open_place(next_++, path);
        if (directory >= 0) return directory;
        if (directory != kNotThere && !trouble.is_set()) describe(trouble, path, !is_default());
    }
    return -1;
}

}  // namespace ttmem
