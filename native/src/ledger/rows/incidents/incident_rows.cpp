// The head of an incident, with every name and number it stands for.
#include "ledger/rows/making.hpp"

namespace ttmem {
namespace {

MaybeBytes figure(uint64_t value) { return value != kUnknownFigure ? std::optional(value) : std::nullopt; }

MaybeCount known_if(bool is_known, uint64_t value) { return is_known ? std::optional(value) : std::nullopt; }

// What asked, in the user's words before the runtime's; else the operation of its program.
std::optional<std::string> operation_in(const IncidentRow& row, const std::string& of_program) {
    if (row.site && row.site->operation) return row.site->operation;
    if (row.site && row.site->device_operation) return row.site->device_operation;
    return unless_empty(of_program);
}

void add_figures(IncidentRow& row, const IncidentHead& words) {
    row.requested = figure(words.requested);
    row.requested_per_bank = figure(words.per_bank);
    row.free = figure(words.free);
    row.largest_free = figure(words.largest);
    row.free_per_bank = figure(words.bank_free);
    row.largest_free_per_bank = figure(words.bank_largest);
    row.bank_count = unless_zero(words.banks);
    const bool has_space = (words.space_begin | words.space_end) != 0;
    row.space_begin = known_if(has_space, words.space_begin);
    row.space_end = known_if(has_space, words.space_end);
    row.program = program_number(words.program);
    row.cb_end = unless_zero(words.cb_end);
    row.lowest_buffer = unless_zero(words.lowest_buffer);
    row.trace = known_if(words.kind() == TTMEM_INCIDENT_UNSAFE_REPLAY, words.trace);
    row.address = unless_zero(words.address);
    row.launches_before = words.launches;
    row.entry_count = known_if(words.has_copy(), words.entry_count());
    row.left_out_count = words.left_out;
    row.left_out_bytes = words.left_out_bytes;
}

// What came after it: launches on its target, and records of any kind.
void add_since(IncidentRow& row, const Process& process, const IncidentHead& words) {
    const uint16_t target = words.target();
    const bool is_counted = target < process.targets.size() && process.targets[target].launches >= words.launches;
    if (is_counted) row.launches_since = process.targets[target].launches - words.launches;
    const uint64_t own = words.sequence_after + words.repeats;  // each repetition has a record
    row.operations_since = known_if(words.sequence_after != 0 && process.hot.head >= own, process.hot.head - own);
}

}  // namespace

std::optional<SiteRow> site_row(const SiteText& site) {
    if (!site.is_known()) return std::nullopt;
    SiteRow row;
    for (const SiteNode& node : site.path.nodes) {
        if (node.kind == Node::frame) row.frames.push_back({node.file, node.line, node.name});
        if (node.kind == Node::operation && !row.operation) row.operation = unless_empty(node.name);
        if (node.kind == Node::device_operation && !row.device_operation)
            row.device_operation = unless_empty(node.name);
        if (node.kind == Node::tensor && !row.tensor) row.tensor = unless_empty(node.name);
    }
    row.text = unless_empty(site.text);
    row.is_other = site.path.is_other;
    return row;
}

IncidentRow incident_row(const Process& process, const KnownIncident& incident, const Timebase& time) {
    const IncidentHead& words = incident.words;
    const TargetBook& target = process.book.targets()[words.target()];
    IncidentRow row;
    row.number = words.number();
    row.kind = words.kind();
    row.pool = words.pool();
    row.time_ns = process.realtime(words.time, time);
    row.chips = target.devices;
    row.is_mesh = target.is_mesh;
    row.thread = unless_zero(incident.thread);
    row.repeats = words.repeats;
    row.last_time_ns = known_if(words.last_time != 0, process.realtime(words.last_time, time));
    row.is_read_later = (words.flags() & kReadLater) != 0;
    row.is_of_text = (words.flags() & kHasText) != 0;
    row.is_per_core = (words.flags() & kPerCore) != 0;
    row.is_uncertain = (words.flags() & kMayOverlap) != 0;
    row.cores = unless_empty(incident.cores);
    row.phase = unless_empty(incident.phase);
    row.site = site_row(incident.site);
    row.other_site = site_row(incident.other_site);
    row.operation = operation_in(row, incident.operation);
    row.text = words.said();
    add_figures(row, words);
    add_since(row, process, words);
    return row;
}

}  // namespace ttmem
