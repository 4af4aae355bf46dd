// A recording back into books: whatever can be asked of a ledger can be asked of any moment of the recording.
//
// Blocks are applied in their order, from the first part of a keyframe on. Keyframes that come later are passed over, but for
// processes that could not be followed until then.
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

/// Two processes are not heard at the same instant: rows of one may stand so far behind later ones of another.
inline constexpr uint64_t kLateMostNs = 1'000'000'000;

/// Where to stop: behind the last row that is not later, or behind the first with which a pool of a chip holds so much.
struct Until {
    uint64_t time_ns = ~uint64_t{0};  // CLOCK_MONOTONIC
    uint64_t chip = 0;
    uint32_t pool = kPools;  // kPools: of none
    int64_t bytes = 0;
    bool is_of_each = false;  // of each process all rows up to then, also those behind later ones of another
    uint64_t skip = 0, rows = ~uint64_t{0};  // of the block: rows that were applied before, and with which to stop
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
    /// Applies a block of events or a keyframe; `has_stopped`: it came to where `until` says. False for rows that are none.
    bool apply(const StoredBlock& block, const Until& until, bool& has_stopped, std::string& error);

    /// Who looks on; nullptr: nobody again.
    void watch(RowWatcher* watcher) { row_watcher_ = watcher; }

    /// Every beginning and end of a phase in a block of events, of which nothing is applied. False for rows that are none.
    bool phase_moments(const StoredBlock& block, std::vector<PhaseMoment>& found, std::string& error) const;

    uint64_t time_ns() const { return time_ns_; }  // CLOCK_MONOTONIC of the last row; while one is applied, of that one
    int64_t wall_offset_ns() const { return wall_offset_ns_; }
    uint64_t row_count() const { return row_count_; }
    /// How many rows of the last block were applied, or passed over.
    uint64_t position() const { return position_; }
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
    Player* player_of(uint32_t number);
    static bool is_over(const Row& row, bool is_event, const Until& until);
    bool is_beyond(const Row& row, bool is_event, const Until& until);
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
    std::vector<bool> past_;  // by number: it has come to where to stop
    std::unique_ptr<Watcher> watcher_;
    uint64_t time_ns_ = 0, row_count_ = 0, position_ = 0;
    int64_t wall_offset_ns_ = 0;
    int64_t watched_ = -1;  // the device that `until` names
    RowWatcher* row_watcher_ = nullptr;
};

}  // namespace ttmem::recording
