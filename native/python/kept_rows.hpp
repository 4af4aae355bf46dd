// Rows of an overview that are kept until the next one: mostly little has changed by then.
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "python/books.hpp"

namespace ttmem {

/// Guarded by whoever holds the books, who has the interpreter's lock too.
class KeptRows {
public:
    struct Kept;

    KeptRows();
    ~KeptRows();
    /// A process, made anew if something of it has changed.
    const Kept& of(const Process& process, const Timebase& time, size_t device_count);
    /// Lets those go that are in the books no more.
    void forget(const Processes& processes);
    /// Whether all rows are what they were at the last call; `chips`: how often those changed by themselves.
    bool are_still(const Processes& processes, uint64_t chips);

    nanobind::dict rows;  // all of them, but those that depend on the moment

private:
    using Names = std::vector<std::pair<uint64_t, uint64_t>>;  // processes, and how often their figures have changed

    std::map<uint64_t, std::unique_ptr<Kept>> processes_;  // by key
    Names names_;
};

nanobind::dict overview_rows(Books& books, KeptRows& kept, nanobind::iterable pids);

}  // namespace ttmem
