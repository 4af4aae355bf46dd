// What a process did: its programs, its phases, what was refused to it, its meshes.
#include <algorithm>
#include <map>
#include <tuple>

#include "ledger/rows/making.hpp"

namespace ttmem {
namespace {

constexpr size_t kPhaseNameMost = 256;  // of a phase

std::vector<ProgramRow> programs_of(const Process& process) {
    std::vector<ProgramRow> programs;
    process.book.table().for_each([&](const RecordCopy& words) {
        if (words.kind() != TTMEM_PROGRAM_BINARY) return;
        const std::string operation = operation_of(process, words.target(), words.id);
        for (const uint32_t device : process.book.targets()[words.target()].devices)
            programs.push_back({device, program_number(words.id), words.status(), words.launches(),
                                words.reserved_bytes(), operation});
    });
    return programs;
}

/// One line of the journal's table of phases: of a target and pool, or, without a target, of how many are open.
struct PhaseLine {
    uint64_t place, peak, raw, runs;
    uint16_t target() const { return static_cast<uint16_t>(place >> 32); }
    uint8_t pool() const { return static_cast<uint8_t>(place >> 48); }
    uint32_t name() const { return static_cast<uint32_t>(place); }
    bool is_open() const { return target() == kNoTarget; }
    bool is_reported() const {
        if (runs == 0 || pool() >= kPools) return false;
        return is_open() ? peak != 0 : target() < kTargets;
    }
};

// A chip may stand under several targets (itself and a mesh): of their sum in a phase only the highest part is known.
class Phases {
public:
    explicit Phases(const Process& process, const Timebase& time) : process_(process), time_(time) {}

    void add(const PhaseLine& line, DetailsRow& row) {
        const std::string name = process_.book.text(line.name()).substr(0, kPhaseNameMost);
        if (line.is_open()) {
            row.open_phases.push_back({name, when(line.raw), line.peak});
            return;
        }
        for (const uint32_t device : process_.book.targets()[line.target()].devices) {
            Highest& highest = found_[{name, device, line.pool()}];
            if (line.peak > highest.peak) highest.peak = line.peak, highest.raw = line.raw;
            highest.runs = std::max(highest.runs, line.runs);
            ++highest.targets;
        }
    }

    void put_into(DetailsRow& row) const {
        for (const auto& [where, highest] : found_)
            row.phases.push_back({std::get<0>(where), std::get<1>(where), std::get<2>(where), highest.peak,
                                  when(highest.raw), highest.runs, highest.targets > 1});
    }

private:
    struct Highest {
        uint64_t peak = 0, raw = 0, runs = 0;
        int targets = 0;
    };

    MaybeTime when(uint64_t raw) const { return unless_zero(process_.realtime(raw, time_)); }

    const Process& process_;
    const Timebase& time_;
    std::map<std::tuple<std::string, uint32_t, uint8_t>, Highest> found_;
};

}  // namespace

DetailsRow details_of(const Process& process, const Timebase& time) {
    DetailsRow row;
    if (process.mode == Mode::damaged || process.way == Way::socket) return row;  // it cannot speak of these
    const auto when = [&](uint64_t raw) { return process.realtime(raw, time); };
    row.programs = programs_of(process);
    Phases phases(process, time);
    for (size_t i = 0; i + 3 < process.phases.size(); i += 4) {
        const uint64_t* words = &process.phases[i];
        const PhaseLine line{words[0], words[1], words[2], words[3]};
        if (line.is_reported()) phases.add(line, row);
    }
    phases.put_into(row);
    for (const OutOfMemory& one : process.book.out_of_memory())
        row.out_of_memory.push_back({one.device, one.pool, one.requested, one.free, one.largest, when(one.raw)});
    for (const Clash& one : process.book.clashes())
        row.clashes.push_back({one.device, program_number(one.program), one.cb_end, one.buffer, when(one.raw)});
    const std::vector<TargetBook>& targets = process.book.targets();
    for (size_t i = 0; i < process.book.target_count() && i < targets.size(); ++i)
        if (targets[i].is_named && targets[i].is_mesh && targets[i].is_open)
            row.meshes.push_back({targets[i].unique_id, targets[i].rows, targets[i].columns, targets[i].devices});
    return row;
}

}  // namespace ttmem
