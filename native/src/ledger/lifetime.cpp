#include "ledger/lifetime.hpp"

#include <algorithm>

#include "ledger/collector.hpp"

namespace ttmem {
namespace {

void add_target(ChipLifetime& chip, const TargetCounters& counters) {
    chip.launches += counters.launches;
    chip.clashes += counters.clashes;
    for (uint32_t p = 0; p < kPools; ++p) {
        chip.allocations[p] += counters.pools[p].allocs;
        chip.frees[p] += counters.pools[p].frees;
    }
    add_activity(chip.activity, counters.activity);
}

// A replayed process, or one known by its messages, has no counters of its own: what its records reported.
void add_target(ChipLifetime& chip, const TargetBook& told) {
    chip.launches += told.launches;
    chip.clashes += told.clashes;
    if (told.activity != nullptr) add_activity(chip.activity, *told.activity);
}

}  // namespace

void Lifetime::add(const Process& process, const Devices& devices) {
    if (process.shadowed_by != 0 || !process.is_verified) return;  // its own journal says the same; or it is unverified
    Intake& intake = process.way == Way::socket ? sockets : journals;
    intake.events += process.event_count;
    intake.lost += process.lost_records;
    intake.skipped += process.hot.skipped;
    intake.untabled += process.hot.untabled_allocs;
    ++intake.processes;
    for (uint32_t kind = 0; kind < kIncidentKinds; ++kind)
        for (uint32_t pool = 0; pool < kPools; ++pool) incidents[kind][pool] += process.hot.incident_counts[kind][pool];
    const auto is_lasting = [&](uint32_t device) { return devices.all()[device].is_known; };
    for (size_t i = 0; i < process.book.target_count(); ++i) {
        const TargetBook& target = process.book.targets()[i];
        if (!target.is_named) continue;
        for (const uint32_t device : target.devices) {
            if (!is_lasting(device)) continue;
            if (i < process.targets.size())
                add_target(chips[device], process.targets[i]);
            else
                add_target(chips[device], target);
        }
    }
    for (const auto& [where, count] : process.book.refusals())
        if (is_lasting(where.first)) chips[where.first].refusals[where.second] += count;
}

void Lifetime::note_time(const Process& process, const Timebase& time) {
    Intake& intake = process.way == Way::socket ? sockets : journals;
    intake.last_ns = std::max(intake.last_ns, process.realtime(process.book.last_raw(), time));
}

}  // namespace ttmem
