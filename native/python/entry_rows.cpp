// Single allocations as plain Python rows: what is alive now, and what was at a peak.
#include <algorithm>
#include <map>
#include <tuple>

#include "journal/kernel_name.hpp"
#include "python/entry_words.hpp"
#include "python/peaks.hpp"
#include "python/rows.hpp"

namespace nb = nanobind;

namespace ttmem {
namespace {

constexpr size_t kSiteMost = 2048;  // of a name or stack that is handed on

// Whose allocations are told, with what all of them share.
struct Teller {
    Teller(const Process& whose, const Timebase& clock) : process(whose), time(clock) {
        if (process.reader != nullptr) threads = process.reader->threads();
    }
    uint32_t thread_of(const Words& words) const {
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
    explicit Joined(const Process& process) : is_told_(process.way != Way::socket) {}

    /// Whether it has to wait.
    bool take(const Words& words) {
        if (!is_told_ || !words.is_by_core()) return false;
        if (words.is_further())
            further_[{words.target(), words.id}].push_back(words);
        else
            first_.push_back(words);
        return true;
    }

    template <typename Visit>
    void for_each_buffer(Visit visit) const {
        for (const Words& first : first_) {
            Words whole = first;
            for (const Words& part : parts_after(first)) {
                whole.set_reserved(whole.reserved_bytes() + part.reserved_bytes());
                whole.set_requested(whole.requested_bytes() + part.requested_bytes());
            }
            visit(whole);
        }
    }

    /// (address, core count, core set) of each part; none for what is not allocated by core.
    nb::tuple parts_of(const Words& whole, const Book& book) const {
        nb::list rows;
        if (!is_told_ || !whole.is_by_core()) return nb::tuple(rows);
        uint64_t rest = whole.core_count();
        const std::vector<Words>& others = parts_after(whole);
        for (const Words& part : others) rest -= std::min(rest, part.core_count());
        const auto add = [&](const Words& part, uint64_t core_count) {
            const uint32_t cores = part.core_set();
            rows.append(nb::make_tuple(part.buffer_address(), core_count,
                                       text(cores == 0 ? std::string() : book.text(cores).substr(0, kSiteMost))));
        };
        add(whole, rest);
        for (const Words& part : others) add(part, part.core_count());
        return nb::tuple(rows);
    }

private:
    const std::vector<Words>& parts_after(const Words& first) const {
        static const std::vector<Words> none;
        const auto found = first.next_part() == 0 ? further_.end() : further_.find({first.target(), first.id});
        return found == further_.end() ? none : found->second;
    }

    bool is_told_;
    std::vector<Words> first_;
    std::map<std::pair<uint16_t, uint64_t>, std::vector<Words>> further_;
};

// Whose it is and what it holds: of kernels and circular buffers their program says it, of buffers their site.
struct What {
    std::string operation, tensor;

    What(const Process& process, const Words& words, const EntryWords& its) {
        if (process.reader == nullptr) return;
        operation = operation_of(process, words.target(), its.program);
        if (!is_buffer(words.kind()) || !is_stack_site(words.site())) return;
        const SitePath path = process.reader->site(words.site());
        operation = operation_in(path);
        tensor = tensor_in(path);
    }
};

nb::tuple entry_row(const Teller& teller, const Joined& joined, const Words& words) {
    const Process& process = teller.process;
    nb::list devices;
    for (const uint32_t device : process.book.targets()[words.target()].devices) devices.append(device);
    const bool is_program = words.kind() == TTMEM_PROGRAM_BINARY;
    const bool is_socket = process.way == Way::socket;  // there the place of the per-bank bytes counts holders
    const EntryWords its(words, is_socket);
    const uint64_t when = process.realtime(words.time, teller.time);
    const uint64_t told_id = is_socket && words.target() == SeedTargets::kUnknown ? words.address : words.id;
    const uint64_t id = is_program && told_id == TTMEM_PROGRAM_ZERO ? 0 : told_id;
    const uint32_t site = is_program ? 0 : words.site();  // there the place of its binaries
    const KernelName told(site != 0 && !is_socket ? process.book.text(site) : std::string());
    const What what(process, words, its);
    return nb::make_tuple(nb::tuple(devices), words.kind(), id, words.pool(), words.flags(), words.reserved_bytes(),
                          its.asked, its.address, its.per_bank, its.core_count, teller.thread_of(words), site, when,
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

bool is_larger(const Words& a, const Words& b) {
    const uint64_t a_bytes = a.reserved_bytes(), b_bytes = b.reserved_bytes();
    return a_bytes != b_bytes ? a_bytes > b_bytes : a.sequence() < b.sequence();
}

bool is_older(const Words& a, const Words& b) { return a.sequence() < b.sequence(); }

// The first few in some order. A heap, whose first is the last of those kept.
template <typename IsBefore>
void keep_first(std::vector<Words>& kept, const Words& words, size_t most, IsBefore is_before) {
    if (most == 0) return;
    if (kept.size() == most) {
        if (!is_before(words, kept.front())) return;
        std::pop_heap(kept.begin(), kept.end(), is_before);
        kept.pop_back();
    }
    kept.push_back(words);
    std::push_heap(kept.begin(), kept.end(), is_before);
}

nb::list rows_of(const Teller& teller, const Joined& joined, std::vector<Words>& kept,
                 bool (*is_before)(const Words&, const Words&)) {
    std::sort_heap(kept.begin(), kept.end(), is_before);
    nb::list rows;
    for (const Words& words : kept) rows.append(entry_row(teller, joined, words));
    return rows;
}

// What was asked for at one place in a program.
struct SiteSum {
    uint64_t bytes = 0, count = 0;
};

bool has_site(const Words& words) {
    return words.site() != 0 &&
           (is_buffer(words.kind()) || (words.kind() >= TTMEM_CIRCULAR_BUFFER && words.kind() <= TTMEM_SCRATCHPAD));
}

// What sums are told by: the line that asked and the one that called it, whatever the tensor. The operation, where no line is
// known.
std::string line_of(const Process& process, uint32_t site) {
    std::string line = process.book.text(site).substr(0, kSiteMost);
    if (line.empty() && is_stack_site(site) && process.reader != nullptr)
        return operation_in(process.reader->site(site));
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

}  // namespace

void holding_rows(const Process& process, size_t most, const Timebase& time, nb::dict& rows) {
    std::vector<Words> largest, oldest;
    std::map<uint32_t, SiteSum> sites;
    Joined joined(process);
    const auto add = [&](const Words& words) {
        if (is_bookkeeping(words)) return;
        keep_first(largest, words, most, is_larger);
        keep_first(oldest, words, most, is_older);
        if (process.way == Way::socket || !has_site(words)) return;
        SiteSum& sum = sites[words.site()];
        sum.bytes += words.reserved_bytes() * process.book.targets()[words.target()].devices.size();
        ++sum.count;
    };
    process.book.table().for_each([&](const Words& words) {
        if (!joined.take(words)) add(words);
    });
    joined.for_each_buffer(add);
    const Teller teller(process, time);
    rows["largest"] = rows_of(teller, joined, largest, is_larger);
    rows["oldest"] = rows_of(teller, joined, oldest, is_older);
    const std::map<std::string, SiteSum> lines = by_line(process, sites);
    rows["sites"] = site_rows(lines, most);
    rows["site_count"] = lines.size();
}

nb::list allocation_rows(Books& books, uint64_t key, size_t most) {
    return books.look([=](Processes& processes, Devices&, const Timebase& time, const auto&) {
        nb::list rows;
        const Process* process = find_process(processes, key);
        if (process == nullptr) return rows;
        const Teller teller(*process, time);
        // With a limit, so many of every target, pool and kind: a few kernels are not crowded out by a million buffers.
        std::map<std::tuple<uint16_t, uint8_t, uint8_t>, std::vector<Words>> kept;
        Joined joined(*process);
        const auto add = [&](const Words& words) {
            if (is_bookkeeping(words)) return;
            if (most == 0) return rows.append(entry_row(teller, joined, words));
            keep_first(kept[{words.target(), words.pool(), words.kind()}], words, most, is_larger);
        };
        process->book.table().for_each([&](const Words& words) {
            if (!joined.take(words)) add(words);
        });
        joined.for_each_buffer(add);
        for (const auto& [type, entries] : kept)
            for (const Words& words : entries) rows.append(entry_row(teller, joined, words));
        return rows;
    });
}

// Alive at the peak: made at or before it and not freed before it.
nb::tuple alive_at_peak_rows(Books& books, uint64_t key, uint32_t device, uint8_t pool) {
    return books.look([=](Processes& processes, Devices&, const Timebase& time, const auto&) {
        nb::list rows;
        const Process* process = find_process(processes, key);
        if (process == nullptr || pool >= kPools) return nb::make_tuple(rows, false);
        const auto cell = process->book.cells().find(device);
        if (cell == process->book.cells().end()) return nb::make_tuple(rows, true);
        const Teller teller(*process, time);
        const PeakAmount& amount = cell->second.pools[pool];
        const uint64_t peak = amount.peak_sequence;
        const auto is_there = [&](const Words& words) {
            return words.pool() == pool && words.sequence() <= peak && !is_bookkeeping(words) &&
                   process->book.touches(process->book.targets()[words.target()], device);
        };
        Joined joined(*process);
        const auto add = [&](const Words& words) { rows.append(entry_row(teller, joined, words)); };
        const auto add_or_wait = [&](const Words& words) {
            if (!joined.take(words)) add(words);
        };
        process->book.table().for_each([&](const Words& words) {
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
