// A process as plain Python rows: who it is, what is doubtful about it, what it did on each chip.
#include "ledger/chips/activity.hpp"
#include "python/rows/row_writer.hpp"
#include "python/testing/flat_rows.hpp"

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

nb::dict finding_dict(const Process& process) {
    nb::dict findings;
    for (const auto& [name, count] : findings_of(process)) findings[name.c_str()] = count;
    return findings;
}

// Names of the fields of an incident, in their order.
constexpr const char* kIncidentFields[] = {"number",
                                           "kind",
                                           "pool",
                                           "time_ns",
                                           "devices",
                                           "is_mesh",
                                           "thread",
                                           "repeat_count",
                                           "last_time_ns",
                                           "is_read_later",
                                           "is_of_text",
                                           "is_per_core",
                                           "is_uncertain",
                                           "requested_bytes",
                                           "requested_per_bank_bytes",
                                           "free_bytes",
                                           "largest_free_bytes",
                                           "free_per_bank_bytes",
                                           "largest_free_per_bank_bytes",
                                           "bank_count",
                                           "space_begin_address",
                                           "space_end_address",
                                           "program",
                                           "operation",
                                           "cores",
                                           "cb_end_address",
                                           "lowest_buffer_address",
                                           "trace",
                                           "address",
                                           "phase",
                                           "site",
                                           "other_site",
                                           "launches_before",
                                           "launches_since",
                                           "operations_since",
                                           "entry_count",
                                           "left_out_count",
                                           "left_out_bytes",
                                           "text"};

nb::list incident_dicts(const Process& process, const Timebase& time) {
    nb::list rows;
    for (const KnownIncident& one : process.incidents.heads) {
        const nb::tuple values = nb::steal<nb::tuple>(RowWriter().object(incident_row(process, one, time)));
        nb::dict row;
        for (size_t at = 0; at < std::size(kIncidentFields); ++at) row[kIncidentFields[at]] = values[at];
        rows.append(row);
    }
    return rows;
}

}  // namespace

nb::dict process_row(const Process& process, const Timebase& time) {
    nb::dict row;
    const bool is_whole = reason_of(process).empty();
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
    row["reason"] = text(std::string(reason_of(process)));
    row["origin"] = text(std::string(origin_of(process)));
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
    row["findings"] = finding_dict(process);
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
    row["incidents"] = incident_dicts(process, time);
    row["incident_count"] = process.incidents.count;
    row["sites_off"] = text(process.sites_off);
    row["source"] = process.way == Way::socket ? "socket" : "journal";
    row["claimed_pid"] = process.claimed_pid;
    return row;
}

void ActivityLists::add(uint64_t key, uint32_t device, const Activity& activity) {
    for (uint32_t c = 0; c < kCoreTypes; ++c) {
        const Activity::Ring& ring = activity.rings[c];
        if (is_used(ring))
            rings_.append(
                nb::make_tuple(key, device, c, ring.live, ring.retired, ring.entries, ring.launches, ring.total));
    }
    for (uint32_t s = 0; s < kStalls; ++s)
        if (activity.stalls[s] != 0) stalls_.append(nb::make_tuple(key, device, s, activity.stalls[s]));
    for (uint32_t c = 0; c < kCaches; ++c) {
        const Activity::Cache& cache = activity.caches[c];
        const auto& o = cache.outcomes;
        if (is_used(cache))
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
