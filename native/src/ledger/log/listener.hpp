// Who wants to know what happens in the books: a recording. While nobody does, every place that would tell costs one test of a
// pointer.
//
// All of it is called by the holder of the books, and before the change takes effect, but for `balance`.
#pragma once

#include <cstdint>

#include "journal/layout.hpp"

namespace ttmem {

class Listener {
public:
    virtual ~Listener() = default;

    /// A record that changes the book of a process. Its beginning of a life names no life that it replaced: that one has
    /// ended before.
    virtual void record(uint64_t process, const RecordCopy& words) = 0;
    /// A life ends by itself; those that end with their target or their process are not told one by one.
    virtual void ended(uint64_t process, const RecordCopy& life, uint64_t sequence, uint64_t time,
                       bool is_replaced) = 0;
    virtual void resized(uint64_t process, const RecordCopy& life, uint64_t bytes, uint64_t sequence) = 0;
    /// A target stands for a chip or a mesh from now on; `descriptor` is an item of the arena.
    virtual void opened(uint64_t process, uint16_t target, uint64_t unique_id, uint32_t descriptor) = 0;
    /// Its figures count no more, or again.
    virtual void shared(uint64_t process, bool is_shared) = 0;
    /// It is not followed record by record from now on.
    virtual void lost(uint64_t process) = 0;
    /// What is alive is exact again. From now on, and at the first beginning, it is followed.
    virtual void settled(uint64_t process) = 0;
    /// It ended, or its journal turned out to be damaged: what it held is given back.
    virtual void process_ended(uint64_t process) = 0;
    /// What a pool of a chip holds now; `is_sure`: no process there is between a scan and exactness.
    virtual void balance(uint32_t device, uint8_t pool, int64_t used, bool is_sure) = 0;
};

}  // namespace ttmem
