// The collector's core: journals in, balances out. It attaches journals, follows them, notices deaths and keeps the
// figures; it never spins, is never woken by writers, and holds its lock for one short pass at a time.
//
//   field                     guarded by
//   processes, devices, ...   mutex_ (every public method takes it)
//   should_stop_, waiting_    atomic
//   log_                      mutex_ for anyone who writes; see event_log.hpp for its reader
//
// Where Python is, there is a second lock, the interpreter's. The order of locks, outermost first:
//
//   server::Server::serving_, Ledger::checkpointing -> mutex_ -> the interpreter lock
//
// No thread waits for mutex_ while holding the interpreter lock: its holder may be waiting for that one, and both would wait
// for good. Bindings reach a collector through python/books.hpp alone, which sees to it.
#pragma once

#include <atomic>
#include <bitset>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ledger/book/book.hpp"
#include "ledger/book/timebase.hpp"
#include "ledger/chips/balances.hpp"
#include "ledger/chips/server_targets.hpp"
#include "ledger/incidents.hpp"
#include "ledger/lifetime.hpp"
#include "ledger/log/event_log.hpp"
#include "ledger/places/places.hpp"
#include "ledger/rows/versions.hpp"
#include "reader/journal.hpp"
#include "reader/journal_file.hpp"

namespace ttmem {

struct Liveness;
namespace recording {
struct ProcessNames;
}

inline constexpr uint64_t kMs = 1'000'000;

enum class Mode { settling, following, outrun, ended, damaged };
enum class Way { journal, socket, replay };

/// What is known about the counters of a process without going through all of them again.
struct Noted {
    std::bitset<kTargets> stale;   // a record reported them since they were read
    std::bitset<kTargets> acting;  // something was launched, or went on, there
    std::vector<uint32_t> raised;  // by target, bits: pools that were ever used
    uint32_t raised_anywhere = 0;
    uint64_t read_ns = 0;  // all of them; 0: they are to be read again
    Hot hot;               // as it was at the last look
};

/// What the row of a process depends on, as counts of changes.
struct ProcessChanges {
    uint64_t own = 0, book = 0, other = 0, other_book = 0;
    bool operator==(const ProcessChanges&) const = default;
};

/// Files of one user that are no sound journals: the newest, and how many more there were.
struct Damaged {
    std::vector<std::pair<std::string, std::string>> newest;  // path and what is wrong
    uint64_t more = 0;
};

/// One process and everything known about it.
struct Process {
    Process(uint64_t k, Devices& devices, Way w) : key(k), way(w), book(k, devices, w != Way::socket) {}
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    bool is_over() const { return mode == Mode::ended || mode == Mode::damaged; }
    /// Whether its figures are part of its chips'.
    bool is_counted() const { return !is_over() && shadowed_by == 0 && is_verified; }
    /// Wall-clock time of a stamp: a journal's own clock, or for a socket the server's, which is wall-clock time already.
    uint64_t realtime(uint64_t raw, const Timebase& time) const {
        if (reader != nullptr) return time.realtime(raw, reader->identity());
        return way == Way::socket || is_recorded ? raw : 0;
    }
    /// What a site says, and the threads by their numbers in records: of a journal, or of a recording.
    SitePath site(uint32_t id) const;
    std::vector<uint32_t> threads() const;
    bool has_names() const { return reader != nullptr || names != nullptr; }

    uint64_t key;
    Way way;
    Book book;
    std::unique_ptr<JournalReader> reader;  // none for a process that has no journal
    JournalFile* file = nullptr;            // none when the journal is our own
    std::string path, label, command, damage;
    std::string arena;  // of a replayed process
    uint64_t inode = 0, started_ns = 0, ended_ns = 0;
    uint32_t pid = 0, uid = 0;
    uint64_t start_ticks = 0, pid_namespace = 0;
    pid_t known_pid = 0;  // in our own pid namespace
    int pidfd = -1;
    Mode mode = Mode::settling;
    bool is_visible = true, has_lost_lock = false, is_late = false, is_table_full = false;
    bool is_removed = false;  // its file has no name any more; it is read through its writer's descriptor
    bool is_verified =
        true;              // false: no process is known to have written its journal; it is shown, and counted nowhere
    bool is_seen = false;  // the kernel confirmed it while it lived
    bool is_claimed = false;  // it had ended before it was seen: its header alone names its pid
    bool has_fallen = false;  // its pidfd said so; the file decides
    int scans_in_row = 0;
    uint64_t settle_at = 0, retry_at_ns = 0, backoff_ns = 0, checked_ns = 0;
    uint64_t event_count = 0, lost_records = 0;
    uint64_t unfollowed_from = 0;  // the first record since it was last followed one by one; 0: it is
    std::string mismatch;
    uint64_t mismatch_count = 0;
    uint64_t rescanned_at = 0;  // the head at which the list was last read again because it differed
    Hot hot;
    std::vector<TargetCounters> targets;  // the counters as last read
    Noted noted;
    uint32_t label_id = 0;  // of `label`
    uint64_t figures = 0;   // how often something changed that is shown of it, besides its book
    uint64_t version = 0;   // of its row (rows/versions.hpp), and what that was made of
    ProcessChanges versioned;
    uint64_t heard_ns = 0, asked_ns = 0;  // when its journal last had news, and when it was last looked into
    bool is_visited_now = false;          // looked into in this pass
    uint64_t missing_since_ns = 0;        // it lives, but its file is gone
    std::vector<RecordCopy> batch, tapped;
    std::vector<uint64_t> phases;
    KnownIncidents incidents;
    std::string sites_off;  // why its Python stacks are not recorded
    uint32_t sites_off_id = 0;
    // Of a process that reports by socket:
    uint64_t sequence = 0;                           // of its last message
    uint64_t image = 0;                              // which program it runs, 0 unknown: exec makes it another
    uint32_t claimed_pid = 0;                        // what its messages say, if that is another pid
    bool is_restored = false;                        // from a checkpoint: it may have gone on meanwhile
    uint64_t last_live_count = 0;                    // once it has ended
    bool is_recorded = false;                        // its rows come from a recording, with wall-clock times
    const recording::ProcessNames* names = nullptr;  // of such a process: what its rows name
    uint64_t shadowed_by = 0;                        // the key of its own journal, which says more
    uint32_t kernel_kinds = 0;                       // bits: kinds of kernels it ever loaded
    ServerTargets server_targets;
    // Of one that reports by journal:
    uint64_t other = 0;           // the key of what it also reports by socket
    uint64_t peaks_since_ns = 0;  // peaks before that were reset
};

/// What else a visitor of the books may look at.
struct Besides {
    Atlas& atlas;
    const std::map<uint32_t, Damaged>& damaged;  // by owner
    Versions& versions;
};

class Collector {
public:
    explicit Collector(bool tap);
    ~Collector();
    Collector(const Collector&) = delete;
    Collector& operator=(const Collector&) = delete;

    /// The process's key, or 0 and what is wrong with the file: nothing if no descriptor is free to open it now. A journal
    /// that is known already is the same process, by another path.
    uint64_t attach(const std::string& path, uint64_t device, uint64_t inode, std::string& error);
    uint64_t drain();
    uint64_t run(double seconds);
    void stop();

    uint64_t feed(const std::string& records, const std::string& arena, uint32_t pid, uint32_t uid, uint64_t start,
                  const std::string& label);
    void end(uint64_t key);
    void forget_ended();
    /// What happened since this ledger began, by those who were forgotten, too.
    Lifetime lifetime();
    bool taken(uint64_t key, std::string& records, std::string& arena);
    /// Whether some journal is not read to its end yet, so that figures are not complete.
    bool is_settling();
    /// How many living processes report by a journal.
    uint64_t journal_count();

    /// Peaks of chips and processes start over from what is held now.
    void reset_peaks();

    /// What the driver says of a chip, by its unique id; returns whether that is news.
    bool describe_by_driver(uint64_t unique_id, const std::string& arch, const std::string& board, uint64_t dram_bytes,
                            uint64_t l1_bytes);

    /// How large each bank of an architecture is, in every chip that has it; returns whether that is news.
    bool set_bank_sizes(const std::string& arch, uint64_t dram_bytes, uint64_t l1_bytes);

    /// The books are for those who report by socket too, as long as they hold this.
    [[nodiscard]] std::unique_lock<std::mutex> hold() { return std::unique_lock(mutex_); }
    bool is_wanted() const { return waiting_.load(std::memory_order_relaxed) != 0; }
    Devices& devices() { return devices_; }  // while held, as what follows
    Atlas& atlas() { return atlas_; }
    EventLog& log() { return log_; }
    Process& admit(Way way);
    void dismiss(Process& process);
    /// Tells `listener`, or none again, what happens; while held.
    void listen(Listener* listener);
    const Timebase& timebase() const { return timebase_; }  // while held
    /// Once a process came or went: anyone who reports twice is counted once.
    void pair_ways(Process& changed);
    std::vector<std::unique_ptr<Process>>& processes() { return processes_; }

    /// Everything held still and freshly read.
    [[nodiscard]] std::unique_lock<std::mutex> hold_fresh() {
        auto lock = enter();
        timebase_.refresh();
        for (auto& process : processes_) refresh(*process);  // of those that cannot be read now: as they were
        return lock;
    }

    /// Everything held still as the last pass has seen it: for those who look often and need no counters.
    [[nodiscard]] std::unique_lock<std::mutex> hold_seen() {
        auto lock = enter();
        for (auto& process : processes_) refresh_label(*process);
        return lock;
    }

    /// Calls `visit` with what is held, by its holder.
    template <typename Visit>
    auto show(Visit& visit) {
        const Besides besides{atlas_, damaged_, versions_};
        return visit(processes_, devices_, timebase_, besides);
    }

    /// Calls `visit(processes, devices, timebase, besides)` with everything held still and freshly read.
    template <typename Visit>
    auto look(Visit visit) {
        const auto lock = hold_fresh();
        return show(visit);
    }

private:
    [[nodiscard]] std::unique_lock<std::mutex> enter() {
        waiting_.fetch_add(1, std::memory_order_relaxed);  // a busy run() then naps, which lets us in
        std::unique_lock lock(mutex_);
        waiting_.fetch_sub(1, std::memory_order_relaxed);
        return lock;
    }

    uint64_t pass(bool is_whole);
    bool is_due(const Process& process, uint64_t now) const;
    void look_for_deaths(uint64_t now);
    void watch(Process& process);
    bool is_visited(const Process& process) const { return process.file != nullptr && !process.file->is_kept(); }
    uint64_t visit_ns() const;
    bool reach(Process& process, uint64_t now);
    void lose(Process& process, uint64_t now);
    void keep_open(Process& process, uint64_t now);
    void let_go(Process& process);
    void keep_to_limit(uint64_t now);
    Process* longest_silent(uint64_t before);
    uint64_t rest_ns() const;
    uint64_t patience_ns() const;
    void read_batch(Process& process, uint64_t now_ns);
    uint64_t apply_merged(uint64_t now_ns);
    bool has_different_clocks() const;
    void after_batch(Process& process, uint64_t now_ns);
    void log_events_of(Process& process);
    void start(Process& process, uint64_t now_ns);
    void scan(Process& process, uint64_t now_ns, uint64_t read_until);
    void fall_behind(Process& process, uint64_t now_ns, uint64_t read_until);
    void damage(Process& process, const std::string& what);
    void check_life(Process& process, uint64_t now_ns);
    void verify(Process& process, bool is_verified);
    void conclude(Process& process, const Liveness& life);
    void doubt_claims();
    void doubt_lives_before(const Process& process);
    void finish(Process& process, uint64_t now_ns);
    void read_to_end(Process& process, uint64_t now_ns);
    void refresh(Process& process);
    void refresh_label(Process& process);
    void adopt(Process& process, uint64_t now_ns);
    bool read_targets(Process& process, uint32_t count);
    bool read_stale_targets(Process& process, bool& has_changed);
    bool read_phases(Process& process);
    bool read_incidents(Process& process, bool& has_changed);
    void compare(Process& process);
    void read_again(Process& process, uint64_t head);
    void forget_oldest_ended();
    void keep_damage(const std::string& path, const std::string& what, uint32_t uid);
    void follow_mapping(uint64_t now_ns);
    void shadow(Process& socket, Process* journal);

    static constexpr size_t kBatch = 4'096;  // events of one journal in one pass
    static constexpr size_t kDrainPasses =
        64;  // a ring of 2^18 as a whole; who writes meanwhile is not followed for ever
    static constexpr const char* kRemoved =
        "its file was removed while its process lives and no descriptor was free to hold it; its figures are unknown";
    static constexpr const char* kCut = "it was cut short while being read; the process's figures are unknown";

    std::mutex mutex_;
    std::atomic<bool> should_stop_{false};
    std::atomic<int> waiting_{0};
    bool has_tap_;
    uint64_t last_key_ = 0;
    uint64_t clock_read_ns_ = 0;
    uint64_t heard_ns_ = 0;  // when any journal last had news
    int deaths_ = -1;        // an epoll of all pidfds: readable once a process died
    uint64_t mapping_seen_ = 0;
    size_t ended_count_ = 0;  // since the ended were last counted
    Devices devices_;
    Atlas atlas_;
    Versions versions_;
    Timebase timebase_;
    JournalFiles files_;
    size_t visited_count_ = 0;     // living journals that are not held open
    uint64_t none_silent_ns_ = 0;  // the pass in which no journal was found to close for another
    Listener* listener_ = nullptr;
    std::vector<RecordCopy> alive_;    // of the last scans: given back once a second
    uint64_t listening_since_ns_ = 0;  // CLOCK_MONOTONIC
    EventLog log_;                     // written while mutex_ is held
    std::vector<std::unique_ptr<Process>> processes_;
    Lifetime forgotten_;
    std::map<uint32_t, Damaged> damaged_;  // by owner
};

}  // namespace ttmem
