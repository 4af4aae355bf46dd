// What was alive at the peak of a process, as plain Python rows.
#include "python/rows/entry_rows.hpp"
#include "python/testing/flat_rows.hpp"

namespace nb = nanobind;

namespace ttmem {

// Alive at the peak: made at or before it and not freed before it.
nb::tuple alive_at_peak_rows(Books& books, uint64_t key, uint32_t device, uint8_t pool) {
    return books.look([=](Processes& processes, Devices&, const Timebase& time, const auto&) {
        nb::list rows;
        const Process* process = find_process(processes, key);
        if (process == nullptr || pool >= kPools) return nb::make_tuple(rows, false);
        const auto cell = process->book.cells().find(device);
        if (cell == process->book.cells().end()) return nb::make_tuple(rows, true);
        const EntrySource source(*process, time);
        const PeakAmount& amount = cell->second.pools[pool];
        const uint64_t peak = amount.peak_sequence;
        const auto is_there = [&](const RecordCopy& words) {
            return words.pool() == pool && words.sequence() <= peak && !is_bookkeeping(words) &&
                   process->book.touches(process->book.targets()[words.target()], device);
        };
        Joined joined(*process);
        const auto add = [&](const RecordCopy& words) { rows.append(entry_row(source, joined, words)); };
        const auto add_or_wait = [&](const RecordCopy& words) {
            if (!joined.take(words)) add(words);
        };
        process->book.table().for_each([&](const RecordCopy& words) {
            if (is_there(words)) add_or_wait(words);
        });
        for (const Freed& freed : process->book.freed())
            if (freed.freed_sequence > peak && is_there(freed.words)) add_or_wait(freed.words);
        joined.for_each_buffer(add);
        const Peak known = own_peaks_on(*process, time, device).pools[pool];
        const bool is_whole = process->book.freed_dropped() <= peak && known.bytes == amount.peak &&
                              process->book.is_counting() && peak != 0;
        return nb::make_tuple(rows, is_whole);
    });
}

}  // namespace ttmem
