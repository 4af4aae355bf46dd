// What lies where on a chip, and the kernels on it, as plain Python rows.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "journal/kernel_name.hpp"
#include "ledger/book/entry_fields.hpp"
#include "ledger/places/regions.hpp"
#include "python/rows/rows.hpp"

namespace nb = nanobind;

namespace ttmem {
namespace {

constexpr size_t kNameMost = 512;  // of a kernel

nb::tuple gap_row(const Taken& taken, const Gaps& gaps) {
    return nb::make_tuple(taken.unplaced, taken.count, gaps.used, gaps.lowest, gaps.highest, gaps.largest, gaps.count);
}

nb::list span_rows(const Spans& spans) {
    nb::list rows;
    for (const auto& [begin, end] : spans) rows.append(nb::make_tuple(begin, end));
    return rows;
}

nb::list stretch_rows(const Taken& taken, size_t most) {
    nb::list rows;
    for (const Stretch& one : stretches_of(taken, most))
        rows.append(nb::make_tuple(one.begin, one.end, one.count, one.hole_bytes));
    return rows;
}

// A program's binaries, which its kernels share.
struct Sent {
    uint8_t status = 0;
    uint64_t launches = 0;
};

struct ListedKernel {
    RecordCopy words;
    const Process* process;
};

nb::tuple kernel_row(const ListedKernel& found, const Sent* sent, const Timebase& time) {
    const RecordCopy& words = found.words;
    const bool is_socket = found.process->way == Way::socket;
    const EntryFields its(words, is_socket);
    const KernelName told(words.site() != 0 && !is_socket ? found.process->book.text(words.site()) : std::string());
    return nb::make_tuple(found.process->key, program_object(its.program), words.id, words.kind(), words.flags(),
                          words.reserved_bytes(), is_socket ? uint64_t{0} : words.requested_bytes(),
                          is_socket ? uint64_t{0} : words.per_bank_bytes(), is_socket ? uint16_t{0} : words.count(),
                          its.core_type, its.found_by, sent != nullptr, sent != nullptr ? sent->status : uint8_t{0},
                          sent != nullptr ? sent->launches : 0, found.process->realtime(words.time, time),
                          size_row(told.packed_bytes), text(told.name.substr(0, kNameMost)),
                          text(is_socket ? std::string() : operation_of(*found.process, words.target(), its.program)));
}

bool is_any_kernel(uint8_t kind) {
    return (kind >= TTMEM_KERNEL_APPLICATION && kind <= TTMEM_KERNEL_DISPATCH) || kind == TTMEM_KERNEL_UNKNOWN;
}

bool is_shown(const Process& process) { return process.is_counted(); }

}  // namespace

nb::dict chip_rows(Books& books, uint32_t device, size_t most) {
    return books.look([&](Processes& processes, Devices& devices, const Timebase&, const Besides& besides) {
        nb::dict rows;
        const Places places = besides.atlas.look_at(processes, devices, device);
        nb::list pools, cores;
        for (uint32_t pool = 0; pool < kPlacedPools; ++pool)
            pools.append(gap_row(places.pools[pool], places.gaps[pool]) +
                         nb::make_tuple(stretch_rows(places.pools[pool], most)));
        for (const CoreTaken& core : places.cores)
            cores.append(nb::make_tuple(core.core % 256, core.core / 256, core.used, length_of(core.planned),
                                        length_of(core.resident)));
        rows["time_ns"] = nanoseconds(CLOCK_REALTIME);
        rows["pools"] = pools;
        rows["cores"] = cores;
        rows["worst"] = places.worst;
        rows["planned"] = places.cores.empty() ? nb::list() : span_rows(places.cores[places.worst].planned);
        rows["resident"] = places.cores.empty() ? nb::list() : span_rows(places.cores[places.worst].resident);
        rows["buffers"] = places.buffers;
        rows["followed"] = places.is_followed;
        rows["estimated"] = places.is_estimated;
        return rows;
    });
}

nb::tuple kernel_rows(Books& books, uint32_t device, size_t most) {
    return books.look([=](Processes& processes, Devices&, const Timebase& time, const auto&) {
        std::vector<ListedKernel> found;
        std::map<std::tuple<uint64_t, uint16_t, uint64_t>, Sent> sent;  // by process, target and program
        for (const auto& process : processes) {
            if (!is_shown(*process)) continue;
            process->book.table().for_each([&](const RecordCopy& words) {
                const bool is_program = words.kind() == TTMEM_PROGRAM_BINARY;
                if (!is_program && !is_any_kernel(words.kind())) return;
                if (!process->book.touches(process->book.targets()[words.target()], device)) return;
                if (is_program)
                    sent[{process->key, words.target(), words.id}] = {words.status(), words.launches()};
                else
                    found.push_back({words, process.get()});
            });
        }
        const auto is_first = [](const ListedKernel& a, const ListedKernel& b) {
            return std::tuple(~a.words.reserved_bytes(), a.words.sequence(), a.process->key) <
                   std::tuple(~b.words.reserved_bytes(), b.words.sequence(), b.process->key);
        };
        const size_t count = found.size(), kept = most == 0 ? count : std::min(most, count);
        std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(kept), found.end(), is_first);
        nb::list rows;
        for (size_t i = 0; i < kept; ++i) {
            const uint64_t program = EntryFields(found[i].words, found[i].process->way == Way::socket).program;
            const auto its = sent.find({found[i].process->key, found[i].words.target(), program});
            rows.append(kernel_row(found[i], program != 0 && its != sent.end() ? &its->second : nullptr, time));
        }
        return nb::make_tuple(nanoseconds(CLOCK_REALTIME), rows, count);
    });
}

}  // namespace ttmem
