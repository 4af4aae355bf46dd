// Workloads: programs that are launched as one, their binaries in DRAM, and traces of launches.
#pragma once

#include "hook/programs/programs.hpp"
#include "hook/runtime.hpp"

namespace ttmem::hook {

/// A stretch of a list of words. RecordCopy of a list of launches: the target in the upper 16 bits, the program below.
struct Batch {
    static constexpr uint32_t kMost = 7;
    uint32_t next, count;
    uint64_t words[kMost];
};

struct alignas(64) Workload {  // every launch looks at its first line of memory
    const void* impl;
    const Mesh* mesh;  // it was launched on; null: not settled
    uint64_t only;     // the launch, if it has one program
    uint64_t id;       // of its first program: the name of its binaries
    uint32_t program_count;
    uint32_t launches;    // what one launch counts, if it has several programs
    uint32_t listed_at;   // where the journal has the one program, as it said last
    uint16_t target;      // of all of its mesh
    uint8_t status;       // ttmem_binary_status
    bool is_told;         // its status is in the journal
    bool are_loaded;      // its binaries, by an earlier launch
    bool is_named;        // its programs' operation is in the journal, or nobody knows it
    uint64_t first_key;   // of its first program
    uint64_t held_bytes;  // of binaries
    uint32_t programs;    // their keys
};

/// Binaries in DRAM, or a stored trace, by their buffer.
struct Holding {
    uint64_t program_key, id;
    uint16_t target;
    ttmem_handle trace;  // of a trace; else 0
};

/// A trace, and what a replay of it launches.
struct Trace {
    const Mesh* mesh;
    const void* queue;  // it is captured on; null: whichever
    uint32_t mesh_number, launches, id;
};

/// Finds out where its programs run; false while nobody knows.
bool settle_anew(Workload& workload) noexcept;
inline bool settle(Workload& workload) noexcept {
    return __builtin_expect(workload.mesh != nullptr, 1) || settle_anew(workload);
}

/// Adds a word to the end of a list; without room it is lost.
void append_word(uint32_t* first, uint64_t word) noexcept;
void give_words(uint32_t* first) noexcept;

/// Calls `see(word)` for each word of a list.
template <class See>
void each_word(uint32_t first, See&& see) noexcept {
    for (; first != 0; first = cells().at<Batch>(first).next) {
        const Batch& batch = cells().at<Batch>(first);
        for (uint32_t i = 0; i < batch.count; ++i) see(batch.words[i]);
    }
}

inline constexpr uint64_t kProgramOfLaunch = (uint64_t{1} << 48) - 1;

inline void count_launch_word(uint64_t word) noexcept {
    ttmem_launch(static_cast<uint16_t>(word >> 48), word & kProgramOfLaunch);
}

/// Whether this launch is only recorded: a trace is being captured on that queue.
bool record_in_capture(const Workload& workload, const void* queue) noexcept;
inline bool record_launch(const Workload& workload, const void* queue) noexcept {
    return __builtin_expect(at_hand_of_all.captures.load(std::memory_order_acquire) != 0, 0) &&
           record_in_capture(workload, queue);
}
void drop_traces(const Mesh& mesh) noexcept;

}  // namespace ttmem::hook
