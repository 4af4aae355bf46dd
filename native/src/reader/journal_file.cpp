#include "reader/journal_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>

#include "writer/owner.hpp"

namespace ttmem {
namespace {

constexpr size_t kSharesOfLimit = 4;      // half of the descriptors, two for each journal
constexpr size_t kOpenMost = 256 * 1024;  // where there is no limit

// Closing a descriptor of our own journal would drop its lock: rather one descriptor is lost.
bool is_our_own(const struct stat& facts) {
    Mapping own{};
    return owner().mapping(&own) != 0 && own.device == facts.st_dev && own.inode == facts.st_ino;
}

}  // namespace

bool is_descriptor(const std::string& path) {
    int pid = 0, number = 0, length = 0;
    return std::sscanf(path.c_str(), "/proc/%d/fd/%d%n", &pid, &number, &length) == 2 &&
           static_cast<size_t>(length) == path.size();
}

void JournalFiles::read_limit() {
    rlimit limit{};
    const bool is_known = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    const size_t share = is_known ? static_cast<size_t>(limit.rlim_cur) / kSharesOfLimit : kOpenMost;
    most_ = std::clamp<size_t>(share, 1, kOpenMost);
}

void JournalFiles::keep(JournalFile& file) {
    if (file.is_held_open_) return;
    if (visited_ == &file) visited_ = nullptr;
    file.is_held_open_ = true;
    kept_.push_back(&file);
}

void JournalFiles::release(JournalFile& file) {
    forget(file);
    file.close_now();
}

void JournalFiles::visit(JournalFile& file) {
    if (file.is_held_open_) return;
    if (visited_ != nullptr) visited_->close_now();
    visited_ = &file;
}

// For another file to be opened in its place.
bool JournalFiles::close_one() {
    JournalFile* file = visited_ != nullptr ? visited_ : (kept_.empty() ? nullptr : kept_.back());
    if (file == nullptr) return false;
    release(*file);
    return true;
}

void JournalFiles::forget(JournalFile& file) {
    if (visited_ == &file) visited_ = nullptr;
    if (file.is_held_open_) std::erase(kept_, &file);
    file.is_held_open_ = false;
}

JournalFile::~JournalFile() { files_.release(*this); }

void JournalFile::close_now() {
    if (file_ >= 0) close(file_);
    file_ = -1;
}

Reach JournalFile::reach() {
    if (file_ >= 0) return Reach::open;
    const Reach reached = open_now();
    if (reached == Reach::open) files_.visit(*this);
    return reached;
}

Reach JournalFile::open_now() {
    trouble_.clear();
    const int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | (is_descriptor(path_) ? 0 : O_NOFOLLOW);
    int opened = open(path_.c_str(), flags);
    for (int tries = 0; opened < 0 && (errno == EMFILE || errno == ENFILE || errno == EINTR) && tries < 4; ++tries) {
        if (errno != EINTR && !files_.close_one()) return Reach::later;
        opened = open(path_.c_str(), flags);
    }
    if (opened < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == EINTR || errno == ENOMEM) return Reach::later;
        if (errno != ENOENT && errno != ESRCH) trouble_ = std::string("cannot be opened: ") + strerror(errno);
        return Reach::gone;
    }
    if (is_same(opened)) {
        file_ = opened;
        return Reach::open;
    }
    struct stat facts{};
    if (fstat(opened, &facts) != 0 || !is_our_own(facts)) close(opened);
    return Reach::gone;
}

bool JournalFile::is_same(int opened) {
    struct stat facts{};
    if (fstat(opened, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        trouble_ = "not a regular file";
        return false;
    }
    if (facts.st_ino != inode_ || facts.st_dev != device_) return false;
    bytes_ = static_cast<uint64_t>(facts.st_size);
    owner_ = facts.st_uid;
    if (nonce_ == Nonce{}) return true;  // no process has read it yet
    Identity identity{};
    if (pread(opened, &identity, sizeof identity, 0) != sizeof identity)
        return true;  // cut: anyone who reads it says so
    return nonce_ == Nonce{identity.pid, identity.start_ticks, identity.nonce};
}

bool JournalFile::copy(uint64_t offset, void* to, size_t bytes) const noexcept {
    // Being open or not is no part of what a journal says.
    if (const_cast<JournalFile*>(this)->reach() != Reach::open) return false;
    auto* at = static_cast<char*>(to);
    while (bytes > 0) {
        const ssize_t got = pread(file_, at, bytes, static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        offset += static_cast<uint64_t>(got);
        bytes -= static_cast<size_t>(got);
    }
    return true;
}

}  // namespace ttmem
