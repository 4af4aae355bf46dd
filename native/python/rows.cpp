#include "python/rows.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "ledger/footprint.hpp"

namespace nb = nanobind;

namespace ttmem {
namespace {

// Whose rows are wanted: those of all devices, or of some.
class Wanted {
public:
    explicit Wanted(nb::handle devices) : is_all_(devices.is_none()) {
        if (is_all_) return;
        for (const nb::handle device : devices) numbers_.push_back(nb::cast<uint32_t>(device));
    }
    bool is_all() const { return is_all_; }
    bool has(uint32_t device) const {
        return is_all_ || std::find(numbers_.begin(), numbers_.end(), device) != numbers_.end();
    }

private:
    bool is_all_;
    std::vector<uint32_t> numbers_;
};

int64_t shown(int64_t amount) { return std::max<int64_t>(amount, 0); }

nb::dict device_row(uint32_t number, const Device& device) {
    nb::dict row;
    const DeviceDescriptor& facts = device.facts;
    nb::list capacities;
    for (const uint64_t bytes : facts.capacity_bytes) capacities.append(bytes);
    row["number"] = number;
    row["unique_id"] = device.unique_id;
    row["index"] = facts.index;
    row["arch"] = text(facts.arch);
    row["board"] = text(facts.board);
    row["grid"] = nb::make_tuple(facts.grid_x, facts.grid_y);
    row["banks"] = nb::make_tuple(facts.dram_banks, facts.l1_banks);
    row["kernel_ring_bytes"] = facts.kernel_ring_bytes;
    row["capacities"] = nb::tuple(capacities);
    row["open_count"] = std::max(device.open_count, 0);
    row["known"] = device.is_known;
    row["name"] = text(device.name.substr(0, device.name.find('@')));
    return row;
}

// Counters do not tell what was asked for: where a living process is known by them only, the sum of all is unknown.
bool is_request_known(const Processes& processes, uint32_t device, uint32_t pool) {
    for (const auto& process : processes) {
        if (process->is_over() || process->book.is_counting()) continue;
        const auto cell = process->book.cells().find(device);
        if (cell != process->book.cells().end() && cell->second.pools[pool].count > 0) return false;
    }
    return true;
}

// Whose figures are among those of the chips.
bool is_live(const Process& process) { return !process.is_over() && process.shadowed_by == 0; }

// What is known of a chip's history: our own sums, and the peaks that each process's journal has kept by itself. If one
// of them was there before us, nobody knows how high all of them together have been.
struct History {
    Peak peak;
    uint64_t since_ns = 0;
};

History history_of(const Device& device, uint32_t number, uint32_t pool, const Processes& processes,
                   const Timebase& time) {
    const PeakAmount& sums = device.cell.pools[pool];
    History history{{sums.peak, sums.peak_time_ns, device.is_lower_bound}, device.since_ns};
    bool has_late = false;
    uint64_t earliest = device.since_ns;
    for (const auto& process : processes) {
        const auto cell = process->book.cells().find(number);
        if (!is_live(*process) || cell == process->book.cells().end()) continue;
        const Peak own = peak_of(*process, time, number, pool, cell->second.pools[pool]);
        if (own.bytes > history.peak.bytes) history.peak = {own.bytes, own.time_ns, history.peak.is_lower_bound};
        has_late = has_late || (process->is_late && process->peaks_since_ns == 0);
        if (process->peaks_since_ns == 0) earliest = std::min(earliest, process->started_ns);
    }
    history.peak.is_lower_bound = history.peak.is_lower_bound || has_late;
    if (!has_late && earliest != 0) history.since_ns = earliest;
    return history;
}

void device_rows(const Devices& devices, const Processes& processes, const Timebase& time, const Wanted& wanted,
                 nb::dict& rows) {
    nb::list list, pools, kinds, cores;
    uint32_t number = 0;
    for (const Device& device : devices.all()) {
        if (!wanted.has(number) || (!device.is_known && device.user_count == 0)) {
            ++number;  // or nobody's any more
            continue;
        }
        list.append(device_row(number, device));
        for (uint32_t p = 0; p < kPools; ++p) {
            const PeakAmount& pool = device.cell.pools[p];
            const History history = history_of(device, number, p, processes, time);
            if (history.peak.bytes == 0 && pool.count == 0) continue;
            const int64_t requested = is_request_known(processes, number, p) ? shown(pool.requested) : -1;
            pools.append(nb::make_tuple(number, p, shown(pool.used), requested, shown(pool.count), history.peak.bytes,
                                        history.peak.time_ns, history.since_ns, history.peak.is_lower_bound));
        }
        for (uint32_t k = 0; k < kKinds; ++k) {
            const KindAmount& kind = device.cell.kinds[k];
            if (kind.count > 0)
                kinds.append(nb::make_tuple(number, k, shown(kind.used), kind.count, kind.estimated > 0));
        }
        for (uint32_t c = 0; c < kCoreTypes; ++c) {
            const KindAmount& core = device.cell.cores[c];
            if (core.count > 0)
                cores.append(nb::make_tuple(number, c, shown(core.used), core.count, core.estimated > 0));
        }
        ++number;
    }
    rows["devices"] = list;
    rows["device_pools"] = pools;
    rows["device_kinds"] = kinds;
    rows["device_cores"] = cores;
}

const char* reason_of(const Process& process) {
    switch (process.mode) {
        case Mode::outrun:
            return "outrun";
        case Mode::damaged:
            return "damaged";
        case Mode::settling:
            return "settling";
        default:
            return process.is_table_full ? "table_full" : (process.is_restored ? "restored" : "");
    }
}

nb::dict findings_of(const Process& process) {
    nb::dict findings;
    const auto put = [&](const char* name, uint64_t count) {
        if (count != 0) findings[name] = count;
    };
    uint64_t classified = 0;
    for (const auto& [name, count] : process.book.findings()) {
        put(name.c_str(), count);
        if (name == "double_free" || name == "wrong_target_free") classified += count;
    }
    const Hot& hot = process.hot;
    put("unknown_free", hot.unmatched_frees > classified ? hot.unmatched_frees - classified : 0);
    put("replaced", hot.replaced);
    put("clamped", hot.clamped);
    put("shrunk_kernel", hot.shrunk_kernels);
    put("unsized_free", hot.unsized_frees);
    put("names_lost", hot.arena_refused);
    put("phases_lost", hot.phases_refused);
    put("targets_lost", hot.targets_refused);
    put("lock_lost", process.has_lost_lock ? 1 : 0);
    put("counter_mismatch", process.mismatch_count);
    put("two_sources", process.other != 0 ? 1 : 0);
    return findings;
}

nb::dict process_row(const Process& process, const Timebase& time) {
    nb::dict row;
    const bool is_whole = *reason_of(process) == '\0';
    row["key"] = process.key;
    row["pid"] = process.pid;
    row["uid"] = process.uid;
    row["start_ticks"] = process.start_ticks;
    row["pid_namespace"] = process.pid_namespace;
    row["label"] = text(process.label);
    row["command"] = text(process.command);
    row["path"] = text(process.path);
    row["state"] = process.mode == Mode::ended || process.ended_ns != 0 ? "ended" : "live";
    row["visible"] = process.is_visible;
    row["complete"] = is_whole;
    row["reason"] = reason_of(process);
    row["origin"] = process.book.is_counting() ? "counted" : "counter";
    row["started_ns"] = process.started_ns;
    row["ended_ns"] = process.ended_ns;
    row["last_event_ns"] = process.realtime(process.book.last_raw(), time);
    row["events"] = process.event_count;
    row["lost_records"] = process.lost_records;
    row["skipped"] = process.hot.skipped;
    row["untabled"] = process.hot.untabled_allocs;
    row["live_count"] =
        process.is_over() && process.way == Way::socket ? process.last_live_count : process.book.table().size();
    row["findings"] = findings_of(process);
    row["threads"] = process.hot.threads;
    row["source"] = process.way == Way::socket ? "socket" : "journal";
    row["claimed_pid"] = process.claimed_pid;
    return row;
}

struct ProcessLists {
    nb::list processes, pools, kinds, cores, launches, programs, phases, out_of_memory, clashes, clash_counts, meshes,
        other_pools, other_kinds;
    nb::list rings, stalls, caches, footprints;
};

// The figures of a process under a key, which is its own or that of the better source of the same process.
void usage_rows(const Process& process, uint64_t key, const Timebase& time, const Wanted& wanted, nb::list& pools,
                nb::list& kinds) {
    for (const auto& [device, cell] : process.book.cells()) {
        if (!wanted.has(device)) continue;
        for (uint32_t p = 0; p < kPools; ++p) {
            const PeakAmount& pool = cell.pools[p];
            const Peak peak = peak_of(process, time, device, p, pool);
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
    if (!process.book.is_counting()) return;  // the list is not whole
    for (const auto& [device, found] : footprints_of(process.book))
        if (wanted.has(device))
            lists.footprints.append(nb::make_tuple(process.key, device, found.planned, found.resident,
                                                   found.worst_planned, found.worst_resident, found.is_estimated,
                                                   found.has_strangers));
}

// Several targets may stand for one chip; a mesh's rings and caches are those of each of its chips.
void activity_rows(const Process& process, const Wanted& wanted, ProcessLists& lists) {
    std::map<uint32_t, Activity> on_device;
    for (size_t i = 0; i < process.book.targets().size(); ++i) {
        const TargetBook& target = process.book.targets()[i];
        if (!target.is_named) continue;
        const bool is_counted = i < process.targets.size();
        if (!is_counted && target.activity == nullptr) continue;
        const Activity& own = is_counted ? process.targets[i].activity : *target.activity;
        for (const uint32_t device : target.devices)
            if (wanted.has(device)) add_activity(on_device[device], own);
    }
    for (const auto& [device, sum] : on_device) {
        for (uint32_t c = 0; c < kCoreTypes; ++c) {
            const Activity::Ring& ring = sum.rings[c];
            if ((ring.launches | ring.live | ring.retired | ring.total) != 0)
                lists.rings.append(nb::make_tuple(process.key, device, c, ring.live, ring.retired, ring.entries,
                                                  ring.launches, ring.total));
        }
        for (uint32_t s = 0; s < kStalls; ++s)
            if (sum.stalls[s] != 0) lists.stalls.append(nb::make_tuple(process.key, device, s, sum.stalls[s]));
        for (uint32_t c = 0; c < kCaches; ++c) {
            const Activity::Cache& cache = sum.caches[c];
            const auto& o = cache.outcomes;
            static_assert(kOutcomes == 5);
            if ((o[0] | o[1] | o[2] | o[3] | o[4] | cache.entries) != 0)
                lists.caches.append(nb::make_tuple(process.key, device, c, o[0], o[1], o[2], o[3], o[4], cache.entries,
                                                   cache.held, cache.shared));
        }
    }
}

void target_rows(const Process& process, const Wanted& wanted, ProcessLists& lists) {
    std::map<uint32_t, uint64_t> launches_on, clashes_on;  // several targets may stand for one chip
    for (size_t i = 0; i < process.book.targets().size(); ++i) {
        const TargetBook& target = process.book.targets()[i];
        if (!target.is_named) continue;
        const uint64_t launches = i < process.targets.size() ? process.targets[i].launches : target.launches;
        const uint64_t clashes = i < process.targets.size() ? process.targets[i].clashes : target.clashes;
        nb::list devices;
        for (const uint32_t device : target.devices) {
            if (!wanted.has(device)) continue;
            if (launches != 0) launches_on[device] += launches;
            if (clashes != 0) clashes_on[device] += clashes;
            devices.append(device);
        }
        if (target.is_mesh && target.is_open && wanted.is_all())
            lists.meshes.append(
                nb::make_tuple(process.key, target.unique_id, target.rows, target.columns, nb::tuple(devices)));
    }
    for (const auto& [device, count] : launches_on) lists.launches.append(nb::make_tuple(process.key, device, count));
    for (const auto& [device, count] : clashes_on)
        lists.clash_counts.append(nb::make_tuple(process.key, device, count));
}

void program_rows(const Process& process, ProcessLists& lists) {
    process.book.table().for_each([&](const Words& words) {
        if (words.kind() != TTMEM_PROGRAM_BINARY) return;
        for (const uint32_t device : process.book.targets()[words.target()].devices)
            lists.programs.append(nb::make_tuple(process.key, device, words.id, words.status(), words.launches(),
                                                 words.reserved_bytes()));
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
        const uint64_t place = process.phases[i];
        const auto target = static_cast<uint16_t>(place >> 32);
        const auto pool = static_cast<uint8_t>(place >> 48);
        if (process.phases[i + 3] == 0 || target >= kTargets || pool >= kPools) continue;
        const std::string name = process.reader->item(static_cast<uint32_t>(place), Item::text).substr(0, 256);
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
        lists.clashes.append(
            nb::make_tuple(process.key, one.device, one.program, one.cb_end, one.buffer, when(one.raw)));
}

}  // namespace

nb::str text(const std::string& bytes) {  // names come from other processes and may be anything
    return nb::steal<nb::str>(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

// A process's own peak: where one target covers the chip the journal's counter is exact whatever we missed; where
// several do, the peak of their sum is only known from the events we followed.
Peak peak_of(const Process& process, const Timebase& time, uint32_t device, uint32_t pool, const PeakAmount& followed) {
    size_t number = 0;
    const auto when = [&](uint64_t raw) { return process.realtime(raw, time); };
    const auto is_reset = [&](uint64_t raw) {
        return process.peaks_since_ns != 0 && when(raw) < process.peaks_since_ns;
    };
    if (process.targets.empty()) return {followed.peak, when(followed.peak_raw), process.is_late};
    if (process.book.only_target_on(device, number) != nullptr && number < process.targets.size()) {
        const auto& counter = process.targets[number].pools[pool];
        if (static_cast<int64_t>(counter.peak) >= followed.peak && !is_reset(counter.peak_time))
            return {static_cast<int64_t>(counter.peak), when(counter.peak_time), false};
    }
    Peak peak{followed.peak, when(followed.peak_raw), process.is_late};
    for (size_t i = 0; i < process.targets.size(); ++i) {
        const auto& counter = process.targets[i].pools[pool];
        if (process.book.touches(process.book.targets()[i], device) &&
            static_cast<int64_t>(counter.peak) > peak.bytes && !is_reset(counter.peak_time))
            peak = {static_cast<int64_t>(counter.peak), when(counter.peak_time), process.is_late};
    }
    return peak;
}

nb::dict snapshot_rows(Collector& collector, nb::object only) {
    const Wanted wanted(only);
    return collector.look([&](Processes& processes, Devices& devices, const Timebase& time, const auto& damaged) {
        nb::dict rows;
        ProcessLists lists;
        rows["time_ns"] = nanoseconds(CLOCK_REALTIME);
        device_rows(devices, processes, time, wanted, rows);
        rows["spaces"] = rows["worst_cores"] = nb::list();
        if (wanted.is_all()) space_rows(collector, processes, devices, rows);
        for (const auto& process : processes) {
            if (process->shadowed_by != 0) {  // shown once, by what tells more
                if (!process->is_over())
                    usage_rows(*process, process->shadowed_by, time, wanted, lists.other_pools, lists.other_kinds);
                continue;
            }
            lists.processes.append(process_row(*process, time));
            if (process->mode == Mode::damaged) continue;
            usage_rows(*process, process->key, time, wanted, lists.pools, lists.kinds);
            if (process->way == Way::socket) continue;  // it cannot speak of programs, meshes or phases
            core_rows(*process, wanted, lists);
            activity_rows(*process, wanted, lists);
            target_rows(*process, wanted, lists);
            if (!wanted.is_all()) continue;
            program_rows(*process, lists);
            history_rows(*process, time, lists);
        }
        rows["processes"] = lists.processes;
        rows["process_pools"] = lists.pools;
        rows["process_kinds"] = lists.kinds;
        rows["process_cores"] = lists.cores;
        rows["footprints"] = lists.footprints;
        rows["rings"] = lists.rings;
        rows["stalls"] = lists.stalls;
        rows["caches"] = lists.caches;
        rows["launches"] = lists.launches;
        rows["programs"] = lists.programs;
        rows["phases"] = lists.phases;
        rows["out_of_memory"] = lists.out_of_memory;
        rows["clashes"] = lists.clashes;
        rows["clash_counts"] = lists.clash_counts;
        rows["meshes"] = lists.meshes;
        rows["other_pools"] = lists.other_pools;
        rows["other_kinds"] = lists.other_kinds;
        nb::list files;
        for (const auto& [path, what] : damaged) files.append(nb::make_tuple(text(path), text(what)));
        rows["damaged"] = files;
        return rows;
    });
}

}  // namespace ttmem
