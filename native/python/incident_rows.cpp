// Incidents as plain Python rows: heads, by the names their fields have in ttmem/snapshot/incidents.py, and the copy of
// what was alive at one of them.
#include <algorithm>

#include "python/entry_words.hpp"
#include "python/row_parts.hpp"

namespace nb = nanobind;

namespace ttmem {
namespace {

nb::object number_or_none(bool is_known, uint64_t value) { return is_known ? nb::cast(value) : nb::object(nb::none()); }

nb::object figure(uint64_t value) { return number_or_none(value != kUnknownFigure, value); }

nb::object unless_zero(uint64_t value) { return number_or_none(value != 0, value); }

nb::object unless_empty(const std::string& bytes) {
    return bytes.empty() ? nb::object(nb::none()) : nb::object(text(bytes));
}

// (frames as (file, line, function), operation, device operation, tensor, text, whether there was no room for it)
nb::object site_row(const SiteText& site) {
    if (!site.is_known()) return nb::none();
    nb::list frames;
    std::string operation, device_operation, tensor;
    for (const SiteNode& node : site.path.nodes) {
        if (node.kind == Node::frame) frames.append(nb::make_tuple(text(node.file), node.line, text(node.name)));
        if (node.kind == Node::operation && operation.empty()) operation = node.name;
        if (node.kind == Node::device_operation && device_operation.empty()) device_operation = node.name;
        if (node.kind == Node::tensor && tensor.empty()) tensor = node.name;
    }
    return nb::make_tuple(nb::tuple(frames), unless_empty(operation), unless_empty(device_operation),
                          unless_empty(tensor), unless_empty(site.text), site.path.is_other);
}

// What came after it: launches on its target, and records of any kind.
void put_since(const Process& process, const IncidentWords& words, nb::dict& row) {
    const uint16_t target = words.target();
    const bool is_counted = target < process.targets.size() && process.targets[target].launches >= words.launches;
    row["launches_since"] =
        number_or_none(is_counted, is_counted ? process.targets[target].launches - words.launches : 0);
    const uint64_t own = words.sequence_after + words.repeats;  // each repetition has a record
    const bool is_known = words.sequence_after != 0 && process.hot.head >= own;
    row["operations_since"] = number_or_none(is_known, process.hot.head - own);
}

void put_figures(const IncidentWords& words, nb::dict& row) {
    row["requested_bytes"] = figure(words.requested);
    row["requested_per_bank_bytes"] = figure(words.per_bank);
    row["free_bytes"] = figure(words.free);
    row["largest_free_bytes"] = figure(words.largest);
    row["free_per_bank_bytes"] = figure(words.bank_free);
    row["largest_free_per_bank_bytes"] = figure(words.bank_largest);
    row["bank_count"] = unless_zero(words.banks);
    const bool has_space = (words.space_begin | words.space_end) != 0;
    row["space_begin_address"] = number_or_none(has_space, words.space_begin);
    row["space_end_address"] = number_or_none(has_space, words.space_end);
    row["program"] = program_object(words.program);
    row["cb_end_address"] = unless_zero(words.cb_end);
    row["lowest_buffer_address"] = unless_zero(words.lowest_buffer);
    row["trace"] = number_or_none(words.kind() == TTMEM_INCIDENT_UNSAFE_REPLAY, words.trace);
    row["address"] = unless_zero(words.address);
    row["launches_before"] = words.launches;
    row["entry_count"] = number_or_none(words.has_copy(), words.entry_count());
    row["left_out_count"] = words.left_out;
    row["left_out_bytes"] = words.left_out_bytes;
}

nb::dict incident_dict(const Process& process, const KeptIncident& incident, const Timebase& time) {
    const IncidentWords& words = incident.words;
    const TargetBook& target = process.book.targets()[words.target()];
    nb::list devices;
    for (const uint32_t device : target.devices) devices.append(device);
    nb::dict row;
    row["number"] = words.number();
    row["kind"] = words.kind();
    row["pool"] = words.pool();
    row["devices"] = nb::tuple(devices);
    row["is_mesh"] = target.is_mesh;
    row["time_ns"] = process.realtime(words.time, time);
    row["thread"] = unless_zero(incident.thread);
    row["repeat_count"] = words.repeats;
    row["last_time_ns"] = number_or_none(words.last_time != 0, process.realtime(words.last_time, time));
    row["is_read_later"] = (words.flags() & kReadLater) != 0;
    row["is_of_text"] = (words.flags() & kHasText) != 0;
    row["is_per_core"] = (words.flags() & kPerCore) != 0;
    row["is_uncertain"] = (words.flags() & kMayOverlap) != 0;
    row["operation"] = unless_empty(incident.operation);
    row["cores"] = unless_empty(incident.cores);
    row["phase"] = unless_empty(incident.phase);
    row["site"] = site_row(incident.site);
    row["other_site"] = site_row(incident.other_site);
    row["text"] = text(words.said());
    put_figures(words, row);
    put_since(process, words, row);
    return row;
}

// The phase of the incident, if it was made since that began, or that it was made before.
std::string phase_of(const KeptIncident& incident, uint64_t made) {
    if (incident.phase_began == 0 || incident.phase.empty()) return {};
    return made >= incident.phase_began ? incident.phase : "before " + incident.phase;
}

// (kind, pool, id, address, reserved, requested, per bank, program, its operation, cores, core count, whether by core, whether a view,
// layout, page, thread, time_ns, sequence, phase, site, numbers of its devices if these are not the incident's)
nb::tuple held_row(const Process& process, const KeptIncident& incident, const Words& words,
                   const std::vector<uint32_t>& threads, const Timebase& time) {
    const EntryWords its(words);
    nb::list devices;
    if (words.target() != incident.words.target())
        for (const uint32_t device : process.book.targets()[words.target()].devices) devices.append(device);
    const bool is_program = words.kind() == TTMEM_PROGRAM_BINARY;
    const std::string cores =
        its.core_set == 0 ? std::string() : process.reader->item(its.core_set, Item::text).substr(0, 2048);
    return nb::make_tuple(
        words.kind(), words.pool(), is_program && words.id == TTMEM_PROGRAM_ZERO ? uint64_t{0} : words.id,
        unless_zero(its.address), words.reserved_bytes(), its.asked, unless_zero(its.per_bank),
        program_object(its.program),
        unless_empty(operation_text(*process.reader, process.book, words.target(), its.program)), unless_empty(cores),
        unless_zero(its.core_count), words.is_by_core(), (words.flags() & kView) != 0, its.layout,
        unless_zero(its.page), unless_zero(words.thread() < threads.size() ? threads[words.thread()] : 0),
        process.realtime(words.time, time), words.sequence(), unless_empty(phase_of(incident, words.time)),
        site_row(is_program ? SiteText() : site_text(*process.reader, words.site())), nb::tuple(devices));
}

bool is_told(const Words& entry) { return entry.kind() < kKinds && entry.pool() < kPools && entry.target() < kTargets; }

const KeptIncident* find_incident(const Process& process, uint64_t number) {
    for (const KeptIncident& one : process.incidents.heads)
        if (one.words.number() == number) return &one;
    return nullptr;
}

// By its key, else of those of that pid that have it one that lives, else the newest.
const Process* find_process_with(const Processes& processes, uint32_t pid, uint64_t key, uint64_t number) {
    const Process* found = nullptr;
    int best = -1;
    for (const auto& process : processes) {
        if (find_incident(*process, number) == nullptr || (key != 0 ? process->key != key : process->pid != pid))
            continue;
        const int rank = has_ended(*process) ? 0 : 1;
        if (rank < best) continue;
        best = rank;
        found = process.get();
    }
    return found;
}

}  // namespace

nb::list incident_rows(const Process& process, const Timebase& time) {
    nb::list rows;
    for (const KeptIncident& one : process.incidents.heads) rows.append(incident_dict(process, one, time));
    return rows;
}

nb::object incident_copy_rows(Books& books, uint32_t pid, uint64_t key, uint64_t number) {
    return books.look([=](Processes& processes, Devices& devices, const Timebase& time, const auto&) -> nb::object {
        const Process* process = find_process_with(processes, pid, key, number);
        if (process == nullptr) return nb::none();
        const KeptIncident& incident = *find_incident(*process, number);
        std::vector<Words> entries;
        if (!incident.words.has_copy() || !process->reader->incident_copy(incident.words, entries)) return nb::none();
        const std::vector<uint32_t> threads = process->reader->threads();
        nb::list held;
        for (const Words& entry : entries)
            if (is_told(entry)) held.append(held_row(*process, incident, entry, threads, time));
        nb::dict rows;
        rows["pid"] = process->pid;
        rows["devices"] = device_list(devices, Wanted{nb::none()});
        rows["incident"] = incident_dict(*process, incident, time);
        rows["entries"] = held;
        rows["sequence_before"] = incident.words.sequence_before;
        rows["sequence_after"] = incident.words.sequence_after;
        return rows;
    });
}

}  // namespace ttmem
