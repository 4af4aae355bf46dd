// A recording as it goes over time: what every pool of a chip held, its fullest core, phases, launches, and times in which a
// process could not be followed. Made for viewers of traces, of one recording, block by block, while it is played back.
//
// A recording has a ledger of its own for each segment; series, processes and phases go on from one to the next.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ledger/collector.hpp"
#include "ledger/log/listener.hpp"
#include "recording/replay.hpp"
#include "timeline/points.hpp"

namespace ttmem::timeline {

/// In place of a pool: what the fullest core of a chip has of L1, as `ttmem ps` shows it.
inline constexpr uint32_t kFullestCore = kPools;

struct Limits {
    uint64_t from_ns = 0, until_ns = ~uint64_t{0};  // CLOCK_MONOTONIC
    uint64_t points = 5'000'000;                    // at most: balances and launches
    uint64_t rows = 0;                              // about how many there are: says how often cores are looked at
};

struct Series {
    uint64_t chip = 0;  // its unique id
    std::string name;   // of one that has none: "server:0"
    uint32_t pool = 0;
};

struct Who {
    uint32_t pid = 0;
    uint64_t started_ns = 0;
    std::string label, command;
};

/// What one thread did, or all of one process where that is not known (0).
struct Track {
    uint32_t process = 0, thread = 0;  // the place in `processes`, the number of the kernel
};

struct Phase {
    uint32_t track = 0;
    uint64_t number = 0;
    std::string name;
    uint64_t began_ns = 0, ended_ns = 0;  // 0: it goes on
};

struct Gap {
    uint32_t process = 0;
    uint64_t began_ns = 0, ended_ns = 0;
};

/// One launch, or several of one program that were too close to be told apart.
struct Launch {
    uint64_t time_ns = 0;
    uint32_t track = 0, name = 0, count = 1;
};

class Timeline final : public Listener, public recording::RowWatcher {
public:
    explicit Timeline(const Limits& limits);

    /// The blocks that follow are played into other books.
    void begin_segment();
    /// Plays one block. False for rows that are none; `has_stopped`: what follows is later than is asked for.
    bool play(Collector& collector, recording::Replay& replay, const recording::StoredBlock& block, uint64_t horizon_ns,
              bool& has_stopped, std::string& error);
    /// These books end, at that moment.
    void end_segment(Collector& collector, uint64_t at_ns);

    const std::vector<Series>& series() const { return series_; }
    const Points& points() const { return points_; }
    const std::vector<Who>& processes() const { return processes_; }
    const std::vector<Track>& tracks() const { return tracks_; }
    const std::vector<Phase>& phases() const { return phases_; }
    const std::vector<Gap>& gaps() const { return gaps_; }
    const std::vector<Launch>& launches() const { return launches_; }
    /// Of launches; empty: no operation is known.
    const std::vector<std::string>& names() const { return names_; }
    uint64_t launch_count() const { return launch_count_; }
    /// How often cores changed, and how often they were looked at: less often where that would take too long.
    uint64_t core_changes() const { return core_changes_; }
    uint64_t core_looks() const { return core_looks_; }

    void record(uint64_t process, const RecordCopy& words) override;
    void ended(uint64_t, const RecordCopy&, uint64_t, uint64_t, bool) override {}
    void resized(uint64_t, const RecordCopy&, uint64_t, uint64_t) override {}
    void opened(uint64_t, uint16_t, uint64_t, uint32_t) override {}
    void shared(uint64_t, bool) override {}
    void lost(uint64_t process) override;
    void settled(uint64_t) override {}
    void process_ended(uint64_t process) override;
    void balance(uint32_t device, uint8_t pool, int64_t used, bool is_sure) override;
    void row_comes(uint64_t time_ns) override;
    void row_done() override;

private:
    using Program = std::tuple<uint64_t, uint16_t, uint64_t>;  // process, target, program

    uint64_t now() const { return std::max(replay_->time_ns(), begin_ns_); }
    const Process* process_of(uint64_t key);
    uint32_t who(const Process& process);
    uint32_t track_of(const Process& process, uint16_t thread);
    uint32_t name_of(const Process& process, const RecordCopy& words);
    void add(const Device& chip, uint32_t pool, uint64_t at_ns, int64_t used);
    void add_all(uint64_t at_ns);
    void end_silent_series();
    void look_at_cores(uint64_t at_ns);
    void name_programs();
    void note_phase(const Process& process, const RecordCopy& words);
    void note_launch(const Process& process, const RecordCopy& words);
    void thin_launches();
    void end_gaps(const recording::Replay& replay);

    Limits limits_;
    Points points_;
    std::vector<Series> series_;
    std::map<std::tuple<uint64_t, std::string, uint32_t>, size_t> places_;  // of series, by chip and pool
    std::vector<bool> is_heard_;  // of series: whether these books know its chip
    std::vector<Who> processes_;
    std::map<std::tuple<uint32_t, uint64_t, uint64_t>, uint32_t> who_;  // by pid, start and its namespace
    std::vector<Track> tracks_;
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> track_places_;
    std::vector<Phase> phases_;
    std::map<std::tuple<uint32_t, uint64_t>, size_t> phase_places_;  // by process and number
    std::vector<Gap> gaps_;
    std::vector<Launch> launches_;
    std::vector<std::string> names_;
    uint64_t launch_count_ = 0, launch_slot_ns_ = 0;
    uint64_t core_changes_ = 0, core_looks_ = 0;
    int64_t core_credit_ = 0, credit_of_row_ = 0;  // live entries that may be looked at

    // While one block is played:
    Collector* collector_ = nullptr;
    const recording::Replay* replay_ = nullptr;
    // Of these books:
    std::map<Program, uint32_t> programs_;
    std::vector<Program> named_;         // by the row that is applied now
    uint64_t known_until_ns_ = 0;        // the latest time of any books
    std::map<uint64_t, uint64_t> lost_;  // since when processes are not followed
    uint64_t last_key_ = 0;
    const Process* last_ = nullptr;
    bool has_begun_ = false;  // it came to where it is to begin, or to go on
    uint64_t begin_ns_ = 0;   // where that is
    bool is_behind_ = true;   // a keyframe was read that no point tells of yet
    bool are_cores_behind_ = false;
};

}  // namespace ttmem::timeline
