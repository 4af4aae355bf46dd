// The book of one process: its live entries, its totals, and the rules by which events change them.
//
// An allocation begins a life, named by its sequence; a free, a close, or an allocation that replaced it, ends exactly that
// life. Reading an event twice, or late, therefore changes nothing, and the book has what the journal's table has.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "journal/pools.hpp"
#include "ledger/book/early_records.hpp"
#include "ledger/book/ended_lives.hpp"
#include "ledger/book/recent_events.hpp"
#include "ledger/book/table.hpp"
#include "ledger/book/timebase.hpp"
#include "ledger/chips/activity.hpp"
#include "ledger/chips/balances.hpp"
#include "ledger/log/event_log.hpp"
#include "ledger/log/listener.hpp"
#include "ledger/places/overlaps.hpp"
#include "reader/journal.hpp"

namespace ttmem {

inline constexpr size_t kFreedMost = 65'536;
inline constexpr size_t kEntriesMost = kTableMost + kPendingMost;  // no journal can list more: our memory is bounded

struct TargetBook {
    Totals totals;
    std::vector<uint32_t> devices;  // one for a chip, several for a mesh
    uint64_t unique_id = 0;
    uint64_t closed_sequence = 0;
    uint64_t launches = 0;
    uint64_t clashes = 0, refusals = 0;  // that records reported
    uint64_t launched_sequence = 0;      // of the last launch that was counted from a record
    std::unique_ptr<Activity> activity;  // none before there is some
    uint64_t activity_sequence = 0;
    int64_t server_id = -1;  // a chip known by this number only, until another stands for it
    uint16_t rows = 0, columns = 0;
    bool is_open = false, is_mesh = false, is_named = false;
};

/// A kernel's bytes as the allocation server's protocol counts them: binary size x cores.
inline uint64_t rule_bytes(const RecordCopy& kernel) {
    const uint64_t told = kernel.requested_bytes();
    return told != 0 && told <= kSizeMost ? told : kernel.reserved_bytes();
}

/// Turns an arena id into its text or descriptor: from the journal, or from a recording.
using Arena = std::string (*)(const void* from, uint32_t id, Item kind);

class Book {
public:
    /// A journal names up to kTargets; anyone who reports otherwise has few, and remembers fewer of the freed.
    Book(uint64_t key, Devices& devices, bool has_journal = true)
        : key_(key),
          devices_(devices),
          has_addresses_(has_journal),
          targets_(has_journal ? kTargets : 1),
          ended_(has_journal ? kFreedMost : 4096) {}
    ~Book();
    Book(const Book&) = delete;
    Book& operator=(const Book&) = delete;

    void set_arena(Arena arena, const void* from) {
        arena_ = arena;
        arena_from_ = from;
    }

    /// A text of the journal; empty when the id leads nowhere.
    std::string text(uint32_t id) const {
        return arena_ != nullptr ? arena_(arena_from_, id, Item::text) : std::string();
    }

    /// How the journal's stamps become wall-clock time; without it the time of reading stands for them.
    void set_clock(const Timebase& clock, const Identity& journal) {
        clock_ = &clock;
        journal_ = &journal;
    }

    /// A process that was dead before we came: its own figures are read, but it never was on any chip with others.
    void keep_to_yourself() { is_shared_ = false; }

    /// How far its descriptions of chips are believed.
    void set_trust(Trust trust) { trust_ = trust; }

    /// Events in the order of a journal. `pending` says which sequences have not been seen yet.
    void apply(const RecordCopy& event, const JournalReader* reader, uint64_t now_ns);
    void apply_all(const std::vector<RecordCopy>& events, const JournalReader* reader, uint64_t now_ns) {
        apply_run(events, 0, ~uint64_t{0}, reader, now_ns);
    }
    /// Applies from `from` on, at least one, as long as the stamps are not beyond `until`; returns where it stopped.
    size_t apply_run(const std::vector<RecordCopy>& events, size_t from, uint64_t until, const JournalReader* reader,
                     uint64_t now_ns);

    /// For those who report otherwise than by a journal, and so keep the lives themselves: a life by its key, its
    /// beginning and its end. `open_server_chip` names target `number` as logical chip `id`, or nameless (id < 0).
    size_t slot_of(EntryKey key, uint32_t hash) const { return table_.slot_of_any(key, hash); }
    RecordCopy* at_slot(size_t slot) { return table_.at_slot(slot); }
    void begin(const RecordCopy& life, uint32_t hash, uint64_t now_ns);
    void end(size_t slot, uint64_t sequence, uint64_t now_ns);
    /// Changes what a life is charged.
    void resize(RecordCopy& life, uint64_t bytes, uint64_t sequence, uint64_t now_ns);
    void open_server_chip(uint16_t number, int32_t id, uint64_t now_ns);
    void note_unmatched(const RecordCopy& event);
    void note(const char* finding, uint64_t count = 1) {
        findings_[finding] += count;
        ++changes_;
    }
    void touch(uint64_t raw) {
        last_raw_ = raw;
        ++changes_;
    }

    /// From now on, and before anything has happened, what happens is told.
    void listen(Listener* listener) { listener_ = listener; }

    /// What happens from now on is said in a log, under this pid; the ticks are when the process started.
    void log_to(EventLog& log, const uint32_t& pid, uint64_t start_ticks);
    bool is_logged() const { return log_ != nullptr; }
    bool is_found_running() const { return is_found_running_; }
    /// Which record is the first that the log should know, and whether the process was there before the log was.
    void log_from(uint64_t first, bool is_found_running);
    /// Records from `read_until` on are worked out instead of read: nothing is said before `settled_at` is reached.
    void hold_log(uint64_t read_until, uint64_t settled_at);
    /// All of that was read: what is alive of it is said.
    void catch_up_log();
    /// From here on the journal says nothing.
    void log_damaged();
    /// What a process that ended has left.
    void log_left(EventLog& log, uint32_t pid) const;
    /// For those who keep the lives themselves: a life that was there before the log; a new peak of chip `id`.
    void log_before(const RecordCopy& life);
    void log_peak(uint32_t number, int32_t id);

    /// Chips known by number follow whatever stands for that number now.
    void follow_mapping(uint64_t now_ns);

    /// Takes this book's figures out of the chips' sums, and puts them back: the process ended, or another process reports
    /// it. What it held stays readable here.
    void leave();
    void rejoin(uint64_t now_ns);
    bool is_shared() const { return is_shared_; }

    /// Lets the lists go, once no process will ask for them any more; figures stay.
    void drop_lists();

    /// Own peaks start over from what is held now.
    void reset_peaks();

    /// Between a scan and exactness no peak is taken, neither here nor of the chips; then the balance of that instant.
    void hold_peaks();
    void take_peaks(uint64_t sequence, uint64_t now_ns);

    /// Starts over with what a scan found alive. `ends`: records that may end lives whose beginning is still pending.
    void rebuild(const std::vector<RecordCopy>& alive, const std::vector<RecordCopy>& ends, uint64_t now_ns);

    /// Takes totals from the journal's counters: the list is not whole, or could not be followed.
    void adopt_counters(const std::vector<TargetCounters>& targets, uint64_t now_ns);
    void stop_counting() { is_counting_ = false; }
    bool is_counting() const { return is_counting_; }
    bool has_messages() const { return !has_addresses_; }  // its entries are `SocketRecord`s

    /// Learns targets from the counters' page (a late viewer has missed their opening).
    void learn_targets(const std::vector<TargetCounters>& targets, uint64_t now_ns);

    /// Names that a forked child has from its parent: no record of its own journal says them.
    void inherit_targets(const std::vector<TargetCounters>& targets, uint64_t now_ns);

    /// Refusals from before a scan that the ring still has.
    void learn_refusals(const std::vector<RecordCopy>& events, uint64_t now_ns);

    /// Where the counters of a quiet journal differ from these totals, or empty.
    std::string difference(const std::vector<TargetCounters>& targets) const;

    /// How often something changed that may be shown of this process.
    uint64_t changes() const { return changes_; }
    /// How often a program was launched that is in the table: that changes what is resident, and no entry comes or goes.
    uint64_t launches() const { return launches_; }
    const EntryTable& table() const { return table_; }
    const std::vector<TargetBook>& targets() const { return targets_; }
    /// One more than the highest target that was ever named here.
    uint32_t target_count() const { return target_count_; }
    const std::map<uint32_t, Cell>& cells() const { return cells_; }
    /// Bits: pools, and kinds, that anything was ever counted in.
    uint32_t used_pools() const { return used_pools_; }
    uint32_t used_kinds() const { return used_kinds_; }
    /// Pools of chips that several targets hold something of at once, by device number and pool.
    const std::map<std::pair<uint32_t, uint8_t>, SharedPool>& shared_pools() const { return shared_; }
    const std::map<std::string, uint64_t>& findings() const { return findings_; }
    const std::vector<Freed>& freed() const { return ended_.all(); }
    const std::deque<OutOfMemory>& out_of_memory() const { return recent_.out_of_memory(); }
    const std::deque<Clash>& clashes() const { return recent_.clashes(); }
    /// How many allocations were refused, of every device and pool: all there were.
    const std::map<std::pair<uint32_t, uint8_t>, uint64_t>& refusals() const { return recent_.refusals(); }
    /// What happened since this was last asked, for charts of history: phases, refusals. The newest few.
    std::deque<RecentEvent> take_recent_events() { return recent_.take(); }
    uint64_t freed_dropped() const { return ended_.dropped(); }
    uint64_t last_raw() const { return last_raw_; }
    /// The site that names the operation of a program; 0 unknown.
    uint32_t operation_of(uint16_t target, uint64_t program) const {
        const auto found = operations_.find({target, program});
        return found != operations_.end() ? found->second : 0;
    }
    const std::map<std::pair<uint16_t, uint64_t>, uint32_t>& operations() const { return operations_; }
    bool touches(const TargetBook& target, uint32_t device) const;
    /// The only target of this process that ever held something on a device, or none.
    const TargetBook* only_target_on(uint32_t device, size_t& number) const;
    void note_gap();

private:
    /// One record on its way into the book. Without a reader nothing is pending.
    struct Step {
        const RecordCopy& event;
        uint32_t hash;  // of its key
        const JournalReader* reader;
        uint64_t now_ns;

        bool is_pending(uint64_t sequence) const { return reader != nullptr && reader->is_pending(sequence); }
        bool may_be_pending() const { return reader != nullptr && !reader->pending().empty(); }
    };

    uint64_t when(uint64_t raw, uint64_t now_ns) const;
    void apply(const Step& step);
    void on_allocated(const Step& step);
    uint64_t on_replaced(const Step& step);
    RecordCopy life_begun_by(const RecordCopy& event);
    void end_life(size_t slot, const Step& by);
    void on_freed(const Step& step);
    void end_and_log(size_t slot, const Step& by);
    void on_opened(const RecordCopy& event, uint64_t now_ns);
    void on_closed(const RecordCopy& event, uint64_t now_ns);
    void on_site_changed(const Step& step);
    void on_named(const ProgramNamedRecord& named);
    void on_program(const Step& step);
    void change_program(RecordCopy& program, const RecordCopy& event);
    void note_launch(const RecordCopy& event);
    void on_out_of_memory(const RecordCopy& event, uint64_t now_ns);
    void on_clash(const RecordCopy& event, uint64_t now_ns);
    void on_activity(const RecordCopy& event, uint64_t now_ns);
    void open_target(uint16_t number, uint64_t unique_id, uint32_t descriptor, uint64_t now_ns);
    void place_target(TargetBook& target, std::vector<uint32_t> devices, uint64_t now_ns);
    void ensure_place(uint16_t number, uint64_t now_ns);
    void charge(const RecordCopy& words, int64_t sign, uint64_t sequence, uint64_t raw, uint64_t now_ns);
    void carry(uint32_t device, const Totals& change, uint64_t now_ns);
    int64_t overlap_change(const RecordCopy& words, uint32_t device, bool is_added);
    void begin_sharing(uint32_t device, uint8_t pool, uint64_t newest);
    void take_off(uint32_t device, uint8_t pool, int64_t overlap);
    void forget_sharing();
    void find_sharing();
    void hold_peaks_of(uint32_t device);
    void tell_balances(uint32_t device);
    void let_go();
    void move_history(uint32_t from, uint32_t to);
    void add_shares(int64_t sign, uint64_t now_ns);
    TargetBook& target_at(uint16_t number);
    void set_open(TargetBook& target, bool is_open);
    void set_totals(TargetBook& target, const Totals& totals, uint64_t now_ns);
    bool may_log(uint64_t sequence);
    void log_begun(const RecordCopy& event, const RecordCopy& life, uint64_t replaced_bytes);
    void log_ended(const RecordCopy& life);
    void log_unmatched(const RecordCopy& event);
    void log_life(LineKind said, const RecordCopy& life, uint64_t size, bool is_before);

    uint64_t key_;
    Devices& devices_;
    EntryTable table_;
    bool has_addresses_;  // as a journal says them
    std::vector<TargetBook> targets_;
    std::map<uint32_t, Cell> cells_;
    std::vector<Cell*> cell_of_;  // by device number, for the hot path
    std::map<std::pair<uint32_t, uint8_t>, SharedPool> shared_;
    uint32_t used_pools_ = 0, used_kinds_ = 0;
    std::map<std::string, uint64_t> findings_;
    EarlyRecords early_;
    EndedLives ended_;
    std::map<std::pair<uint16_t, uint64_t>, uint32_t> operations_;  // of programs, by their sites
    RecentEvents recent_;
    uint64_t unmatched_ = 0;
    uint64_t last_raw_ = 0;
    uint64_t changes_ = 0, launches_ = 0;
    uint32_t target_count_ = 1;
    bool is_counting_ = true;
    bool is_shared_ = true;
    Trust trust_ = Trust::user;
    bool is_held_ = false;        // peaks are
    std::vector<uint32_t> held_;  // devices that count us as unsettled
    Listener* listener_ = nullptr;
    EventLog* log_ = nullptr;  // none: nothing is said
    const uint32_t* log_pid_ = nullptr;
    uint64_t log_start_ticks_ = 0;
    uint64_t said_until_ = 0;      // records below were said, or are none of the log's
    uint64_t log_held_until_ = 0;  // with is_log_held_: until this record is read
    bool is_log_held_ = false, is_found_running_ = false;
    Arena arena_ = nullptr;
    const Timebase* clock_ = nullptr;
    const Identity* journal_ = nullptr;
    const void* arena_from_ = nullptr;
};

}  // namespace ttmem
