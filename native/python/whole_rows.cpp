// The rows of ledger/rows/rows.hpp as nested tuples, field by field in their order; nothing is worked out here.
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
//                capacity_bytes, largest_free_bytes, largest_free_bank_bytes, unattributed_bytes, None, None, reason)
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
#include "python/whole_rows.hpp"

#include <concepts>

#include "ledger/rows/look.hpp"

namespace nb = nanobind;

namespace ttmem {
namespace {

struct Nothing {};  // a field that this side never knows

/// Makes Python objects of rows. New references; a failure is thrown, and takes what was made so far along.
class RowWriter {
public:
    template <typename... Fields>
    PyObject* tuple(const Fields&... fields) {
        nb::object made = nb::steal(checked(PyTuple_New(sizeof...(fields))));
        Py_ssize_t at = 0;
        ((PyTuple_SET_ITEM(made.ptr(), at, object(fields)), ++at), ...);
        return made.release().ptr();
    }

    PyObject* object(const PoolRow& row) {
        return tuple(row.pool, row.used, row.requested, row.count, row.peak, row.peak_time_ns, row.is_lower_bound,
                     row.origin, row.since_ns, row.capacity, row.largest_free, row.largest_free_bank, row.unattributed,
                     Nothing(), Nothing(), row.reason);
    }
    PyObject* object(const KindRow& row) { return tuple(row.kind, row.used, row.count, row.is_estimated); }
    PyObject* object(const FootprintRow& row) {
        return tuple(row.planned, row.resident, row.worst_planned, row.worst_resident, row.is_estimated);
    }
    PyObject* object(const RingRow& row) {
        return tuple(row.core_type, row.live, row.retired, row.entries, row.launches, row.total);
    }
    PyObject* object(const CacheRow& row) {
        return tuple(row.cache, row.hits, row.misses, row.evicted, row.bypassed, row.emptied, row.entries, row.held,
                     row.shared);
    }
    PyObject* object(const ActivityRow& row) {
        if (!row.is_empty()) return whole(row);
        if (!no_activity_.is_valid()) no_activity_ = nb::steal(whole(row));  // most have none
        return Py_NewRef(no_activity_.ptr());
    }
    PyObject* whole(const ActivityRow& row) {
        return tuple(row.cores, row.footprint, row.rings, row.stalls, row.caches);
    }
    PyObject* object(const HeldRow& row) {
        return tuple(row.chip, row.pools, row.kinds, row.launches, row.activity, row.clashes);
    }
    PyObject* object(const ProgramRow& row) {
        return tuple(row.chip, row.program, row.status, row.launches, row.dram, row.operation);
    }
    PyObject* object(const PhaseRow& row) {
        return tuple(row.name, row.chip, row.pool, row.peak, row.time_ns, row.runs, row.is_lower_bound);
    }
    PyObject* object(const OpenPhaseRow& row) { return tuple(row.name, row.since_ns, row.count); }
    PyObject* object(const OutOfMemoryRow& row) {
        return tuple(row.chip, row.pool, row.requested, row.free, row.largest_free, row.time_ns);
    }
    PyObject* object(const ClashRow& row) { return tuple(row.chip, row.program, row.cb_end, row.buffer, row.time_ns); }
    PyObject* object(const MeshRow& row) { return tuple(row.mesh_id, row.rows, row.columns, row.chips); }
    PyObject* object(const FrameRow& row) { return tuple(row.file, row.line, row.function); }
    PyObject* object(const SiteRow& row) {
        return tuple(row.frames, row.operation, row.device_operation, row.tensor, row.text, row.is_other);
    }
    PyObject* object(const IncidentRow& row) {
        return tuple(row.number, row.kind, row.pool, row.time_ns, row.chips, row.is_mesh, row.thread, row.repeats,
                     row.last_time_ns, row.is_read_later, row.is_of_text, row.is_per_core, row.is_uncertain,
                     row.requested, row.requested_per_bank, row.free, row.largest_free, row.free_per_bank,
                     row.largest_free_per_bank, row.bank_count, row.space_begin, row.space_end, row.program,
                     row.operation, row.cores, row.cb_end, row.lowest_buffer, row.trace, row.address, row.phase,
                     row.site, row.other_site, row.launches_before, row.launches_since, row.operations_since,
                     row.entry_count, row.left_out_count, row.left_out_bytes, row.text);
    }
    PyObject* object(const DetailsRow& row) {
        return tuple(row.held, row.other, row.programs, row.phases, row.open_phases, row.out_of_memory, row.clashes,
                     row.meshes);
    }
    PyObject* object(const OwnerRow& row) { return tuple(row.rows, row.columns, row.chips); }
    PyObject* object(const OverlapRow& row) {
        return tuple(row.pool, row.address, row.bytes, row.chips, row.first, row.second);
    }
    PyObject* object(const ProcessRow& row) {
        return tuple(row.key, row.pid, row.claimed_pid, row.source, row.uid, row.label, row.command, row.path,
                     row.state, row.is_visible, row.pid_namespace, row.origin, row.reason, row.start_time_ns,
                     row.start_ticks, row.last_event_time_ns, row.event_count, row.lost_record_count, row.skipped_count,
                     row.untabled_count, row.live_count, row.thread_count, row.chips, row.pools, row.kinds,
                     row.launch_count, row.cb_planned, row.refusal_count, row.clash_count, row.incidents,
                     row.incident_count, row.sites_off, row.findings, row.overlaps, row.details);
    }
    PyObject* object(const ChipNameRow& row) {
        return tuple(row.number, row.unique_id, row.index, row.is_known, row.name);
    }
    PyObject* object(const DeviceRow& row) {
        const ChipNameRow& name = row.name;
        return tuple(name.number, name.unique_id, name.index, name.is_known, name.name, row.arch, row.board, row.grid,
                     row.dram_banks, row.l1_banks, row.kernel_ring, row.capacities, row.open_count);
    }
    PyObject* object(const OpenerRow& row) { return tuple(row.pid, row.uid, row.path); }
    PyObject* object(const ContradictionRow& row) {
        return tuple(row.count, row.what, row.believed_text, row.other_text, row.believed, row.other);
    }
    PyObject* object(const ChipRow& row) {
        return tuple(row.device, row.pools, row.kinds, row.launch_count, row.activity, row.doubt, row.worst_core,
                     row.worst_place, row.core_bytes, row.headroom, row.headroom_programs, row.l1_hole, row.fullest_now,
                     row.fullest_place, row.contradiction);
    }
    template <typename Row>
    PyObject* object(const Versioned<Row>& row) {
        return tuple(row.name, row.version, row.row);
    }

    PyObject* object(Nothing) { return Py_NewRef(Py_None); }
    PyObject* object(bool value) { return Py_NewRef(value ? Py_True : Py_False); }
    template <std::unsigned_integral Number>
    PyObject* object(Number value) {
        return checked(PyLong_FromUnsignedLongLong(value));
    }
    PyObject* object(int64_t value) { return checked(PyLong_FromLongLong(value)); }
    /// Names come from other processes and may be anything.
    PyObject* object(const std::string& text) {
        return checked(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
    }
    /// One of a few words, which live for good.
    PyObject* object(std::string_view word) {
        for (const auto& [known, made] : words_)
            if (known.data() == word.data() && known.size() == word.size()) return Py_NewRef(made.ptr());
        nb::object made =
            nb::steal(checked(PyUnicode_FromStringAndSize(word.data(), static_cast<Py_ssize_t>(word.size()))));
        return Py_NewRef(words_.emplace_back(word, std::move(made)).second.ptr());
    }
    template <typename Value>
    PyObject* object(const std::optional<Value>& value) {
        return value ? object(*value) : Py_NewRef(Py_None);
    }
    template <typename First, typename Second>
    PyObject* object(const std::pair<First, Second>& both) {
        return tuple(both.first, both.second);
    }
    template <typename Row>
    PyObject* object(const std::vector<Row>& rows) {
        nb::object made = nb::steal(checked(PyTuple_New(static_cast<Py_ssize_t>(rows.size()))));
        Py_ssize_t at = 0;
        for (const Row& row : rows) PyTuple_SET_ITEM(made.ptr(), at++, object(row));
        return made.release().ptr();
    }

private:
    static PyObject* checked(PyObject* made) {
        if (made == nullptr) throw nb::python_error();
        return made;
    }

    std::vector<std::pair<std::string_view, nb::object>> words_;
    nb::object no_activity_;
};

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
