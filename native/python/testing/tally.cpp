// What all rows would say, in few: how many allocations are alive, and which chips have the same figures. For anyone who
// looks so often that making every row would take too long.
#include <cstring>
#include <map>
#include <unordered_map>

#include "ledger/chips/activity.hpp"
#include "python/testing/flat_rows.hpp"

namespace nb = nanobind;

namespace ttmem {
namespace {

using Counts = std::unordered_map<uint64_t, uint64_t>;

// What is counted together: the target, the kind, the flags, and whether it takes any bytes.
uint64_t group_of(const RecordCopy& words) {
    return uint64_t{words.target()} << 32 | uint64_t{words.kind()} << 16 | uint64_t{words.flags()} << 8 |
           uint64_t{words.reserved_bytes() != 0};
}

Counts counts_of(const Process& process) {
    Counts counts;
    process.book.table().for_each([&](const RecordCopy& words) {
        if (!is_bookkeeping(words) && !words.is_further()) ++counts[group_of(words)];
    });
    return counts;
}

nb::tuple tuple_of(const std::vector<uint32_t>& devices) {
    nb::list list;
    for (const uint32_t device : devices) list.append(device);
    return nb::tuple(list);
}

// Everything that rows say of a chip besides its names, its clocks and its single programs, one number after the other.
using Said = std::vector<uint64_t>;

void say(Said& said, int64_t figure) { said.push_back(static_cast<uint64_t>(figure)); }

void say(Said& said, const Cell& cell) {
    for (const PeakAmount& pool : cell.pools)
        for (const int64_t figure : {pool.used, pool.requested, pool.count, pool.peak}) say(said, figure);
    for (const KindAmount& kind : cell.kinds)
        for (const int64_t figure : {kind.used, kind.count, kind.estimated}) say(said, figure);
    for (const KindAmount& core : cell.cores)
        for (const int64_t figure : {core.used, core.count, core.estimated}) say(said, figure);
}

void say(Said& said, const Activity& activity) {
    static_assert(sizeof(Activity) % sizeof(uint64_t) == 0);
    const size_t before = said.size();
    said.resize(before + sizeof(Activity) / sizeof(uint64_t));
    std::memcpy(&said[before], &activity, sizeof(Activity));
}

void say(Said& said, const Device& device) {
    DeviceDescriptor facts = device.facts;
    facts.unique_id = 0;
    facts.index = 0;
    static_assert(sizeof facts % sizeof(uint64_t) == 0);
    said.resize(sizeof facts / sizeof(uint64_t));
    std::memcpy(said.data(), &facts, sizeof facts);
    for (const int figure : {device.open_count, int{device.is_known}, int{device.is_lower_bound}}) say(said, figure);
    say(said, device.cell);
}

void say_peaks(Said& said, const Process& process, const Timebase& time, uint32_t device) {
    for (const Peak& peak : own_peaks_on(process, time, device).pools) {
        say(said, peak.bytes);
        say(said, peak.is_lower_bound);
    }
}

// What the targets of a process add to each of their chips. Circular buffers lie on top of each other, so of those only
// chips of the very same targets have the same.
struct Added {
    Activity activity{};
    uint64_t launches = 0, clashes = 0;
    std::map<uint64_t, uint64_t> counts;
};

std::map<uint32_t, Added> added_by(const Process& process) {
    std::map<uint32_t, Added> on_device;
    for (size_t i = 0; i < process.book.target_count(); ++i) {
        const TargetBook& target = process.book.targets()[i];
        const bool is_counted = i < process.targets.size();
        for (const uint32_t device : target.devices) {
            Added& added = on_device[device];
            if (is_counted || target.activity != nullptr)
                add_activity(added.activity, is_counted ? process.targets[i].activity : *target.activity);
            added.launches += is_counted ? process.targets[i].launches : target.launches;
            added.clashes += is_counted ? process.targets[i].clashes : target.clashes;
        }
    }
    for (const auto& [group, count] : counts_of(process)) {
        const uint64_t kind = group >> 16 & 0xff;
        const bool is_laid_out = kind >= TTMEM_CIRCULAR_BUFFER && kind <= TTMEM_SCRATCHPAD;
        for (const uint32_t device : process.book.targets()[group >> 32].devices)
            on_device[device].counts[is_laid_out ? group : group & 0xffff'ffff] += count;
    }
    return on_device;
}

void say(Said& said, const Process& process, const Timebase& time, uint32_t device, const Added& added) {
    const auto cell = process.book.cells().find(device);
    say(said, static_cast<int64_t>(process.key));
    if (cell != process.book.cells().end()) {
        say(said, cell->second);
        say_peaks(said, process, time, device);
    }
    say(said, added.activity);
    for (const uint64_t figure : {added.launches, added.clashes}) said.push_back(figure);
    for (const auto& [group, count] : added.counts) said.insert(said.end(), {group, count});
}

}  // namespace

nb::list tally_rows(Books& books, uint64_t key) {
    return books.glance([=](Processes& processes, Devices&, const Timebase&, const auto&) {
        nb::list rows;
        for (const auto& process : processes) {
            if (process->key != key) continue;
            std::unordered_map<uint64_t, nb::tuple> devices;
            for (const auto& [group, count] : counts_of(*process)) {
                const uint64_t target = group >> 32;
                const auto [known, is_new] = devices.try_emplace(target);
                if (is_new) known->second = tuple_of(process->book.targets()[target].devices);
                rows.append(
                    nb::make_tuple(known->second, group >> 16 & 0xff, group >> 8 & 0xff, (group & 1) != 0, count));
            }
        }
        return rows;
    });
}

nb::list alike_rows(Books& books) {
    return books.look([](Processes& processes, Devices& devices, const Timebase& time, const auto&) {
        std::vector<Said> said(devices.all().size());
        for (uint32_t number = 0; number < said.size(); ++number) say(said[number], devices.all()[number]);
        for (const auto& process : processes)
            for (const auto& [device, added] : added_by(*process)) say(said[device], *process, time, device, added);
        std::map<Said, std::vector<uint32_t>> groups;
        for (uint32_t number = 0; number < said.size(); ++number) groups[std::move(said[number])].push_back(number);
        nb::list rows;
        for (const auto& [same, numbers] : groups) rows.append(tuple_of(numbers));
        return rows;
    });
}

}  // namespace ttmem
