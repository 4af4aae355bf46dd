// How rows are made of what is in the books. Everything here is for their holder.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "ledger/collector.hpp"
#include "ledger/rows/rows.hpp"

namespace ttmem {

// ---- a process as such

/// Whether it has ended, or its end was noticed and its journal is still to be read.
inline bool has_ended(const Process& process) { return process.mode == Mode::ended || process.ended_ns != 0; }
/// Who keeps its figures: "counted" from its records here, or a "counter" of its own.
inline std::string_view origin_of(const Process& process) { return process.book.is_counting() ? "counted" : "counter"; }
/// Why its figures are not complete; empty if they are.
std::string_view reason_of(const Process& process);
/// The worst of several reasons, empty if there is none.
std::string_view first_reason(const std::vector<std::string_view>& reasons);
/// Whether it holds something of its chips now: who has ended, whose journal broke or whom it is unknown does not.
inline bool is_holder(const Process& process) { return process.is_counted() && !has_ended(process); }
/// What does not add up in its reports, but for overlaps.
std::vector<FindingRow> findings_of(const Process& process);
/// The operation of a program of a process that has a journal; empty if it is not known.
std::string operation_of(const Process& process, uint16_t target, uint64_t program);
/// Which process is meant: by its key, else one of that pid that lives, best in our own pid namespace, else the last that
/// ended. nullptr if there is none.
const Process* find_process(const Processes& processes, uint32_t pid, uint64_t key);
/// The runtime's number of a program, as it was reported.
MaybeCount program_number(uint64_t reported);

// ---- what a process has on its chips

struct ChipCounts {
    uint64_t launches = 0, clashes = 0;
};
/// What a process did on each chip. Several targets may stand for one; a mesh's is that of each of its chips.
std::map<uint32_t, ChipCounts> counts_on(const Process& process);
std::map<uint32_t, Activity> activity_on(const Process& process);
bool is_used(const Activity::Ring& ring);
bool is_used(const Activity::Cache& cache);

/// Everything a process has, chip by chip, in the order of their numbers; `footprints`: its own.
std::vector<HeldRow> holdings_of(const Process& process, const Footprints& footprints, const Timebase& time);
/// The same of one that reports twice, by what says less: only what it holds.
std::vector<HeldRow> other_holdings_of(const Process& process, const Timebase& time);

// ---- rows

/// The order of chips, by their numbers, and which of them are shown.
struct ChipOrder {
    std::vector<uint32_t> rank;
    std::vector<bool> is_shown;
};

/// Without details.
ProcessRow process_row(const Process& process, const std::vector<HeldRow>& held, const ChipOrder& order,
                       const Timebase& time);
/// Without what it holds.
DetailsRow details_of(const Process& process, const Timebase& time);
/// Who asked; none if it is not known.
std::optional<SiteRow> site_row(const SiteText& site);
IncidentRow incident_row(const Process& process, const KnownIncident& incident, const Timebase& time);

ChipNameRow chip_name_row(uint32_t number, const Device& device);
/// By index; what has none comes last.
bool is_before(const ChipNameRow& a, const ChipNameRow& b);

/// A process on a chip; `held` is none if it has nothing there.
struct OnOneChip {
    const Process* process;
    const HeldRow* held;
};
/// Those who count on a chip, in their order, and what lies where there. `is_doubted`: a process's journal broke.
struct ChipParts {
    std::vector<OnOneChip> processes;
    Seen seen;
    bool is_doubted = false;
};
ChipRow chip_row(uint32_t number, const Devices& devices, const ChipParts& parts, const Processes& processes);
/// The pools that a chip's row has: those that were ever used there.
std::vector<PoolRow> chip_pools(const Device& device, const ChipParts& parts);

}  // namespace ttmem
