// How full the fullest core of each chip is, kept up record by record: buffers of all cores, buffers of its own, and the
// circular buffers of the program that ran there last. With the kernel ring.
//
// It is exact where one target allocates on a chip and no circular buffer reaches into a buffer; else it is too high,
// never too low. What the books say of a moment (places.hpp) is exact always, and much dearer: it is asked where this here
// says that it may be higher than ever.
#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ledger/collector.hpp"
#include "ledger/places/footprint.hpp"
#include "recording/watch/shares.hpp"

namespace ttmem::recording {

/// Cores of a chip; beyond 32 in a row or 16 rows, which no chip has, several share a place.
using CoreMask = std::bitset<512>;
CoreMask mask_of(const Cores& cores);

/// The circular buffers of a program.
struct ProgramLoad {
    std::vector<CbSpan> spans;
    std::vector<std::pair<CoreMask, uint64_t>> loads;  // cores that have the same, and how much
    CoreMask cores;
    uint64_t end = 0;       // of the highest
    uint64_t launched = 0;  // which launch was its last; 0: none
    bool is_made = false;   // it is in the table
    bool has_changed = false;
};

class CoreLoads {
public:
    /// `has_shares`: `close` is called for every block.
    explicit CoreLoads(Collector& collector, bool has_shares = false)
        : collector_(collector), has_shares_(has_shares) {}
    /// From the beginning on, of this core (y * 256 + x) instead of the fullest.
    void set_only(uint32_t core) { only_ = core; }

    /// What a listener hears; `reset`: what is alive was found out again.
    void record(uint64_t process, const RecordCopy& words);
    void ended(uint64_t process, const RecordCopy& life);
    void balance(uint64_t process, uint32_t device, uint8_t pool, int64_t used);
    void forget(uint64_t process);
    void reset(uint64_t process);

    struct Chip {
        int64_t l1 = 0, small = 0, own = 0, cores = 0;  // of all banks, but for `cores`: of the fullest one
        int64_t start = 0, highest = 0;                 // bytes of the fullest core
        bool is_raised = false;                         // `highest` is higher than when it was last looked at
        Shares shares;
        int64_t told = 0, most = 0;  // of all banks, without the ring: now, and the highest in this block
    };
    std::vector<Chip>& chips() { return chips_; }
    /// Bytes of the fullest core of a chip now.
    int64_t now(uint32_t device) const;
    /// A block of events ends: `highest` is raised to what it can have been whichever process was first.
    void close(uint32_t device, uint64_t first_ns, uint64_t last_ns);
    bool has_raised() const { return has_raised_; }
    void set_seen() { has_raised_ = false; }
    /// The program that is launched, with its circular buffers worked out; nullptr: it has none.
    const ProgramLoad* program(uint64_t process, uint16_t target, uint64_t id);
    const Cores& cores_of_set(const Process& process, uint64_t set, uint64_t count);
    const Process* process_of(uint64_t key);

private:
    struct Target {
        std::vector<uint32_t> devices;
        std::unordered_map<uint64_t, ProgramLoad> programs;
        std::vector<std::pair<CoreMask, uint64_t>> residents;  // the newest first; of those cores that none newer has
        std::map<uint64_t, Cores> core_sets;                   // of `programs`
        std::vector<int64_t> own;                              // by core, once there is some
        int64_t own_total = 0, fullest = 0;
        uint64_t last = ~uint64_t{0};  // program
        bool is_stale = false;
    };
    using Targets = std::map<uint16_t, Target>;
    Target& target_of(uint64_t process, uint16_t number);
    void lay(uint64_t process, const RecordCopy& words);
    void launch(uint64_t process, const RecordCopy& words);
    void add_own(uint64_t process, const RecordCopy& words, int64_t sign);
    void work_out(Target& target, ProgramLoad& program);
    void work_out_residents(Target& target);
    void set_fullest(Target& target);
    void close(uint64_t process, Target& target);
    Chip& chip(uint32_t device);
    int64_t all_banks(uint32_t device, int64_t banks) const;
    void share(uint64_t process, uint32_t device);
    void note(uint64_t process, uint32_t device);

    Collector& collector_;
    bool has_shares_;
    std::unordered_map<uint64_t, Targets> processes_;
    std::map<std::pair<uint64_t, uint64_t>, Cores> core_sets_;  // by process and name
    std::vector<Chip> chips_;                                   // by device
    std::optional<uint32_t> only_;
    uint64_t turn_ = 0;
    bool has_raised_ = false;
    uint64_t known_key_ = 0;
    const Process* known_ = nullptr;
    uint64_t last_key_ = 0;
    uint16_t last_number_ = 0;
    Target* last_target_ = nullptr;
};

}  // namespace ttmem::recording
