// The rows of ledger/rows/rows.hpp as nested tuples, field by field in their order (row_writer.hpp); nothing is worked out here.
//
//   look        (time_ns, chips, processes, unlisted, damaged)
//     chips       ((number, version, chip or None if the caller has it), ...), those that are shown, in their order
//     processes   ((key, version, process or None if the caller has it), ...)
//     unlisted    (name, ...): chips that are not shown, and that rows of processes may name by their number
//     damaged     ((path, what is wrong), ...)
//
//   chip        (device, pools, kinds, launch_count, activity, doubt, worst_core_bytes, worst_core, core_bytes,
//                headroom_bytes, headroom_programs, l1_hole_bytes, fullest_core_bytes, fullest_core, contradiction)
//                worst_core and fullest_core: (x, y) or None; worst with the circular buffers that are planned, fullest
//                with those that are resident now. headroom_programs: ((pid, program or None), ...)
//     device      (number, unique_id, index, is_known, name, arch, board, grid, dram_bank_count, l1_bank_count,
//                  kernel_ring_bytes, capacity_bytes by pool, open_count)
//     contradiction  None, or (count, what, believed text, other text, believed or None for the driver, other), the last
//                    two as (pid, uid, path); pid and uid are None for who is gone
//   name        (number, unique_id, index, is_known, name)
//   pool        (pool, used_bytes, requested_bytes, count, peak_bytes, peak_time_ns, is_lower_bound, origin, since_ns,
//                capacity_bytes, largest_free_bytes, largest_free_bank_bytes, hole_count, unattributed_bytes, None,
//                None, reason)
//   kind        (kind, used_bytes, count, is_estimated); of a core type likewise
//   activity    (cores, footprint or None, rings, stalls, caches)
//     footprint   (planned_bytes, resident_bytes, worst_planned_bytes, worst_resident_bytes, is_estimated)
//     ring        (core_type, live_bytes, retired_bytes, entry_count, launch_count, total_bytes)
//     stall       (reason, count)
//     cache       (cache, hits, misses, evicted, bypassed, emptied, entry_count, held_bytes, shared_bytes)
//
//   process     (key, pid, claimed_pid, source, uid, label or command, command, path, state, is_visible, pid_namespace,
//                origin, reason, start_time_ns, start_ticks, last_event_time_ns, event_count, lost_record_count,
//                skipped_count, untabled_count, live_count, thread_count, chips, pools, kinds, launch_count,
//                cb_planned_bytes, refusal_count, clash_count, incidents, incident_count, sites_off, findings, overlaps,
//                details or None)
//     chips       numbers of those that are shown, in their order
//     findings    ((name, count), ...)
//     overlaps    ((pool, address, bytes, chips, first, second), ...), both owners as (rows, columns, chips)
//     details     (devices, other_devices, programs, phases, open_phases, out_of_memory, clashes, meshes)
//       device      (chip, pools, kinds, launch_count, activity, clash_count), in the order of chips
//       program     (chip, program, status, launch_count, dram_bytes, operation)
//       phase       (name, chip, pool, peak_bytes, time_ns, run_count, is_lower_bound)
//       open phase  (name, since_ns, open_count)
//       refusal     (chip, pool, requested_bytes, free_bytes, largest_free_bytes, time_ns)
//       clash       (chip, program, cb_end_address, buffer_address, time_ns)
//       mesh        (mesh_id, rows, columns, chips)
//   incident    (number, kind, pool, time_ns, chips, is_mesh, thread, repeat_count, last_time_ns, is_read_later,
//                is_of_text, is_per_core, is_uncertain, requested_bytes, requested_per_bank_bytes, free_bytes,
//                largest_free_bytes, free_per_bank_bytes, largest_free_per_bank_bytes, bank_count, space_begin_address,
//                space_end_address, program, operation, cores, cb_end_address, lowest_buffer_address, trace, address,
//                phase, site, other_site, launches_before, launches_since, operations_since, entry_count,
//                left_out_count, left_out_bytes, text)
//     site        None, or (frames as (file, line, function), operation, device_operation, tensor, text, is_other)
#include "python/rows/whole_rows.hpp"

#include "ledger/rows/look.hpp"
#include "python/rows/row_writer.hpp"

namespace nb = nanobind;

namespace ttmem {
namespace {

Asked::Known known_in(const nb::dict& versions) {
    Asked::Known known;
    for (const auto& [name, version] : versions) known.emplace(nb::cast<uint64_t>(name), nb::cast<uint64_t>(version));
    return known;
}

}  // namespace

nb::tuple whole_rows(Books& books, nb::object details, nb::dict chips, nb::dict processes, nb::dict detailed) {
    Asked asked{known_in(chips), known_in(processes), known_in(detailed), false, {}};
    if (nb::isinstance<nb::str>(details)) {
        if (PyUnicode_CompareWithASCIIString(details.ptr(), "all") != 0)
            throw nb::value_error("details: expected keys of processes or \"all\", found another text");
        asked.has_all_details = true;
    } else if (!details.is_none()) {
        for (const nb::handle key : details) asked.details.insert(nb::cast<uint64_t>(key));
    }
    const Look look = books.without_python([&](Collector& collector) {
        return collector.look([&](const Processes& all, Devices& devices, const Timebase& time,
                                  const Besides& besides) { return look_of(asked, all, devices, time, besides); });
    });
    const CollectionOff off;  // many objects, none of which is in a circle
    RowWriter writer;
    return nb::steal<nb::tuple>(writer.tuple(look.time_ns, look.chips, look.processes, look.unlisted, look.damaged));
}

}  // namespace ttmem
