// What has happened since this ledger began: sums that never fall, also when processes end and are forgotten. For those who
// look at differences over time, as counters of a metrics page are.
#pragma once

#include <map>

#include "ledger/book/timebase.hpp"
#include "ledger/chips/balances.hpp"
#include "reader/journal.hpp"

namespace ttmem {

struct Process;

/// Of one chip. What a process does on a mesh, it does on each of its chips.
struct ChipLifetime {
    uint64_t launches = 0, clashes = 0;
    uint64_t allocations[kPools] = {}, frees[kPools] = {}, refusals[kPools] = {};
    Activity activity{};  // only what is counted: outcomes of caches, stalls
};

/// How much was read, and how much was not.
struct Intake {
    uint64_t events = 0, lost = 0, skipped = 0, untabled = 0, processes = 0;
    uint64_t last_ns = 0;  // when the newest word of a process that is still known was said
};

struct Lifetime {
    std::map<uint32_t, ChipLifetime> chips;  // by number; chips that have an identity of their own
    Intake journals, sockets;
    uint64_t incidents[kIncidentKinds][kPools] = {};  // each once, whatever its chips

    void add(const Process& process, const Devices& devices);
    void note_time(const Process& process, const Timebase& time);
};

}  // namespace ttmem
