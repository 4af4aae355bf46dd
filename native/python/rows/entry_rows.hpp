// Single allocations of a process as plain Python rows: what `Ledger.allocations` hands out.
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <utility>
#include <vector>

#include "python/rows/rows.hpp"

namespace ttmem {

inline constexpr size_t kSiteMost = 2048;  // of a name or stack that is handed on

// Whose allocations are reported, with what all of them share.
struct EntrySource {
    EntrySource(const Process& whose, const Timebase& clock) : process(whose), time(clock), threads(whose.threads()) {}
    uint32_t thread_of(const RecordCopy& words) const {
        return words.thread() < threads.size() ? threads[words.thread()] : 0;
    }

    const Process& process;
    const Timebase& time;
    std::vector<uint32_t> threads;
};

// Buffers that are allocated by core have one row each, whatever their parts. A first part waits here until all are known;
// then it stands for the buffer, with the bytes of all.
class Joined {
public:
    explicit Joined(const Process& process) : is_reported_(process.way != Way::socket) {}

    /// Whether it has to wait.
    bool take(const RecordCopy& words) {
        if (!is_reported_ || !words.is_by_core()) return false;
        if (words.is_further())
            further_[{words.target(), words.id}].push_back(words);
        else
            first_.push_back(words);
        return true;
    }

    template <typename Visit>
    void for_each_buffer(Visit visit) const {
        for (const RecordCopy& first : first_) {
            RecordCopy whole = first;
            for (const RecordCopy& part : parts_after(first)) {
                whole.set_reserved(whole.reserved_bytes() + part.reserved_bytes());
                whole.set_requested(whole.requested_bytes() + part.requested_bytes());
            }
            visit(whole);
        }
    }

    /// (address, core count, core set) of each part; none for what is not allocated by core.
    nanobind::tuple parts_of(const RecordCopy& whole, const Book& book) const {
        nanobind::list rows;
        if (!is_reported_ || !whole.is_by_core()) return nanobind::tuple(rows);
        uint64_t rest = whole.core_count();
        const std::vector<RecordCopy>& others = parts_after(whole);
        for (const RecordCopy& part : others) rest -= std::min(rest, part.core_count());
        const auto add = [&](const RecordCopy& part, uint64_t core_count) {
            const uint32_t cores = part.core_set();
            rows.append(nanobind::make_tuple(part.buffer_address(), core_count,
                                             text(cores == 0 ? std::string() : book.text(cores).substr(0, kSiteMost))));
        };
        add(whole, rest);
        for (const RecordCopy& part : others) add(part, part.core_count());
        return nanobind::tuple(rows);
    }

private:
    const std::vector<RecordCopy>& parts_after(const RecordCopy& first) const {
        static const std::vector<RecordCopy> none;
        const auto found = first.next_part() == 0 ? further_.end() : further_.find({first.target(), first.id});
        return found == further_.end() ? none : found->second;
    }

    bool is_reported_;
    std::vector<RecordCopy> first_;
    std::map<std::pair<uint16_t, uint64_t>, std::vector<RecordCopy>> further_;
};

/// One of them, by its entry, which stands for all parts of a buffer that is allocated by core.
nanobind::tuple entry_row(const EntrySource& source, const Joined& joined, const RecordCopy& words);

/// By its key, or nullptr.
const Process* find_process(const Processes& processes, uint64_t key);

}  // namespace ttmem
