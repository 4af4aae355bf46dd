// A process as plain Python rows: who it is, what is doubtful about it, what it did on each chip.
#include <cstring>

#include "ledger/activity.hpp"
#include "python/row_parts.hpp"

namespace nb = nanobind;

namespace ttmem {
namespace {

nb::tuple numbers_of(const std::vector<uint32_t>& devices) {
    nb::list numbers;
    for (const uint32_t device : devices) numbers.append(device);
    return nb::tuple(numbers);
}

nb::tuple owner_row(const TargetBook& target) {
    return nb::make_tuple(target.rows, target.columns, numbers_of(target.devices));
}

// Addresses that two targets hold at once, and which targets those are.
nb::list overlap_rows(const Process& process) {
    nb::list rows;
    if (has_ended(process)) return rows;
    for (const Overlap& one : overlaps_of(process.book))
        rows.append(nb::make_tuple(one.pool, one.address, one.bytes, numbers_of(one.devices),
                                   owner_row(process.book.targets()[one.first]),
                                   owner_row(process.book.targets()[one.second])));
    return rows;
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
    put("stacks_lost", hot.stacks_refused);
    put("phases_lost", hot.phases_refused);
    put("targets_lost", hot.targets_refused);
    put("unknown_device", hot.unreported);
    put("undivided_l1", hot.undivided_l1);
    put("unjudged", hot.unjudged);
    put("lock_lost", process.has_lost_lock ? 1 : 0);
    put("counter_mismatch", process.mismatch_count);
    put("two_sources", process.other != 0 ? 1 : 0);
    put("file_removed", process.is_removed && !has_ended(process) ? 1 : 0);
    put("unverified", process.is_verified || has_ended(process) ? 0 : 1);
    return findings;
}

bool is_idle(const Activity& activity) {
    static const Activity kNothing{};
    return std::memcmp(&activity, &kNothing, sizeof activity) == 0;
}

}  // namespace

nb::str text(const std::string& bytes) {
    return nb::steal<nb::str>(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

nb::tuple size_row(const std::vector<uint64_t>& sizes) {
    nb::list row;
    for (const uint64_t size : sizes) row.append(size);
    return nb::tuple(row);
}

std::string operation_of(const Process& process, uint16_t target, uint64_t program) {
    return process.reader == nullptr ? std::string() : operation_text(*process.reader, process.book, target, program);
}

nb::object program_number(uint64_t reported) {
    if (reported == 0) return nb::none();
    return nb::cast(reported == TTMEM_PROGRAM_ZERO ? uint64_t{0} : reported);
}

const char* reason_of(const Process& process) {
    switch (process.mode) {
        case Mode::outrun:
            return process.is_verified ? "outrun" : "unverified";
        case Mode::damaged:
            return "damaged";
        case Mode::settling:
            return process.is_verified ? "settling" : "unverified";
        default:
            if (!process.is_verified) return "unverified";
            if (process.hot.targets_refused != 0) return "targets_lost";
            if (process.hot.unreported != 0) return "unknown_device";
            if (process.is_table_full) return "table_full";
            if (process.is_restored) return "restored";
            return process.hot.undivided_l1 != 0 ? "undivided" : "";
    }
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
    row["state"] = has_ended(process) ? "ended" : "live";
    row["visible"] = process.is_visible;
    row["complete"] = is_whole;
    row["reason"] = reason_of(process);
    row["origin"] = origin_of(process);
    row["started_ns"] = process.started_ns;
    row["ended_ns"] = process.ended_ns;
    row["last_event_ns"] = process.realtime(process.book.last_raw(), time);
    row["events"] = process.event_count;
    row["lost_records"] = process.lost_records;
    row["skipped"] = process.hot.skipped;
    row["untabled"] = process.hot.untabled_allocs;
    row["live_count"] = process.is_over() && process.way == Way::socket ? process.last_live_count
                                                                        : process.book.table().allocation_count();
    const nb::list overlaps = overlap_rows(process);
    row["findings"] = findings_of(process);
    if (nb::len(overlaps) != 0) row["findings"]["overlap"] = nb::len(overlaps);
    row["overlaps"] = overlaps;
    row["threads"] = process.hot.threads;
    uint64_t refusals = 0, clashes = 0;  // on all targets: one on a mesh is one
    for (size_t i = 0; i < process.book.target_count() && i < process.book.targets().size(); ++i) {
        const bool is_counted = i < process.targets.size();
        refusals += is_counted ? process.targets[i].refusals : process.book.targets()[i].refusals;
        clashes += is_counted ? process.targets[i].clashes : process.book.targets()[i].clashes;
    }
    row["refusals"] = refusals;
    row["clashes"] = clashes;
    row["incidents"] = incident_rows(process, time);
    row["incident_count"] = process.incidents.count;
    row["sites_off"] = text(process.sites_off);
    row["source"] = process.way == Way::socket ? "socket" : "journal";
    row["claimed_pid"] = process.claimed_pid;
    return row;
}

std::map<uint32_t, ChipCounts> counts_on(const Process& process) {
    std::map<uint32_t, ChipCounts> on_device;
    for (uint32_t i = 0; i < process.book.target_count() && i < process.book.targets().size(); ++i) {
        const bool is_counted = i < process.targets.size();
        if (is_counted && !process.noted.acting[i]) continue;
        const TargetBook& target = process.book.targets()[i];
        const uint64_t launches = is_counted ? process.targets[i].launches : target.launches;
        const uint64_t clashes = is_counted ? process.targets[i].clashes : target.clashes;
        if (!target.is_named || (launches | clashes) == 0) continue;
        for (const uint32_t device : target.devices) {
            on_device[device].launches += launches;
            on_device[device].clashes += clashes;
        }
    }
    return on_device;
}

std::map<uint32_t, Activity> activity_on(const Process& process) {
    std::map<uint32_t, Activity> on_device;
    for (uint32_t i = 0; i < process.book.target_count() && i < process.book.targets().size(); ++i) {
        const bool is_counted = i < process.targets.size();
        if (is_counted && !process.noted.acting[i]) continue;
        const TargetBook& target = process.book.targets()[i];
        if (!target.is_named) continue;
        if (!is_counted && target.activity == nullptr) continue;
        const Activity& own = is_counted ? process.targets[i].activity : *target.activity;
        if (is_idle(own)) continue;
        for (const uint32_t device : target.devices) add_activity(on_device[device], own);
    }
    return on_device;
}

bool has_ring(const Activity::Ring& ring) { return (ring.launches | ring.live | ring.retired | ring.total) != 0; }

bool has_cache(const Activity::Cache& cache) {
    const auto& o = cache.outcomes;
    static_assert(kOutcomes == 5);
    return (o[0] | o[1] | o[2] | o[3] | o[4] | cache.entries) != 0;
}

void ActivityLists::add(uint64_t key, uint32_t device, const Activity& activity) {
    for (uint32_t c = 0; c < kCoreTypes; ++c) {
        const Activity::Ring& ring = activity.rings[c];
        if (has_ring(ring))
            rings_.append(
                nb::make_tuple(key, device, c, ring.live, ring.retired, ring.entries, ring.launches, ring.total));
    }
    for (uint32_t s = 0; s < kStalls; ++s)
        if (activity.stalls[s] != 0) stalls_.append(nb::make_tuple(key, device, s, activity.stalls[s]));
    for (uint32_t c = 0; c < kCaches; ++c) {
        const Activity::Cache& cache = activity.caches[c];
        const auto& o = cache.outcomes;
        if (has_cache(cache))
            caches_.append(
                nb::make_tuple(key, device, c, o[0], o[1], o[2], o[3], o[4], cache.entries, cache.held, cache.shared));
    }
}

void ActivityLists::put_into(nb::dict& rows) const {
    rows["rings"] = rings_;
    rows["stalls"] = stalls_;
    rows["caches"] = caches_;
}

}  // namespace ttmem
