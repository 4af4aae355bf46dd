#include "ledger/rows/incidents/incident_copy.hpp"

#include "ledger/book/entry_fields.hpp"
#include "ledger/rows/making.hpp"

namespace ttmem {
namespace {

constexpr size_t kCoresMost = 2048;  // characters

const KnownIncident* find_incident(const Process& process, uint64_t number) {
    for (const KnownIncident& one : process.incidents.heads)
        if (one.words.number() == number) return &one;
    return nullptr;
}

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

// The phase of the incident, if it was made since that began, or that it was made before.
std::string phase_of(const KnownIncident& incident, uint64_t made) {
    if (incident.phase_began == 0 || incident.phase.empty()) return {};
    return made >= incident.phase_began ? incident.phase : "before " + incident.phase;
}

HeldEntryRow held_row(const Process& process, const KnownIncident& incident, const RecordCopy& words,
                      const std::vector<uint32_t>& threads, const Timebase& time) {
    const EntryFields its(words);
    const bool is_program = words.kind() == TTMEM_PROGRAM_BINARY;
    HeldEntryRow row;
    row.kind = words.kind();
    row.pool = words.pool();
    row.id = is_program && words.id == TTMEM_PROGRAM_ZERO ? uint64_t{0} : words.id;
    row.address = unless_zero(its.address);
    row.reserved = words.reserved_bytes();
    row.requested = its.asked;
    row.per_bank = unless_zero(its.per_bank);
    row.program = program_number(its.program);
    row.operation = unless_empty(operation_of(process, words.target(), its.program));
    if (its.core_set != 0)
        row.cores = unless_empty(process.reader->item(its.core_set, Item::text).substr(0, kCoresMost));
    row.core_count = unless_zero(its.core_count);
    row.is_per_core = words.is_by_core();
    row.is_view = (words.flags() & kView) != 0;
    row.layout = its.layout;
    row.page = unless_zero(its.page);
    row.thread = unless_zero(words.thread() < threads.size() ? threads[words.thread()] : 0);
    row.time_ns = process.realtime(words.time, time);
    row.sequence = words.sequence();
    row.phase = unless_empty(phase_of(incident, words.time));
    if (!is_program) row.site = site_row(site_text(*process.reader, words.site()));
    if (words.target() != incident.words.target()) row.chips = process.book.targets()[words.target()].devices;
    return row;
}

bool is_sound(const RecordCopy& entry) {
    return entry.kind() < kKinds && entry.pool() < kPools && entry.target() < kTargets;
}

}  // namespace

std::optional<IncidentCopyRow> incident_copy_of(const Processes& processes, const Devices& devices,
                                                const Timebase& time, uint32_t pid, uint64_t key, uint64_t number) {
    const Process* process = find_process_with(processes, pid, key, number);
    if (process == nullptr) return std::nullopt;
    const KnownIncident& incident = *find_incident(*process, number);
    std::vector<RecordCopy> entries;
    if (!incident.words.has_copy() || !process->reader->incident_copy(incident.words, entries)) return std::nullopt;
    const std::vector<uint32_t> threads = process->reader->threads();
    IncidentCopyRow copy;
    copy.pid = process->pid;
    for (uint32_t chip = 0; chip < devices.all().size(); ++chip)
        copy.chips.push_back(chip_name_row(chip, devices.all()[chip]));
    copy.incident = incident_row(*process, incident, time);
    for (const RecordCopy& entry : entries)
        if (is_sound(entry)) copy.entries.push_back(held_row(*process, incident, entry, threads, time));
    copy.sequence_before = incident.words.sequence_before;
    copy.sequence_after = incident.words.sequence_after;
    return copy;
}

}  // namespace ttmem
