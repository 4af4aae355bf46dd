// Where a journal's bytes come from: a file that belongs to another process (journal_file.hpp), or this process's own
// mapping.
//
// A file is only ever copied with pread. A mapping of another process's file could be cut short under us, and the
// SIGBUS would be ours; a short read is just an answer.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "journal/layout.hpp"

namespace ttmem {

class Source {
public:
    Source() = default;
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;
    virtual ~Source() = default;
    /// Copies whole words; false when the bytes are not (or no longer) there.
    virtual bool copy(uint64_t offset, void* to, size_t bytes) const noexcept = 0;
};

class MemorySource final : public Source {
public:
    MemorySource(const void* base, uint64_t bytes) : base_(static_cast<const char*>(base)), bytes_(bytes) {}

    bool copy(uint64_t offset, void* to, size_t bytes) const noexcept override {
        if (offset > bytes_ || bytes > bytes_ - offset) return false;
        const char* from = base_ + offset;
        auto* at = static_cast<char*>(to);
        size_t done = 0;
        for (; done + 8 <= bytes; done += 8) {
            const uint64_t word = reinterpret_cast<const AtomicU64*>(from + done)->load(std::memory_order_acquire);
            std::memcpy(at + done, &word, 8);
        }
        if (done < bytes) std::memcpy(at + done, from + done, bytes - done);
        return true;
    }

private:
    const char* base_;
    uint64_t bytes_;
};

}  // namespace ttmem
