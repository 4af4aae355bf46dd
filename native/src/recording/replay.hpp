// A recording back into books: whatever can be asked of a ledger can be asked of any moment of the recording.
//
// Rows are played in the order of time, whichever process was heard first: those of a block that are later than the first
// row of a later block wait for it. Reading begins with the first part of a keyframe. Keyframes that come later are passed
// over, but for processes that could not be followed until then.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "ledger/collector.hpp"
#include "recording/block.hpp"
#include "recording/names.hpp"
#include "recording/rows.hpp"
#include "recording/watch/watcher.hpp"

namespace ttmem::recording {

/// A phase of a process, by its name; times of the wall, 0: it was not over yet.
struct RecordedPhase {
    std::string name;
    uint64_t number = 0, began_ns = 0, ended_ns = 0;
    uint16_t thread = 0;
};

/// What a pool of a target held at its highest while it could not be followed, by the process's own counter.
struct GapPeak {
    uint64_t process = 0;
    std::vector<uint64_t> chips;
    uint8_t pool = 0;
    uint64_t bytes = 0, time_ns = 0;
};

/// Where to stop: behind the last row that is not later, or behind the first with which a pool of a chip holds so much.
struct Until {
    uint64_t time_ns = ~uint64_t{0};  // CLOCK_MONOTONIC
    uint64_t chip = 0;
    uint32_t pool = kPools;  // kPools: of none
    int64_t bytes = 0;
    uint64_t rows = ~uint64_t{0};  // since the beginning, with which to stop
};

/// Looks at the books around each row of events, by the thread that holds them.
class RowWatcher {
public:
    virtual ~RowWatcher() = default;
    virtual void row_comes(uint64_t time_ns) = 0;
    virtual void row_done() = 0;
};

/// Where a phase begins or ends: CLOCK_MONOTONIC, as rows have it.
struct PhaseMoment {
    uint64_t time_ns = 0;
    uint32_t pid = 0;
    bool is_begin = false;
    std::string name;
};

class Replay {
public:
    explicit Replay(Collector& collector) : collector_(collector) {}
    ~Replay();
    Replay(const Replay&) = delete;
    Replay& operator=(const Replay&) = delete;

    /// From now on, and before the first block, what no single moment says is kept up.
    Watcher& watch();

    /// What rows name: to be read for all blocks of names of the segment before the others.
    bool read_names_of(const StoredBlock& block, std::string& error);
    /// Takes a block of events or a keyframe. False for rows that are none: those before them are taken.
    bool take(const StoredBlock& block, std::string& error);
    /// Applies what was taken, of rows later than `horizon_ns` none: blocks that were not taken yet may have earlier ones.
    /// Whether it came to where `until` says; what follows there is still to be applied.
    bool play(const Until& until, uint64_t horizon_ns = ~uint64_t{0});

    /// Who looks on; nullptr: nobody again.
    void watch(RowWatcher* watcher) { row_watcher_ = watcher; }

    /// Every beginning and end of a phase in a block of events, of which nothing is applied. False for rows that are none.
    bool phase_moments(const StoredBlock& block, std::vector<PhaseMoment>& found, std::string& error) const;

    uint64_t time_ns() const { return time_ns_; }  // CLOCK_MONOTONIC of the last row; while one is applied, of that one
    int64_t wall_offset_ns() const { return wall_offset_ns_; }
    uint64_t row_count() const { return row_count_; }
    uint64_t keyframe_row_count() const { return keyframe_row_count_; }
    bool is_at_event() const { return is_at_event_; }  // the last row was one, and no row of a keyframe
    const std::vector<GapPeak>& gap_peaks() const { return gap_peaks_; }
    /// By the process's key in these books: its phases, and whether what it holds is not known now.
    std::vector<std::pair<uint64_t, std::vector<RecordedPhase>>> phases() const;
    std::vector<uint64_t> lost_processes() const;

private:
    struct Player {
        Process* process = nullptr;
        bool is_lost = false, is_gathering = false, is_skipping = false;
        std::vector<RecordCopy> alive;
        std::vector<RecordedPhase> phases;
    };
    /// A row that was taken. `at_ns` is when it counts: of a process, never before the row in front of it.
    struct Taken {
        Row row;
        uint64_t at_ns = 0;
        int64_t wall_offset_ns = 0;
        bool is_event = false;
    };
    Player* player_of(uint32_t number);
    void put_in_order();
    void apply_taken(const Taken& taken);
    void apply_row(const Row& row);
    void apply_own(Player& player, RecordCopy words);
    void apply_journal(Player& player, const RecordCopy& words);
    void apply_socket(Player& player, const RecordCopy& words);
    void note_phase(Player& player, const RecordCopy& words);
    bool is_reached(const Until& until);
    uint64_t wall(uint64_t monotonic_ns) const {
        return monotonic_ns == 0 ? 0 : monotonic_ns + static_cast<uint64_t>(wall_offset_ns_);
    }

    Collector& collector_;
    std::unordered_map<uint32_t, ProcessNames> names_;
    std::unordered_map<uint32_t, Player> players_;
    std::vector<GapPeak> gap_peaks_;
    std::vector<uint64_t> latest_ns_;  // by number
    std::vector<Taken> taken_;
    std::vector<std::pair<uint64_t, uint32_t>> order_;  // of those still to be applied, from `next_` on
    size_t next_ = 0;
    std::unique_ptr<Watcher> watcher_;
    uint64_t time_ns_ = 0, row_count_ = 0, keyframe_row_count_ = 0;
    bool is_at_event_ = false;
    int64_t wall_offset_ns_ = 0;
    int64_t watched_ = -1;  // the device that `until` names
    RowWatcher* row_watcher_ = nullptr;
};

}  // namespace ttmem::recording
