// Balances: what is used where. Devices are the chips of this host, seen by all processes; a process keeps totals per
// target, and every change of those is carried to the chips the target stands for. This is the only place where a mesh
// fans out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "journal/layout.hpp"

namespace ttmem {

struct Amount {  // signed inside, so that a momentary disorder never wraps; clamped when shown
    int64_t used = 0, requested = 0, count = 0;
};

struct KindAmount {
    int64_t used = 0, count = 0, estimated = 0;
};

/// What one process holds on one target.
struct Totals {
    Amount pools[kPools];
    KindAmount kinds[kKinds];
    KindAmount cores[kCoreTypes];  // of kernels, by the type of core they run on
    int64_t kernel_rule = 0;       // of kernels, as the allocation server's protocol counts them: binary size x cores
};

struct PeakAmount : Amount {
    int64_t peak = 0;
    int64_t high = 0;            // of a device: the peak since the last sample of its course
    uint64_t peak_time_ns = 0;   // of a device: realtime
    uint64_t peak_sequence = 0;  // of a process: the event that raised it
    uint64_t peak_raw = 0;       // of a process: its journal's stamp
};

/// What a process, or all of them, holds on one chip.
struct Cell {
    PeakAmount pools[kPools];
    KindAmount kinds[kKinds];
    KindAmount cores[kCoreTypes];
    int64_t kernel_rule = 0;
    int open_targets = 0;        // of the process, that stand for this chip among others
    uint32_t shown_peak_mb = 0;  // of the process: of L1, in the last line of the log about it
    // Of the process: the target that holds something of dram, trace, l1, l1_small there; one of them if several do.
    uint16_t holders[4] = {kNoTarget, kNoTarget, kNoTarget, kNoTarget};
};

/// Whose description of a chip is believed: never that of a journal no process is known to have written, root's first.
enum class Trust : uint8_t { nobody, user, root };

/// What a process that has a chip open says of it.
struct Claim {
    uint64_t key = 0;  // of the process
    Trust trust = Trust::user;
    DeviceDescriptor facts{};
};

/// What the kernel's driver says of a chip. It is believed before all processes; 0 and empty: it does not say.
struct DriverWord {
    std::string arch, board;
    uint64_t dram_bytes = 0, l1_bytes = 0;  // no chip of that card has more
    bool operator==(const DriverWord&) const = default;
};

/// All of one bank.
struct BankSizes {
    uint64_t dram_bytes = 0, l1_bytes = 0;
    bool operator==(const BankSizes&) const = default;
};

/// Two descriptions of one chip that cannot both be true: one is believed.
struct Contradiction {
    uint64_t believed = 0, other = 0;  // keys of processes; 0: the driver
    std::string what, believed_text, other_text;
    uint32_t count = 0;  // how many contradict
};

struct Device {
    uint64_t unique_id = 0;
    bool is_known = false;
    std::string name;  // "unknown:9" for a target no process opened, "server:0" for one known by its number only
    DeviceDescriptor facts{};
    int open_count = 0;           // live processes that have it open
    std::vector<Claim> claims;    // of those, in the order in which they came
    Trust trust = Trust::nobody;  // of who said `facts`
    DriverWord driver;
    Contradiction contradiction;
    Cell cell;
    uint64_t since_ns = 0;        // its peaks are those since then
    bool is_lower_bound = false;  // a gap may have hidden a higher one
    int unsettled = 0;            // processes whose share is between a scan and exactness: no peak is taken meanwhile
    int user_count = 0;           // books that have a cell here
    // For the cache of what was made of it (rows/versions.hpp): how often it changed by itself, whatever processes did
    // there; how often that was its name or description; and what its version was made of.
    uint64_t changes = 0, descriptions = 0, version = 0, seen_changes = 0, seen_descriptions = 0;
    bool is_shown = false;  // as of that version
    bool is_vacant() const { return !is_known && name.empty(); }
};

// The chips of this host. A chip of the allocation server protocol is a mere number N until a journal opens the only chip whose
// index is N: from then on that one stands for it. `mapping()` counts such changes; books follow when it moves.
class Devices {
public:
    uint32_t by_unique_id(uint64_t unique_id, uint64_t now_ns);
    bool has(uint64_t unique_id) const { return numbers_.contains(unique_id); }
    uint32_t unknown(const std::string& name, uint64_t now_ns);
    /// What stands for logical number `id` now: the chip of that index, else a device named after the number.
    uint32_t by_server_id(int32_t id, uint64_t now_ns);
    /// The same, if any process ever spoke of it.
    const Device* find_server_id(int32_t id) const;
    /// A process says what a chip is. `is_open`: it has it open now, and what it says stands until `withdraw`.
    void describe(uint32_t number, const Claim& claim, bool is_open);
    void withdraw(uint32_t number, uint64_t key);
    /// What the driver says of a chip that a process has named; returns whether that is news.
    bool describe_by_driver(uint64_t unique_id, const DriverWord& word);
    uint64_t mapping() const { return mapping_; }
    /// How often a chip came or went, was named or had its peaks changed, whatever processes do there.
    uint64_t changes() const { return changes_; }
    Device& at(uint32_t number) { return devices_[number]; }
    const std::vector<Device>& all() const { return devices_; }
    /// The highest number of a chip, plus one: a monitor asks for every number below it.
    uint32_t numbered_count() const;
    /// Whether one more chip may be named by number.
    bool has_room() const;
    /// A book comes to a device or leaves it.
    void join(uint32_t number) {
        ++devices_[number].user_count;
        ++devices_[number].changes;
    }
    void part(uint32_t number) {
        --devices_[number].user_count;
        ++devices_[number].changes;
    }
    /// Strangers come and go by the thousand: those no process uses any more give their places back beyond some.
    void forget_unused();
    void reset_peaks(uint64_t now_ns);
    /// How large the banks of an architecture are, in every chip that has them; returns whether that is news.
    bool set_bank_sizes(const std::string& arch, const BankSizes& sizes);
    /// Those of a chip; nullptr if no process said.
    const BankSizes* bank_sizes(const Device& device) const;
    /// How often any chip was described.
    uint64_t descriptions() const { return descriptions_; }
    /// What a pool of a chip was at its highest since this was last asked.
    int64_t take_high(uint32_t number, uint32_t pool);
    /// Peaks since then may hold figures that turned out to be a process's second report: what is held now is sure.
    void retract_peaks(const std::map<uint32_t, Cell>& cells, uint64_t since_ns);

private:
    uint32_t add(uint64_t now_ns);
    void adopt(uint32_t number, const Claim& claim);
    void compare(Device& device);
    void set_facts(uint32_t number, const DeviceDescriptor& facts);
    const uint32_t* only_chip(int32_t index) const;

    std::vector<Device> devices_;
    std::vector<uint32_t> vacant_;
    std::unordered_map<uint64_t, uint32_t> numbers_;
    std::unordered_map<std::string, uint32_t> unknowns_;
    std::unordered_map<int32_t, std::vector<uint32_t>> chips_;  // by index
    std::map<std::string, BankSizes, std::less<>> bank_sizes_;  // by architecture
    uint64_t mapping_ = 0;
    uint64_t changes_ = 0, descriptions_ = 0;
};

/// Balances are signed inside, and may be below zero for a moment.
inline uint64_t never_negative(int64_t amount) { return amount > 0 ? static_cast<uint64_t>(amount) : 0; }

/// What several damaged journals claim may pass any limit together: it wraps, and comes back exactly when they go.
inline void add_to(int64_t& sum, int64_t by) {
    sum = static_cast<int64_t>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(by));
}

inline void add_to(KindAmount& kind, int64_t used, int64_t count, int64_t estimated) {
    add_to(kind.used, used);
    add_to(kind.count, count);
    add_to(kind.estimated, estimated);
}

/// Raises the peak when it is exceeded, and says so.
inline bool raise_peak(PeakAmount& pool) {
    if (pool.used <= pool.peak) return false;
    pool.peak = pool.used;
    return true;
}

/// Adds a change to a cell's balance; raises the peak, unless the balance may be too high for a moment, and says so.
inline bool add_to(PeakAmount& pool, int64_t used, int64_t requested, int64_t count, bool may_peak) {
    add_to(pool.used, used);
    add_to(pool.requested, requested);
    add_to(pool.count, count);
    if (!may_peak) return false;
    if (pool.used > pool.high) pool.high = pool.used;
    return raise_peak(pool);
}

}  // namespace ttmem
