// What happens in the books, into a segment of a recording.
//
//   books ──▶ record(), ended(), ...  ──▶ rows ──▶ block of events ──▶ file
//                     │                                  ▲
//                     └──▶ names that rows mention ──▶ block of names, always before
//
// A segment begins with a keyframe, and there is another whenever about as many rows were written as four keyframes would
// take. A process that cannot be followed (it was found running, or was faster than we) writes no rows until its books are
// exact again; then a keyframe of it alone says what is alive.
//
// Everything is called by the holder of the books. A block that the file has no room for is taken back whole; rows are then
// dropped and counted until the next segment begins.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "ledger/collector.hpp"
#include "ledger/log/listener.hpp"
#include "recording/block.hpp"
#include "recording/names.hpp"
#include "recording/rows.hpp"
#include "recording/watch/core_loads.hpp"
#include "recording/watch/shares.hpp"

namespace ttmem::recording {

class Recorder final : public Listener {
public:
    struct Status {
        uint64_t segment_bytes = 0, rows = 0, dropped_rows = 0, lost_records = 0, incidents = 0;
        int error = 0;  // errno of the write that failed; 0: all is well
    };

    Recorder(Collector& collector, bool is_redacted);
    ~Recorder() override;
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    /// Goes on in another file, which is empty: with what is alive now.
    void begin_segment(int file, uint64_t number);
    /// What has happened so far, into the file.
    void flush();
    const Status& status() const { return status_; }

    void record(uint64_t process, const RecordCopy& words) override;
    void ended(uint64_t process, const RecordCopy& life, uint64_t sequence, uint64_t time, bool is_replaced) override;
    void resized(uint64_t process, const RecordCopy& life, uint64_t bytes, uint64_t sequence) override;
    void opened(uint64_t process, uint16_t target, uint64_t unique_id, uint32_t descriptor) override;
    void shared(uint64_t process, bool is_shared) override;
    void lost(uint64_t process) override;
    void balance(uint32_t device, uint8_t pool, int64_t used, bool is_sure) override;
    void settled(uint64_t process) override;
    void process_ended(uint64_t process) override;

private:
    struct Phase {
        RecordCopy began, ended;  // the latter without a time while it is open
    };
    /// What is known of one process.
    struct State {
        const Process* process = nullptr;  // none before it is among the others, and after it ended
        uint32_t number = 0;               // in this segment, with `segment`
        uint64_t segment = 0;
        bool is_lost = false, is_over = false;
        uint64_t lost_records = 0;
        uint64_t known_until_ns = 0;  // CLOCK_MONOTONIC
        uint64_t latest_ns = 0;       // of its rows: those behind are not earlier, whichever thread was first
        Timebase::Line clock;
        ProcessFacts facts;
        std::map<uint16_t, RecordCopy> targets;  // as they were opened last
        std::vector<Phase> phases;               // the newest, also those that ended
        std::vector<uint64_t> said;              // by id: the segment in which it was named
        std::vector<uint64_t> said_stacks;
        size_t thread_count = 0;
        uint32_t highest_thread = 0;
    };
    /// A pool of a chip in this block.
    struct Pool {
        int64_t start = 0, highest = 0, now = 0;
        Shares shares;
        bool is_sure = true, is_used = false, is_of_gap = false;
    };

    State& state_of(uint64_t key);
    bool meet(State& state, uint64_t key);
    void take_clock(State& state);
    uint64_t monotonic(State& state, uint64_t raw);
    void refresh_clocks();
    void note_known();
    void add(State& state, RecordCopy words, uint64_t monotonic_ns = 0);
    void add_own(State& state, RowType type, uint64_t id = 0);
    void name(State& state, const RecordCopy& words);
    void name_id(State& state, uint32_t id, Item kind);
    void refresh_facts();
    static ProcessFacts facts_of(const Process& process);
    void note_phase(State& state, const RecordCopy& words);
    void put_target(State& state, const RecordCopy& words);
    void put_process(State& state, const Process& process);
    void put_keyframe(const Process* only);
    void count_lost(State& state);
    void put_gap_peaks(State& state);
    void close_rows(BlockKind kind, uint16_t parts);
    void close_names();
    void write(BlockHead head, const std::vector<Balance>& balances, const std::string& payload);
    void raise_in_gap(uint32_t device, uint8_t pool, int64_t bytes);
    std::vector<Balance> take_balances(const BlockHead& head);
    void put_cores(const BlockHead& head, std::vector<Balance>& balances);

    Collector& collector_;
    RowEncoder rows_;
    NameWriter names_;
    uint64_t since_ns_;  // CLOCK_MONOTONIC
    std::unordered_map<uint64_t, State> states_;
    State* last_ = nullptr;  // whom the row before was about
    uint64_t last_key_ = 0;
    std::vector<Pool> pools_;  // by device and pool
    CoreLoads loads_;
    int file_ = -1;
    uint64_t segment_ = 0;
    uint32_t block_number_ = 0, next_number_ = 0;
    uint64_t rows_since_keyframe_ = 0, keyframe_rows_ = 0, flush_count_ = 0;
    int64_t wall_offset_ns_ = 0;
    uint16_t keyframe_parts_ = 0;  // while one is written: what its next block is
    bool is_in_keyframe_ = false;
    Status status_;
};

}  // namespace ttmem::recording
