#include "python/testing/flat_rows.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "ledger/places/footprint.hpp"
#include "python/testing/peaks.hpp"

namespace nb = nanobind;

namespace ttmem {
namespace {

struct ProcessLists {
    nb::list processes, pools, kinds, cores, launches, programs, phases, open_phases, out_of_memory, clashes,
        clash_counts, meshes, other_pools, other_kinds;
    nb::list footprints;
    ActivityLists activity;
};

// The figures of a process under a key, which is its own or that of the better source of the same process.
void usage_rows(const Process& process, uint64_t key, const Timebase& time, const Wanted& wanted, nb::list& pools,
                nb::list& kinds) {
    const std::vector<OnChip> peaks = own_peaks(process, time);
    const OnChip* at = peaks.data();
    for (const auto& [device, cell] : process.book.cells()) {
        const OnChip& own = *at++;
        if (!wanted.has(device)) continue;
        for (uint32_t p = 0; p < kPools; ++p) {
            const PeakAmount& pool = cell.pools[p];
            const Peak& peak = own.pools[p];
            if (peak.bytes == 0 && pool.count == 0) continue;
            const int64_t requested = process.book.is_counting() ? shown(pool.requested) : -1;
            pools.append(nb::make_tuple(key, device, p, shown(pool.used), requested, shown(pool.count), peak.bytes,
                                        peak.time_ns, peak.is_lower_bound));
        }
        for (uint32_t k = 0; k < kKinds; ++k) {
            const KindAmount& kind = cell.kinds[k];
            if (kind.count > 0)
                kinds.append(nb::make_tuple(key, device, k, shown(kind.used), kind.count, kind.estimated > 0));
        }
    }
}

// Kernels by the type of core they run on, and what circular buffers take of the cores.
void core_rows(const Process& process, const Wanted& wanted, ProcessLists& lists) {
    for (const auto& [device, cell] : process.book.cells())
        for (uint32_t c = 0; c < kCoreTypes; ++c) {
            const KindAmount& core = cell.cores[c];
            if (core.count > 0 && wanted.has(device))
                lists.cores.append(
                    nb::make_tuple(process.key, device, c, shown(core.used), core.count, core.estimated > 0));
        }
}

void footprint_rows(const Process& process, const Wanted& wanted, ProcessLists& lists) {
    if (!process.book.is_counting()) return;  // the list is not whole
    for (const auto& [device, found] : footprints_of(process.book))
        if (wanted.has(device))
            lists.footprints.append(nb::make_tuple(process.key, device, found.planned, found.resident,
                                                   found.worst_planned, found.worst_resident, found.is_estimated,
                                                   found.has_strangers));
}

void activity_rows(const Process& process, const Wanted& wanted, ProcessLists& lists) {
    for (const auto& [device, sum] : activity_on(process))
        if (wanted.has(device)) lists.activity.add(process.key, device, sum);
}

void target_rows(const Process& process, const Wanted& wanted, ProcessLists& lists) {
    for (const auto& [device, counts] : counts_on(process)) {
        if (!wanted.has(device)) continue;
        if (counts.launches != 0) lists.launches.append(nb::make_tuple(process.key, device, counts.launches));
        if (counts.clashes != 0) lists.clash_counts.append(nb::make_tuple(process.key, device, counts.clashes));
    }
    for (const TargetBook& target : process.book.targets()) {
        if (!target.is_named || !target.is_mesh || !target.is_open || !wanted.is_all()) continue;
        nb::list devices;
        for (const uint32_t device : target.devices) devices.append(device);
        lists.meshes.append(
            nb::make_tuple(process.key, target.unique_id, target.rows, target.columns, nb::tuple(devices)));
    }
}

void program_rows(const Process& process, ProcessLists& lists) {
    process.book.table().for_each([&](const RecordCopy& words) {
        if (words.kind() != TTMEM_PROGRAM_BINARY) return;
        const nb::str operation = text(operation_of(process, words.target(), words.id));
        for (const uint32_t device : process.book.targets()[words.target()].devices)
            lists.programs.append(nb::make_tuple(process.key, device, program_object(words.id), words.status(),
                                                 words.launches(), words.reserved_bytes(), operation));
    });
}

void history_rows(const Process& process, const Timebase& time, ProcessLists& lists) {
    const auto when = [&](uint64_t raw) { return process.realtime(raw, time); };
    // A chip may stand under several targets (itself and a mesh): of their sum in a phase only the highest part is known.
    struct PhaseRow {
        uint64_t peak = 0, raw = 0, runs = 0;
        int targets = 0;
    };
    std::map<std::tuple<std::string, uint32_t, uint8_t>, PhaseRow> phases;
    for (size_t i = 0; i + 3 < process.phases.size(); i += 4) {
        const auto [name_id, target, pool] = PhasePlace::unpack(process.phases[i]);
        if (process.phases[i + 3] == 0 || pool >= kPools || (target >= kTargets && target != kNoTarget)) continue;
        if (target == kNoTarget && process.phases[i + 1] == 0) continue;  // none is open
        const std::string name = process.reader->item(name_id, Item::text).substr(0, 256);
        if (target == kNoTarget) {
            lists.open_phases.append(
                nb::make_tuple(process.key, text(name), when(process.phases[i + 2]), process.phases[i + 1]));
            continue;
        }
        for (const uint32_t device : process.book.targets()[target].devices) {
            PhaseRow& row = phases[{name, device, pool}];
            if (process.phases[i + 1] > row.peak) row.peak = process.phases[i + 1], row.raw = process.phases[i + 2];
            row.runs = std::max(row.runs, process.phases[i + 3]);
            ++row.targets;
        }
    }
    for (const auto& [where, row] : phases)
        lists.phases.append(nb::make_tuple(process.key, text(std::get<0>(where)), std::get<1>(where),
                                           std::get<2>(where), row.peak, when(row.raw), row.runs, row.targets > 1));
    for (const OutOfMemory& one : process.book.out_of_memory())
        lists.out_of_memory.append(
            nb::make_tuple(process.key, one.device, one.pool, one.requested, one.free, one.largest, when(one.raw)));
    for (const Clash& one : process.book.clashes())
        lists.clashes.append(nb::make_tuple(process.key, one.device, program_object(one.program), one.cb_end,
                                            one.buffer, when(one.raw)));
}

void add_process(const Process& process, const Timebase& time, const Wanted& wanted, ProcessLists& lists) {
    if (process.shadowed_by != 0) {  // shown once, by what says more
        if (!process.is_over())
            usage_rows(process, process.shadowed_by, time, wanted, lists.other_pools, lists.other_kinds);
        return;
    }
    lists.processes.append(process_row(process, time));
    if (process.mode == Mode::damaged) return;
    usage_rows(process, process.key, time, wanted, lists.pools, lists.kinds);
    footprint_rows(process, wanted, lists);
    if (process.way == Way::socket) return;  // it cannot speak of programs, meshes or phases
    core_rows(process, wanted, lists);
    activity_rows(process, wanted, lists);
    target_rows(process, wanted, lists);
    if (!wanted.is_all()) return;
    program_rows(process, lists);
    history_rows(process, time, lists);
}

void put_into(nb::dict& rows, const ProcessLists& lists) {
    rows["processes"] = lists.processes;
    rows["process_pools"] = lists.pools;
    rows["process_kinds"] = lists.kinds;
    rows["process_cores"] = lists.cores;
    rows["footprints"] = lists.footprints;
    lists.activity.put_into(rows);
    rows["launches"] = lists.launches;
    rows["programs"] = lists.programs;
    rows["phases"] = lists.phases;
    rows["open_phases"] = lists.open_phases;
    rows["out_of_memory"] = lists.out_of_memory;
    rows["clashes"] = lists.clashes;
    rows["clash_counts"] = lists.clash_counts;
    rows["meshes"] = lists.meshes;
    rows["other_pools"] = lists.other_pools;
    rows["other_kinds"] = lists.other_kinds;
}

// Chips that living processes have open whose journals broke: what they hold there is unknown.
nb::list doubted_rows(const Processes& processes) {
    std::set<uint32_t> found;
    for (const auto& process : processes) {
        if (process->mode != Mode::damaged || has_ended(*process) || process->shadowed_by != 0 || !process->is_verified)
            continue;
        for (const TargetBook& target : process->book.targets())
            if (target.is_named) found.insert(target.devices.begin(), target.devices.end());
    }
    nb::list numbers;
    for (const uint32_t number : found) numbers.append(number);
    return numbers;
}

}  // namespace

nb::dict flat_rows(Books& books, nb::object only) {
    const Wanted wanted(only);
    return books.look([&](Processes& processes, Devices& devices, const Timebase& time, const Besides& besides) {
        nb::dict rows;
        ProcessLists lists;
        rows["time_ns"] = nanoseconds(CLOCK_REALTIME);
        device_rows(devices, histories_of(devices, processes, all_peaks(processes, time)), wanted, rows);
        rows["spaces"] = rows["worst_cores"] = rows["headrooms"] = nb::list();
        if (wanted.is_all()) space_rows(besides.atlas, processes, devices, rows);
        for (const auto& process : processes) add_process(*process, time, wanted, lists);
        put_into(rows, lists);
        rows["doubted"] = doubted_rows(processes);
        rows["damaged"] = damaged_rows(besides.damaged);
        return rows;
    });
}

}  // namespace ttmem
