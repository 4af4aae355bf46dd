// A recording as lives: one row for each allocation, with its beginning and its end, and rows of what else happened.
//
// Segments are read in their order; each begins with a keyframe. A life is put out when it ends, so what is kept is what
// is alive. Where a process could not be followed, what a keyframe says is compared with what was alive before: what is
// missing ended in between, and is marked.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "journal/events.hpp"
#include "recording/block.hpp"
#include "recording/lives/columns.hpp"
#include "recording/lives/life_index.hpp"
#include "recording/names.hpp"
#include "recording/rows.hpp"

namespace ttmem::recording {

/// One run of a phase. `ended_ns` 0: it was not over yet.
struct PhaseRun {
    uint32_t process = 0, name = 0, thread = 0;
    uint32_t parent = 0;  // the run that was open around it, 0: none
    uint64_t run = 0;     // which of that name in its process, from 1
    uint64_t began_ns = 0, ended_ns = 0, began_sequence = 0, ended_sequence = 0;
    uint64_t end_mark = 0;   // how many phases of its process had ended before it
    bool is_unsure = false;  // it ended, or was found, while its process was not followed
};

/// What is known of a process; times are CLOCK_MONOTONIC.
struct LifeProcess {
    ProcessFacts facts;
    uint64_t ended_ns = 0;  // 0: not yet
    uint64_t gap_count = 0;
    uint64_t known_until_ns = 0, phase_ends = 0, launches = 0;
    bool is_lost = false;  // now
    bool is_counted = true;
    bool was_found = false;  // it was running before it was recorded
};

/// Which lives are put out.
enum class WantedLives : uint8_t {
    all = 0,
    lasting = 1,  // that outlast the end of a phase, or that were not freed
    none = 2,
};

class LifeReader {
public:
    struct Range {
        uint64_t from_ns = 0;  // lives that had ended by then are left out
        uint64_t until_ns = ~uint64_t{0};
        uint64_t events = ~uint64_t{0};  // which kinds of events, by bit
        WantedLives lives = WantedLives::all;
    };

    explicit LifeReader(Range range) : range_(range) {}
    LifeReader(const LifeReader&) = delete;
    LifeReader& operator=(const LifeReader&) = delete;

    /// Numbers of processes begin again.
    void begin_segment();
    bool read_names_of(const StoredBlock& block, std::string& error);
    /// A block of events or of a keyframe. False for rows that are none.
    bool apply(const StoredBlock& block, std::string& error);
    /// Puts out what is still alive. Afterwards nothing is applied.
    void finish();
    /// Whether `until_ns` was reached: what follows is not read.
    bool has_stopped() const { return has_stopped_; }

    Columns<LifeColumn>& lives() { return lives_; }
    Columns<EventColumn>& events() { return events_; }
    const Texts& texts() const { return texts_; }
    const ChipSets& chip_sets() const { return chip_sets_; }
    /// By number; numbers of runs are one more than their place.
    const std::vector<PhaseRun>& phases() const { return phases_; }
    std::vector<LifeProcess> processes() const;
    /// What was said of chips, by their unique id.
    const std::map<uint64_t, DeviceDescriptor>& chips() const { return chips_; }
    size_t alive_count() const { return alive_.size() - free_.size(); }
    uint64_t row_count() const { return row_count_; }
    int64_t wall_offset_ns() const { return wall_offset_ns_; }

private:
    struct Site {
        uint32_t frames = 0, operation = 0, tensor = 0;
    };
    struct Alive {
        RecordCopy words;
        Site site;
        uint64_t begin_bytes = 0, begin_mark = 0, begin_launch = 0, flags = 0;
        uint32_t phase = 0, chips = 0, thread = 0, core_set = 0;
    };
    struct Last {  // that a thread allocated in a pool of a target
        uint64_t id = 0;
        uint8_t kind = 0;
        bool operator==(const Last&) const = default;
    };
    struct Player {
        uint32_t number = 0;
        uint64_t ended_ns = 0, last_ns = 0, last_sequence = 0, lost_since_ns = 0, gap_count = 0;
        uint64_t lost_mark = 0, lost_launch = 0, launches = 0, replaced_at = 0, settled_ns = 0;
        bool is_lost = false, is_gathering = false, is_listed = false, is_settling = false, is_counted = true;
        bool was_found = false, is_seen = false, is_met = false;
        ProcessFacts facts;
        const ProcessNames* names = nullptr;
        std::vector<uint32_t> targets, threads;  // sets of chips, by target
        LifeIndex alive;
        std::unordered_map<uint32_t, Site> sites;
        std::unordered_map<uint64_t, uint32_t> operations;  // of programs, texts
        std::unordered_map<uint32_t, uint32_t> phase_of;    // number of the process -> number of the table
        std::unordered_map<uint32_t, uint64_t> runs;        // by name
        std::vector<uint32_t> open;                         // phases, the innermost last
        std::vector<uint64_t> phase_ends;                   // their sequences
        std::unordered_map<uint64_t, Last> last_of;         // by thread, target and pool
        std::vector<RecordCopy> gathered;
    };

    Player* player_of(uint32_t number);
    Player& player_for(const ProcessFacts& facts, uint32_t number);
    void refresh(Player& player);
    void apply_row(const Row& row, bool is_event);
    void apply_own(Player& player, const RecordCopy& words);
    void apply_event(Player& player, const RecordCopy& words);
    void begin_process(Player& player, const RecordCopy& words);
    void lose(Player& player, uint64_t since_ns);
    void settle(Player& player);
    void compare(Player& player, const std::vector<RecordCopy>& gathered);
    void gather_phases(Player& player, const std::vector<RecordCopy>& gathered);
    void place_in_phases(Player& player, std::vector<uint32_t>& found);
    void end_keyframe();

    uint32_t begin_life(Player& player, const RecordCopy& words);
    void end_life(Player& player, uint32_t slot, LifeEnding ending, uint64_t end_ns, uint64_t latest_ns,
                  uint64_t sequence);
    void end_where(Player& player, uint32_t target, uint64_t before, LifeEnding ending, uint64_t end_ns,
                   uint64_t latest_ns, uint64_t sequence);
    void close_target(Player& player, const RecordCopy& words);
    void open_target(Player& player, const RecordCopy& words);
    void note_program(Player& player, const RecordCopy& words);
    void name_program(Player& player, const RecordCopy& words, uint64_t program, uint32_t site);
    bool is_wanted(const Player& player, const Alive& life, LifeEnding ending, uint64_t latest_ns) const;
    void begin_phase(Player& player, const RecordCopy& words, bool is_unsure);
    void end_phase(Player& player, const RecordCopy& words);
    void add_event(Player& player, EventKind kind, const RecordCopy& words, uint64_t id, uint64_t value,
                   uint64_t bytes = 0, uint64_t name = 0);

    Site site_of(Player& player, uint32_t site);
    uint32_t text_of(const Player& player, uint32_t id);
    static uint64_t program_key(uint16_t target, uint64_t program) {
        return program ^ (uint64_t{target} * 0x9e37'79b9'7f4a'7c15ull);
    }
    uint32_t operation_of(const Player& player, uint16_t target, uint64_t program) const;
    uint32_t chips_of(const Player& player, uint16_t target) const {
        return target < player.targets.size() ? player.targets[target] : 0;
    }
    uint32_t thread_of(const Player& player, const RecordCopy& words) const {
        return words.thread() < player.threads.size() ? player.threads[words.thread()] : 0;
    }

    Range range_;
    Columns<LifeColumn> lives_;
    Columns<EventColumn> events_;
    Texts texts_;
    ChipSets chip_sets_;
    std::map<uint64_t, DeviceDescriptor> chips_;
    std::vector<PhaseRun> phases_;
    std::vector<std::unique_ptr<Player>> players_;
    std::unordered_map<uint32_t, ProcessNames> names_;  // of this segment
    std::vector<Player*> by_number_;                    // of this segment
    std::vector<Alive> alive_;
    std::vector<uint32_t> free_;
    uint64_t row_count_ = 0, last_ns_ = 0;
    int64_t wall_offset_ns_ = 0;
    bool has_stopped_ = false;
};

}  // namespace ttmem::recording
