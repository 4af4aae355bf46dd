// A process looks at its own journal where its writer has mapped it: a few loads, no system call, no collector. Whatever
// copy of the library owns the journal (the preload hook, or this module), its table says where that is.
#include "python/client/own_journal.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "journal/clock.hpp"
#include "journal/kernel_name.hpp"
#include "ledger/book/entry_fields.hpp"
#include "ledger/places/footprint.hpp"
#include "ledger/places/overlaps.hpp"
#include "python/client/reports.hpp"
#include "python/rows/rows.hpp"
#include "reader/stacks.hpp"
#include "ttmem/client.h"
#include "writer/owner.hpp"

namespace nb = nanobind;

namespace ttmem {
namespace {

// The parts of the mapped journal. Nothing is mapped in a process that has not reported yet, a forked child among them. What
// a copy of another version owns is reported into, but not read: its parts are elsewhere.
class OwnJournal {
public:
    OwnJournal() : is_mapped_(owner().mapping(&where_) != 0) {}

    bool is_there() const { return is_mapped_ && identity().version == kVersion; }
    /// The version of a journal that is not read; 0 where there is none.
    uint64_t other_version() const { return is_mapped_ && identity().version != kVersion ? identity().version : 0; }
    uint64_t inode() const { return where_.inode; }
    const Header& header() const { return *static_cast<const Header*>(where_.base); }
    const Identity& identity() const { return header().identity; }
    const Target& target(uint32_t number) const { return part<Target>(identity().targets_offset)[number]; }
    /// Everything alive. A copy counts if the entry is the same life before and after it.
    template <typename Visit>
    void for_each_entry(Visit visit) const {
        const uint64_t high = std::min<uint64_t>(header().slab_high.load(std::memory_order_acquire), identity().table);
        const auto* entries = part<Record>(identity().slab_offset);
        for (uint64_t i = 0; i < high; ++i) {
            RecordCopy words;
            words.commit = entries[i].commit.load(std::memory_order_acquire);
            if (!is_committed(words.commit)) continue;
            copy_words(entries[i], words);
            if (entries[i].commit.load(std::memory_order_acquire) == words.commit) visit(words);
        }
    }
    uint32_t thread(uint16_t number) const {
        return number < kThreads ? part<AtomicU32>(identity().threads_offset)[number].load(std::memory_order_acquire)
                                 : 0;
    }

    /// What a site says: a text of the arena, or the frames of a stack.
    std::string site_text(uint32_t site, StackReader& stacks) const {
        if (is_stack_site(site))
            return frames_text(stacks.path(MemorySource(where_.base, where_.bytes), identity(), site));
        uint64_t length = 0;
        const char* told = item(site, Item::text, length);
        return told == nullptr ? std::string() : std::string(told, length);
    }

    /// One more than the highest target that has a name; 0 is where everything without one is counted.
    uint32_t target_count() const {
        uint32_t count = 1;
        while (count < kTargets && target(count).state.load(std::memory_order_acquire) != kTargetUnnamed) ++count;
        return count;
    }

    /// An item of the arena that is whole and of its kind, and how long it is; else none.
    const char* item(uint32_t id, Item kind, uint64_t& length) const {
        const uint64_t at = uint64_t{id} * 8;
        length = 0;
        if (id == 0 || at + sizeof(ItemHead) > kArenaBytes) return nullptr;
        const char* place = part<char>(identity().arena_offset) + at;
        const auto* head = reinterpret_cast<const ItemHead*>(place);
        const auto [bytes, found] = ItemWord::unpack(head->head.load(std::memory_order_acquire));
        if (found != kind || bytes > kArenaBytes - at - sizeof *head) return nullptr;
        length = bytes;
        return place + sizeof(ItemHead);
    }

private:
    template <typename Part>
    const Part* part(uint64_t offset) const {
        return reinterpret_cast<const Part*>(static_cast<const char*>(where_.base) + offset);
    }

    Mapping where_{};
    bool is_mapped_;
};

// Changes whenever a target is opened, described again or closed; 0 while there is no journal, one number if it is not read.
uint64_t version() {
    const OwnJournal own;
    if (!own.is_there()) return own.other_version();
    uint64_t mix = own.inode() * 0x9e37'79b9'7f4a'7c15ull;
    const uint32_t count = own.target_count();
    for (uint32_t i = 1; i < count; ++i) {
        const Target& target = own.target(i);
        mix = (mix ^ target.state.load(std::memory_order_relaxed)) * 0x100'0000'01b3ull;
        mix = (mix ^ target.descriptor.load(std::memory_order_relaxed)) * 0x100'0000'01b3ull;
    }
    return mix | 1;
}

nb::tuple device_part(const OwnJournal& own, uint32_t descriptor) {
    uint64_t length = 0;
    const char* bytes = own.item(descriptor, Item::device, length);
    if (bytes == nullptr || length < sizeof(DeviceDescriptor)) return nb::make_tuple();
    const auto& device = *reinterpret_cast<const DeviceDescriptor*>(bytes);
    nb::list capacities;
    for (const uint64_t capacity : device.capacity_bytes) capacities.append(capacity);
    return nb::make_tuple(device.index, text(device.arch), text(device.board), nb::tuple(capacities));
}

nb::list mesh_chips(const OwnJournal& own, uint32_t descriptor) {
    nb::list chips;
    uint64_t length = 0;
    const char* bytes = own.item(descriptor, Item::mesh, length);
    if (bytes == nullptr || length < sizeof(MeshDescriptor)) return chips;
    const auto* ids = reinterpret_cast<const uint64_t*>(bytes + sizeof(MeshDescriptor));
    const uint64_t room = (length - sizeof(MeshDescriptor)) / sizeof(uint64_t);
    const uint64_t count = std::min<uint64_t>(reinterpret_cast<const MeshDescriptor*>(bytes)->chip_count, room);
    for (uint64_t i = 0; i < count; ++i) chips.append(ids[i]);
    return chips;
}

nb::list target_rows() {
    nb::list rows;
    const OwnJournal own;
    if (!own.is_there()) return rows;
    const uint32_t count = own.target_count();
    for (uint32_t i = 1; i < count; ++i) {
        const Target& target = own.target(i);
        const uint32_t descriptor = target.descriptor.load(std::memory_order_acquire);
        const bool is_open = target.state.load(std::memory_order_acquire) == kTargetOpen;
        rows.append(nb::make_tuple(i, is_open, target.unique_id.load(std::memory_order_relaxed),
                                   device_part(own, descriptor), nb::tuple(mesh_chips(own, descriptor))));
    }
    return rows;
}

uint64_t number_of(nb::handle value) {  // members of an IntEnum among them, which nanobind takes the long way
    uint64_t word = 0;
    if (!read_word(value.ptr(), word)) throw nb::python_error();
    return word;
}

// What several targets hold at the same addresses, which is there once: a parent mesh and its submesh have allocators of
// their own. Such targets are rare, and only then the list is gone through.
int64_t overlap_of(const OwnJournal& own, const std::vector<uint16_t>& targets, uint64_t pool) {
    uint64_t bank_count = 0;
    for (uint32_t i = 1; i < own.target_count() && bank_count == 0; ++i) {  // chips of one process are alike
        uint64_t length = 0;
        const char* bytes = own.item(own.target(i).descriptor.load(std::memory_order_acquire), Item::device, length);
        if (bytes != nullptr && length >= sizeof(DeviceDescriptor))
            bank_count = bank_count_of(*reinterpret_cast<const DeviceDescriptor*>(bytes), static_cast<uint8_t>(pool));
    }
    Spans spans;
    uint64_t sum = 0;
    own.for_each_entry([&](const RecordCopy& words) {
        if (words.pool() != pool || std::find(targets.begin(), targets.end(), words.target()) == targets.end()) return;
        const Span span = charged_span(words, bank_count);
        if (span.first == span.second) return;
        spans.push_back(span);
        sum += span.second - span.first;
    });
    join(spans);
    return static_cast<int64_t>((sum - length_of(spans)) * bank_count);
}

nb::tuple with_totals(const nb::tuple& figures, const std::array<uint64_t, kPoolTotals>& totals) {
    nb::list all(figures);
    for (const uint64_t total : totals) all.append(total);
    return nb::tuple(all);
}

// Several targets may stand for one chip (itself, and meshes with it). How high their sum has been no process kept; it was at
// least what is used now, and at least what each of them had.
nb::tuple pool_figures(const nb::tuple& targets, nb::handle pool_number) {
    int64_t used = 0, peak = 0, count = 0;
    std::array<uint64_t, kPoolTotals> totals{};
    std::vector<uint16_t> holding;
    const OwnJournal own;
    const uint64_t pool = number_of(pool_number);
    if (!own.is_there() || pool >= kPools) return with_totals(nb::make_tuple(0, 0, 0), totals);
    for (nb::handle number : targets) {
        const auto target = static_cast<uint32_t>(std::min<uint64_t>(number_of(number), kTargets));
        if (target >= kTargets) continue;
        const PoolCounters& counters = own.target(target).pools[pool];
        const auto frees = counters.frees.load(std::memory_order_relaxed);
        count += static_cast<int64_t>(counters.allocs.load(std::memory_order_relaxed) - frees);
        const auto held = std::max<int64_t>(static_cast<int64_t>(counters.used.load(std::memory_order_relaxed)), 0);
        if (held > 0) holding.push_back(static_cast<uint16_t>(target));
        used += held;
        peak = std::max(peak, static_cast<int64_t>(counters.own_peak.load(std::memory_order_relaxed)));
        for (size_t i = 0; i != totals.size(); ++i) totals[i] += counters.totals[i].load(std::memory_order_relaxed);
    }
    if (holding.size() > 1 && pool < kPlacedPools) used = std::max<int64_t>(used - overlap_of(own, holding, pool), 0);
    return with_totals(nb::make_tuple(used, std::max(used, peak), std::max<int64_t>(count, 0)), totals);
}

// What cores of a chip give up for circular buffers: of all loaded programs, and of those that ran last; None: not known.
nb::tuple circular_buffers(const nb::tuple& targets) {
    const OwnJournal own;
    if (!own.is_there()) return nb::make_tuple(0, 0);
    std::vector<RecordCopy> entries;
    own.for_each_entry([&](const RecordCopy& words) {
        if (words.pool() == TTMEM_CB || words.kind() == TTMEM_PROGRAM_BINARY) entries.push_back(words);
    });
    const Laid laid = laid_by(entries, [&](uint32_t id) {
        uint64_t length = 0;
        const char* told = own.item(id, Item::text, length);
        return told == nullptr ? std::string() : std::string(told, length);
    });
    if (laid.is_too_much()) return nb::make_tuple(nb::none(), nb::none());
    std::vector<CbSpan> spans;
    for (nb::handle number : targets) {
        const auto found = laid.by_target.find(static_cast<uint16_t>(number_of(number)));
        if (found != laid.by_target.end()) spans.insert(spans.end(), found->second.begin(), found->second.end());
    }
    const Footprint footprint = footprint_of(spans, laid.core_sets);
    if (footprint.has_strangers) return nb::make_tuple(footprint.planned, nb::none());
    return nb::make_tuple(footprint.planned, footprint.resident);
}

// Ages in nanoseconds from raw stamps: the header's pair of clocks and one taken now give the rate between them.
class Ages {
public:
    explicit Ages(const Identity& identity)
        : now_(raw_now(static_cast<ClockKind>(identity.clock_kind))),
          passed_(now_ - identity.clock_raw),
          passed_ns_(nanoseconds(CLOCK_MONOTONIC) - identity.clock_monotonic_ns) {}

    uint64_t of(uint64_t raw) const {
        if (raw >= now_ || passed_ == 0) return 0;
        return static_cast<uint64_t>(static_cast<double>(now_ - raw) * static_cast<double>(passed_ns_) /
                                     static_cast<double>(passed_));
    }

private:
    uint64_t now_, passed_, passed_ns_;
};

nb::tuple entry_row(const OwnJournal& own, const RecordCopy& words, const Ages& ages, StackReader& stacks) {
    const bool is_program = words.kind() == TTMEM_PROGRAM_BINARY;
    const EntryFields its(words);
    const uint64_t id = is_program && words.id == TTMEM_PROGRAM_ZERO ? 0 : words.id;
    const KernelName told(is_program ? std::string() : own.site_text(words.site(), stacks));
    return nb::make_tuple(words.target(), words.kind(), id, words.pool(), words.flags(), words.reserved_bytes(),
                          its.asked, its.address, its.per_bank, its.page, its.layout, its.core_count,
                          program_object(its.program), own.thread(words.thread()), ages.of(words.time),
                          size_row(told.packed_bytes), text(told.name));
}

// Copied first, reported afterwards: making objects of Python takes longer than the allocations of other threads do.
nb::list entry_rows() {
    nb::list rows;
    const OwnJournal own;
    if (!own.is_there()) return rows;
    std::vector<RecordCopy> alive;
    own.for_each_entry([&](const RecordCopy& words) {
        if (!is_bookkeeping(words)) alive.push_back(words);
    });
    std::sort(alive.begin(), alive.end(), [](const RecordCopy& a, const RecordCopy& b) { return a.commit < b.commit; });
    const Ages ages(own.identity());
    StackReader stacks;
    for (const RecordCopy& one : alive) rows.append(entry_row(own, one, ages, stacks));
    return rows;
}

bool records_sites = false;  // by this extension; only touched under the interpreter lock

// The site of a buffer of which more is known than the line that asked for it. Empty: not known.
uint32_t described_site(nb::str tensor, nb::str operation) {
    if (TTMEM_ON == 0) return 0;
    uint32_t site = records_sites ? ttmem_python_site_on() : 0;
    if (nb::len(tensor) != 0) site = ttmem_stack_node(site, TTMEM_TENSOR, tensor.c_str(), nullptr, 0);
    if (nb::len(operation) != 0) site = ttmem_stack_node(site, TTMEM_OPERATION, operation.c_str(), nullptr, 0);
    return site;
}

}  // namespace

void add_own_journal(nb::module_& module) {
    nb::module_ own = module.def_submodule("own", "What this process itself has reported.");
    own.def("version", version);
    own.def("other_version", [] { return OwnJournal().other_version(); });
    own.attr("JOURNAL_VERSION") = kVersion;
    own.def("targets", target_rows, nb::sig("def targets() -> list"));
    own.def("pool", pool_figures, nb::sig("def pool(targets: tuple, pool: int, /) -> tuple"));
    own.def("circular_buffers", circular_buffers, nb::sig("def circular_buffers(targets: tuple, /) -> tuple"));
    own.def("entries", entry_rows, nb::sig("def entries() -> list"));
    own.def(
        "reset_peaks",
        [](uint32_t target) { ttmem_reset_peaks(target < kTargets ? static_cast<uint16_t>(target) : uint16_t{0}); },
        nb::sig("def reset_peaks(target: int, /) -> None"));
    own.def("record_sites", [] {
        records_sites = true;
        ttmem_python_sites(1);
    });
    own.def("forget_sites", [] {
        records_sites = false;
        ttmem_python_sites(0);
    });
    own.def("described_site", described_site, nb::sig("def described_site(tensor: str, operation: str, /) -> int"));
    own.def(
        "name_program",
        [](uint32_t target, uint64_t program, nb::str operation) {
            if (TTMEM_ON == 0 || target >= kTargets) return;
            const uint32_t site = ttmem_stack_node(0, TTMEM_OPERATION, operation.c_str(), nullptr, 0);
            ttmem_program_operation(static_cast<uint16_t>(target), program, site);
        },
        nb::sig("def name_program(target: int, program: int, operation: str, /) -> None"));
    own.def("current_site", [] { return TTMEM_ON == 0 ? 0u : ttmem_python_site_on(); });
    own.def("stack_node_count", [] {
        const OwnJournal its;
        return its.is_there() ? its.header().stack_nodes_used.load(std::memory_order_relaxed) - 1 : 0;
    });
}

}  // namespace ttmem
