// Single allocations as plain Python rows: what is alive now, and what was at a peak.
#include <algorithm>
#include <map>
#include <tuple>

#include "python/entry_words.hpp"
#include "python/rows.hpp"

namespace nb = nanobind;

namespace ttmem {
namespace {

constexpr size_t kSiteMost = 2048;  // of a name or stack that is handed on

nb::tuple entry_row(const Process& process, const Words& words, const Timebase& time) {
    nb::list devices;
    for (const uint32_t device : process.book.targets()[words.target()].devices) devices.append(device);
    const bool is_program = words.kind() == TTMEM_PROGRAM_BINARY, is_buffer = words.kind() == TTMEM_BUFFER;
    const bool is_socket = process.way == Way::socket;  // there the place of the per-bank bytes counts holders
    const EntryWords its(words, is_socket);
    const uint64_t when = process.realtime(words.time, time);
    const uint64_t id = is_socket && words.target() == SeedTargets::kUnknown ? words.address : words.id;
    const uint32_t site = is_program ? 0 : words.site();  // there the place of its binaries
    const std::string name = site != 0 && !is_socket ? process.book.text(site).substr(0, kSiteMost) : "";
    return nb::make_tuple(nb::tuple(devices), words.kind(), id, words.pool(), words.flags(), words.reserved_bytes(),
                          its.asked, its.address, is_program || is_socket ? 0 : words.per_bank_bytes(),
                          is_program || is_buffer ? uint16_t{0} : words.count(), words.thread(), site, when,
                          words.sequence(), is_program ? words.status() : uint8_t{0}, is_program ? words.launches() : 0,
                          is_socket ? words.per_bank_bytes() : uint64_t{1}, its.program, its.core_type, its.found_by,
                          its.layout, its.page, text(name));
}

const Process* find_process(const Processes& processes, uint64_t key) {
    for (const auto& process : processes)
        if (process->key == key) return process.get();
    return nullptr;
}

}  // namespace

nb::list allocation_rows(Collector& collector, uint64_t key, size_t most) {
    return collector.look([=](Processes& processes, Devices&, const Timebase& time, const auto&) {
        nb::list rows;
        const Process* process = find_process(processes, key);
        if (process == nullptr) return rows;
        // With a limit, so many of every target, pool and kind: a few kernels are not crowded out by a million buffers.
        // Each list is a heap then, whose first is the smallest of those kept.
        const auto is_larger = [](const Words& a, const Words& b) { return a.reserved_bytes() > b.reserved_bytes(); };
        std::map<std::tuple<uint16_t, uint8_t, uint8_t>, std::vector<Words>> kept;
        process->book.table().for_each([&](const Words& words) {
            if (most == 0) return rows.append(entry_row(*process, words, time));
            std::vector<Words>& entries = kept[{words.target(), words.pool(), words.kind()}];
            if (entries.size() == most) {
                if (!is_larger(words, entries.front())) return;
                std::pop_heap(entries.begin(), entries.end(), is_larger);
                entries.pop_back();
            }
            entries.push_back(words);
            std::push_heap(entries.begin(), entries.end(), is_larger);
        });
        for (const auto& [type, entries] : kept)
            for (const Words& words : entries) rows.append(entry_row(*process, words, time));
        return rows;
    });
}

// Alive at the peak: made at or before it and not freed before it.
nb::tuple alive_at_peak_rows(Collector& collector, uint64_t key, uint32_t device, uint8_t pool) {
    return collector.look([=](Processes& processes, Devices&, const Timebase& time, const auto&) {
        nb::list rows;
        const Process* process = find_process(processes, key);
        if (process == nullptr || pool >= kPools) return nb::make_tuple(rows, false);
        const auto cell = process->book.cells().find(device);
        if (cell == process->book.cells().end()) return nb::make_tuple(rows, true);
        const PeakAmount& amount = cell->second.pools[pool];
        const uint64_t peak = amount.peak_sequence;
        const auto is_there = [&](const Words& words) {
            return words.pool() == pool && words.sequence() <= peak &&
                   process->book.touches(process->book.targets()[words.target()], device);
        };
        process->book.table().for_each([&](const Words& words) {
            if (is_there(words)) rows.append(entry_row(*process, words, time));
        });
        for (const Freed& freed : process->book.freed())
            if (freed.freed_sequence > peak && is_there(freed.words))
                rows.append(entry_row(*process, freed.words, time));
        const Peak known = peak_of(*process, time, device, pool, amount);
        const bool is_whole = process->book.freed_dropped() <= peak && known.bytes == amount.peak &&
                              process->book.is_counting() && peak != 0;
        return nb::make_tuple(rows, is_whole);
    });
}

}  // namespace ttmem
