#include "python/rows/entry_rows.hpp"

#include <algorithm>
#include <tuple>

#include "journal/kernel_name.hpp"
#include "ledger/book/entry_fields.hpp"

namespace nb = nanobind;

namespace ttmem {
namespace {

// Whose it is and what it holds: of kernels and circular buffers their program says it, of buffers their site.
struct What {
    std::string operation, tensor;

    What(const Process& process, const RecordCopy& words, const EntryFields& its) {
        if (!process.has_names()) return;
        operation = operation_of(process, words.target(), its.program);
        if (!is_buffer(words.kind()) || !is_stack_site(words.site())) return;
        const SitePath path = process.site(words.site());
        operation = operation_in(path);
        tensor = tensor_in(path);
    }
};

bool is_larger(const RecordCopy& a, const RecordCopy& b) {
    const uint64_t a_bytes = a.reserved_bytes(), b_bytes = b.reserved_bytes();
    return a_bytes != b_bytes ? a_bytes > b_bytes : a.sequence() < b.sequence();
}

bool is_older(const RecordCopy& a, const RecordCopy& b) { return a.sequence() < b.sequence(); }

// The first few in some order. A heap, whose first is the last of those kept.
template <typename IsBefore>
void keep_first(std::vector<RecordCopy>& kept, const RecordCopy& words, size_t most, IsBefore is_before) {
    if (most == 0) return;
    if (kept.size() == most) {
        if (!is_before(words, kept.front())) return;
        std::pop_heap(kept.begin(), kept.end(), is_before);
        kept.pop_back();
    }
    kept.push_back(words);
    std::push_heap(kept.begin(), kept.end(), is_before);
}

nb::list rows_of(const EntrySource& source, const Joined& joined, std::vector<RecordCopy>& kept,
                 bool (*is_before)(const RecordCopy&, const RecordCopy&)) {
    std::sort_heap(kept.begin(), kept.end(), is_before);
    nb::list rows;
    for (const RecordCopy& words : kept) rows.append(entry_row(source, joined, words));
    return rows;
}

// What was asked for at one place in a program.
struct SiteSum {
    uint64_t bytes = 0, count = 0;
};

bool has_site(const RecordCopy& words) {
    return words.site() != 0 && (is_buffer(words.kind()) || is_circular_buffer(words.kind()));
}

// What sums are reported by: the line that asked and the one that called it, whatever the tensor. The operation, where no line is
// known.
std::string line_of(const Process& process, uint32_t site) {
    std::string line = process.book.text(site).substr(0, kSiteMost);
    if (line.empty() && is_stack_site(site)) return operation_in(process.site(site));
    const size_t first = line.find('\n');
    if (first != std::string::npos) line.resize(std::min(line.find('\n', first + 1), line.size()));
    return line;
}

std::map<std::string, SiteSum> by_line(const Process& process, const std::map<uint32_t, SiteSum>& sums) {
    std::map<std::string, SiteSum> lines;
    for (const auto& [site, sum] : sums) {
        SiteSum& line = lines[line_of(process, site)];
        line.bytes += sum.bytes;
        line.count += sum.count;
    }
    return lines;
}

nb::list site_rows(const std::map<std::string, SiteSum>& sums, size_t most) {
    std::vector<std::pair<std::string, SiteSum>> sites(sums.begin(), sums.end());
    std::sort(sites.begin(), sites.end(), [](const auto& a, const auto& b) {
        return std::tuple(b.second.bytes, b.second.count, a.first) <
               std::tuple(a.second.bytes, a.second.count, b.first);
    });
    nb::list rows;
    for (size_t i = 0; i < sites.size() && i < most; ++i)
        rows.append(nb::make_tuple(text(sites[i].first), sites[i].second.bytes, sites[i].second.count));
    return rows;
}

// Of what a process has alive: the `most` `largest` and `oldest`, and `sites` with what was asked for there.
void put_holdings(const Process& process, size_t most, const Timebase& time, nb::dict& rows) {
    std::vector<RecordCopy> largest, oldest;
    std::map<uint32_t, SiteSum> sites;
    Joined joined(process);
    const auto add = [&](const RecordCopy& words) {
        if (is_bookkeeping(words)) return;
        keep_first(largest, words, most, is_larger);
        keep_first(oldest, words, most, is_older);
        if (process.way == Way::socket || !has_site(words)) return;
        SiteSum& sum = sites[words.site()];
        sum.bytes += words.reserved_bytes() * process.book.targets()[words.target()].devices.size();
        ++sum.count;
    };
    process.book.table().for_each([&](const RecordCopy& words) {
        if (!joined.take(words)) add(words);
    });
    joined.for_each_buffer(add);
    const EntrySource source(process, time);
    rows["largest"] = rows_of(source, joined, largest, is_larger);
    rows["oldest"] = rows_of(source, joined, oldest, is_older);
    const std::map<std::string, SiteSum> lines = by_line(process, sites);
    rows["sites"] = site_rows(lines, most);
    rows["site_count"] = lines.size();
}

}  // namespace

nb::tuple entry_row(const EntrySource& source, const Joined& joined, const RecordCopy& words) {
    const Process& process = source.process;
    nb::list devices;
    for (const uint32_t device : process.book.targets()[words.target()].devices) devices.append(device);
    const bool is_program = words.kind() == TTMEM_PROGRAM_BINARY;
    const bool is_socket = process.way == Way::socket;  // there the place of the per-bank bytes counts holders
    const EntryFields its(words, is_socket);
    const uint64_t when = process.realtime(words.time, source.time);
    const uint64_t reported_id = is_socket && words.target() == ServerTargets::kUnknown ? words.address : words.id;
    const uint64_t id = is_program && reported_id == TTMEM_PROGRAM_ZERO ? 0 : reported_id;
    const uint32_t site = is_program ? 0 : words.site();  // there the place of its binaries
    const KernelName told(site != 0 && !is_socket ? process.book.text(site) : std::string());
    const What what(process, words, its);
    return nb::make_tuple(nb::tuple(devices), words.kind(), id, words.pool(), words.flags(), words.reserved_bytes(),
                          its.asked, its.address, its.per_bank, its.core_count, source.thread_of(words), site, when,
                          words.sequence(), is_program ? words.status() : uint8_t{0}, is_program ? words.launches() : 0,
                          is_socket ? words.per_bank_bytes() : uint64_t{1}, program_object(its.program), its.core_type,
                          its.found_by, its.layout, its.page, text(what.operation), text(what.tensor),
                          size_row(told.packed_bytes), text(told.name.substr(0, kSiteMost)),
                          joined.parts_of(words, process.book));
}

const Process* find_process(const Processes& processes, uint64_t key) {
    for (const auto& process : processes)
        if (process->key == key) return process.get();
    return nullptr;
}

nb::dict process_rows(Books& books, uint32_t pid, uint64_t key, size_t most) {
    return books.look([=](Processes& processes, Devices&, const Timebase& time, const auto&) {
        nb::dict rows;
        const Process* process = find_process(processes, pid, key);
        if (process != nullptr) put_holdings(*process, most, time, rows);
        return rows;
    });
}

nb::list allocation_rows(Books& books, uint64_t key, size_t most, size_t first, size_t count) {
    return books.look([=](Processes& processes, Devices&, const Timebase& time, const auto&) {
        nb::list rows;
        const Process* process = find_process(processes, key);
        if (process == nullptr) return rows;
        const EntrySource source(*process, time);
        // With a limit, that many of every target, pool and kind: a few kernels are not crowded out by a million buffers.
        std::map<std::tuple<uint16_t, uint8_t, uint8_t>, std::vector<RecordCopy>> kept;
        Joined joined(*process);
        size_t seen = 0;
        const auto add = [&](const RecordCopy& words) {
            if (is_bookkeeping(words)) return;
            if (most == 0) {
                if (seen++ >= first && rows.size() < count) rows.append(entry_row(source, joined, words));
                return;
            }
            keep_first(kept[{words.target(), words.pool(), words.kind()}], words, most, is_larger);
        };
        process->book.table().for_each([&](const RecordCopy& words) {
            if (!joined.take(words)) add(words);
        });
        joined.for_each_buffer(add);
        for (const auto& [type, entries] : kept)
            for (const RecordCopy& words : entries) rows.append(entry_row(source, joined, words));
        return rows;
    });
}

}  // namespace ttmem
