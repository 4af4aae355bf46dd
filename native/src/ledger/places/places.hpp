// What lies where on a chip: buffers in each of its banks, circular buffers on its cores.
//
// Banks move in lockstep, as the runtime's allocator has it: a buffer takes the same addresses of every bank of its kind,
// also of those that hold none of its bytes. So one bank stands for all, and a sharded buffer takes as much of the
// cores that have no shard of it. What did not say where it lies is counted, and no more is known of it.
//
// A buffer that is allocated by core takes its addresses of its own cores only. For a bank that stands for all they are
// taken, too: what is free there is free on every core.
//
// Sorting every allocation takes a while. What a process has is sorted again only when its table has changed since, and
// what several have together only when one of theirs has. Chips of one mesh have the same, which is worked out once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "ledger/places/footprint.hpp"
#include "ledger/places/headroom.hpp"
#include "ledger/places/overlaps.hpp"
#include "ledger/places/spans.hpp"

namespace ttmem {

struct Process;

/// One pool, in each bank.
struct Taken {
    Spans spans;                   // joined
    std::vector<uint32_t> counts;  // allocations in each
    uint64_t count = 0;            // in all of them
    uint64_t unplaced = 0;         // allocations besides, which did not say where they lie
};

/// What is free between the first and the last allocation of a bank.
struct Gaps {
    uint64_t lowest = 0, highest = 0;  // where the first begins, where the last ends
    uint64_t used = 0, largest = 0, count = 0;
};
Gaps gaps_of(const Spans& joined);

/// Circular buffers of one core, its own buffers, and how much of it these and the buffers of all cores take.
struct CoreTaken {
    uint32_t core = 0;  // y * 256 + x
    Spans planned, resident;
    Spans own;          // buffers that are allocated by core
    uint64_t used = 0;  // with buffers; where both lie, once
};

/// The fullest core as it is now: buffers there, and the circular buffers of the program that ran there last.
struct FullestCore {
    uint64_t used = 0;      // where both lie, once
    uint32_t core = 0;      // y * 256 + x
    bool has_core = false;  // false: no core differs from the others
    bool is_known = true;   // false: some circular buffers did not say whose they are
    bool operator==(const FullestCore&) const = default;
};

/// All that has an address on one chip.
struct Places {
    Taken pools[kPlacedPools];
    Gaps gaps[kPlacedPools];
    std::vector<CoreTaken> cores;  // those with circular buffers or buffers of their own, in order
    size_t worst = 0;              // the fullest of them
    uint64_t buffers = 0;          // what buffers take of every core
    Spans buffer_spans;            // and where
    Headroom headroom;
    bool is_followed = true;    // False: the list of a process's allocations is not whole
    bool is_estimated = false;  // some circular buffers did not say on which cores they lie
};

/// What has an address in the table of a process: of each target its four pools, without buffers that are allocated by
/// core: `has_by_core` says whether there are any. `is_placed`: this process says addresses at all.
using TakenPools = std::vector<Taken>;
std::map<uint16_t, TakenPools> taken_by(const Book& book, const Devices& devices, bool is_placed, bool& has_by_core);

using Processes = std::vector<std::unique_ptr<Process>>;

/// What lies where on a chip, and what of it is resident now: a launch changes no table.
struct Seen {
    std::shared_ptr<const Places> places;  // nullptr where no process has anything
    FullestCore now;
};

/// All chips. Guarded by the holder of the books.
class Atlas {
public:
    /// What lies where on every chip, by its number.
    std::vector<Seen> look(const Processes& processes, const Devices& devices);
    /// The same of one chip, with what is resident on each of its cores now.
    Places look_at(const Processes& processes, const Devices& devices, uint32_t device);
    /// What the circular buffers of a process take on each of its chips.
    Footprints footprints(const Process& process, const Devices& devices);

private:
    /// A process, and one of its targets that has something on a chip; or none, if no more is known than that it is there.
    struct Holder {
        const Process* process;
        uint16_t target;
        bool operator==(const Holder&) const = default;
    };
    using Holders = std::vector<Holder>;
    using Name = std::vector<uint64_t>;  // who holds something on a chip, and how often that has changed

    /// What one process has.
    struct Sorted {
        uint64_t changes = ~uint64_t{0}, launches = 0, descriptions = 0;
        std::map<uint16_t, TakenPools> targets;
        Laid laid;
        Laid core_buffers;
    };

    std::vector<Holders> holders_by_device(const Processes& processes, const Devices& devices);
    std::vector<uint16_t> holding(const Process& process, const Devices& devices);
    static Name name_of(const Holders& holders, const Devices& devices);
    FullestCore fullest_now(const Holders& holders, const Devices& devices, const Places& places);
    static std::vector<uint16_t> targets_of(Holders::const_iterator& holder, Holders::const_iterator end);
    const Sorted& sorted(const Process& process, const Devices& devices);
    Places together(const Holders& holders, const Devices& devices);
    void find_headroom(Places& places, const Holders& holders, const Devices& devices,
                       const std::map<uint32_t, CoreTaken>& cores);
    void forget(const Processes& processes);

    std::map<uint64_t, Sorted> processes_;  // by key

    struct Known {
        std::shared_ptr<const Places> places;
        uint64_t launches = ~uint64_t{0};  // of all holders, at which `now` was worked out
        FullestCore now;
    };
    std::map<Name, Known> known_;  // since the last look
};

}  // namespace ttmem
