// Makes nested tuples of the rows of ledger/rows/, field by field in their order; nothing is worked out here.
#pragma once

#include <nanobind/nanobind.h>

#include <concepts>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ledger/rows/incidents/incident_copy.hpp"
#include "ledger/rows/look.hpp"

namespace ttmem {

struct Nothing {};  // a field that this side never knows

/// Makes Python objects of rows. New references; a failure is thrown, and takes what was made so far along.
class RowWriter {
public:
    template <typename... Fields>
    PyObject* tuple(const Fields&... fields) {
        nanobind::object made = nanobind::steal(checked(PyTuple_New(sizeof...(fields))));
        Py_ssize_t at = 0;
        ((PyTuple_SET_ITEM(made.ptr(), at, object(fields)), ++at), ...);
        return made.release().ptr();
    }

    PyObject* object(const PoolRow& row) {
        const auto with = [&](const auto&... totals) {
            return tuple(row.pool, row.used, row.requested, row.count, row.peak, row.peak_time_ns, row.is_lower_bound,
                         row.origin, row.since_ns, row.capacity, row.largest_free, row.largest_free_bank,
                         row.hole_count, row.unattributed, Nothing(), Nothing(), totals..., row.reason);
        };
        return std::apply(with, row.totals);
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
        if (!no_activity_.is_valid()) no_activity_ = nanobind::steal(whole(row));  // most have none
        return Py_NewRef(no_activity_.ptr());
    }
    PyObject* whole(const ActivityRow& row) {
        return tuple(row.cores, row.footprint, row.rings, row.stalls, row.caches);
    }
    PyObject* object(const HeldRow& row) {
        return tuple(row.chip, Shared{row.pools, pools_}, Shared{row.kinds, kinds_}, row.launches, row.activity,
                     row.clashes);
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
    PyObject* object(const HeldEntryRow& row) {
        return tuple(row.kind, row.pool, row.id, row.address, row.reserved, row.requested, row.per_bank, row.program,
                     row.operation, row.cores, row.core_count, row.is_per_core, row.is_view, row.layout, row.page,
                     row.thread, row.time_ns, row.sequence, row.phase, row.site, row.chips);
    }
    PyObject* object(const IncidentCopyRow& row) {
        return tuple(row.pid, row.chips, row.incident, row.entries, row.sequence_before, row.sequence_after);
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
        nanobind::object made =
            nanobind::steal(checked(PyUnicode_FromStringAndSize(word.data(), static_cast<Py_ssize_t>(word.size()))));
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
        nanobind::object made = nanobind::steal(checked(PyTuple_New(static_cast<Py_ssize_t>(rows.size()))));
        Py_ssize_t at = 0;
        for (const Row& row : rows) PyTuple_SET_ITEM(made.ptr(), at++, object(row));
        return made.release().ptr();
    }

private:
    /// What was made of the last list of its kind. The chips of a mesh mostly hold the same: they get the same tuple, so that
    /// a reader can see by identity that there is nothing new to make (DESIGN 12, "full snapshot").
    template <typename Row>
    struct Last {
        std::vector<Row> rows;
        nanobind::object made;
    };
    template <typename Row>
    struct Shared {
        const std::vector<Row>& rows;
        Last<Row>& last;
    };
    template <typename Row>
    PyObject* object(const Shared<Row>& list) {
        if (!list.last.made.is_valid() || list.rows != list.last.rows)
            list.last = {list.rows, nanobind::steal(object(list.rows))};
        return Py_NewRef(list.last.made.ptr());
    }

    static PyObject* checked(PyObject* made) {
        if (made == nullptr) throw nanobind::python_error();
        return made;
    }

    std::vector<std::pair<std::string_view, nanobind::object>> words_;
    nanobind::object no_activity_;
    Last<PoolRow> pools_;
    Last<KindRow> kinds_;
};

}  // namespace ttmem
