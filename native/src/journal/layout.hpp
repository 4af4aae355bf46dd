// The bytes of a journal: one shared-memory file per reporting process.
//
//   ┌────────┬─────────┬─────────┬───────┬─────────┬───────┬────────┬───────┬───────────┐┌────────┬────────┐
//   │ Header │ targets │ threads │ slab  │ index   │ ring  │ phases │ arena │ incidents ││ copies │ stacks │
//   └────────┴─────────┴─────────┴───────┴─────────┴───────┴────────┴───────┴───────────┘└────────┴────────┘
//   identity  counters  numbers   what is alive now  what    peaks   strings  what was    what was  who asked
//   and hot   (always   -> tids   (64 B an entry,    just    per     and de-  refused     alive
//   words     right)              found by id)       happened phase  scriptors            then
//
// The file has room for everything left of the gap from its beginning. Copies and stacks are holes: their pages are asked
// for when they are first needed, and where the file system refuses them only these details are missing.
//
// Every word that two threads or processes share is a naturally aligned std::atomic<uint64_t> or
// uint32_t, lock free, so a copy taken at any instant consists of whole words. One process writes;
// any number of others read, through pread only.
#pragma once

#include "journal/counters.hpp"
#include "journal/events.hpp"
#include "journal/handle.hpp"
#include "journal/incident.hpp"
#include "journal/names.hpp"
#include "journal/record.hpp"
#include "journal/sizes.hpp"

namespace ttmem {

// ---- header
enum ClockKind : uint32_t { kClockMonotonic = 0, kClockTsc = 1 };

// What every journal of this version begins with. All of it is written before the file gets its name
// and never again.
struct Identity {
    uint64_t magic;
    uint32_t version;
    uint32_t header_bytes;
    uint64_t file_bytes;
    uint64_t targets_offset, threads_offset, slab_offset, index_offset, ring_offset, phases_offset, arena_offset;
    uint32_t target_count, thread_count, table, ring_slots, phase_peaks, arena_bytes;
    uint32_t index_slots[kIndexLevels];
    uint32_t pid;
    uint32_t uid;
    uint32_t clock_kind;
    uint64_t start_ticks;
    uint64_t pid_namespace;
    uint64_t boot_id[2];
    uint64_t nonce;
    uint64_t first_sequence;
    uint64_t clock_raw, clock_monotonic_ns, clock_realtime_ns;
    char command[256];
    char run[136];  // marks of the runs (`ttmem run`) it belongs to, outermost first, a comma between them
    uint64_t incidents_offset, copies_offset, stack_nodes_offset, stack_texts_offset;
    uint32_t incident_slots, incident_entries, stack_nodes, stack_text_bytes;
};
static_assert(sizeof(Identity) == 640);

// Hot words, each group on its own cache lines.
//
//   field             writer                                   reader    order
//   next_sequence     fetch_add by every operation             any       acq_rel / acquire
//   free_head         compare-and-swap (tag32 | entry + 1)     host      acq_rel
//   slab_high         compare-and-swap, only grows             any       release / acquire
//   index_live        fetch_add before insert, sub after erase host      relaxed
//   statistics        fetch_add                                any       relaxed
//   label, arena_used store / fetch_add                        any       release / acquire
struct Header {
    Identity identity;
    uint8_t pad0[1024 - sizeof(Identity)];
    AtomicU64 next_sequence;  // the next one to be given; those below were given
    uint8_t pad1[56];
    AtomicU64 free_head;
    AtomicU64 slab_high;  // entries at and above were never used
    AtomicU64 index_live[kIndexLevels];
    uint8_t pad2[24];
    AtomicU64 skipped;          // ring records lost because their slot was busy or newer
    AtomicU64 untabled_allocs;  // allocations that found the live table full: once above 0 the list is not whole
    AtomicU64 untabled_frees;
    AtomicU64 unsized_frees;    // ... of which the size was not known: counters are no longer exact
    AtomicU64 unmatched_frees;  // unknown id, double free, wrong target
    AtomicU64 replaced;         // a live id was allocated again
    AtomicU64 clamped;          // sizes cut to kSizeMost
    AtomicU64 shrunk_kernels;   // a kernel loaded again with a smaller size
    AtomicU64 arena_used;
    AtomicU64 arena_refused;   // strings or descriptors that found no room
    AtomicU64 phases_refused;  // phase peaks that found no room
    AtomicU32 label;           // arena id, 0: the command
    AtomicU32 threads_used;
    AtomicU64 target_refused;  // devices or meshes beyond kTargets
    AtomicU64 unreported;      // allocations that were seen and not reported, their device being unknown
    AtomicU64 undivided_l1;    // openings of devices whose L1_SMALL buffers are counted as L1
    AtomicU64 incidents;       // how many there were: the number of the newest
    AtomicU64 incident_counts[kIncidentKinds][kPools];  // the same by kind and pool
    AtomicU64 stack_nodes_used;                         // the next node to be given
    AtomicU64 stack_texts_used;                         // bytes
    AtomicU64 stacks_refused;                           // stacks that found no room: their site is "other"
    AtomicU32 sites_off;  // arena id of the reason why Python stacks are not recorded, 0: none known
    AtomicU32 sites_spare;
    AtomicU64 unjudged;  // allocations, frees and traces that could not be compared: unsafe replays may be missing
    uint8_t pad3[kPage - 1024 - 64 - 64 - (21 + kIncidentKinds * kPools) * 8];
};
static_assert(sizeof(Header) == kPage && offsetof(Header, next_sequence) == 1024 &&
              offsetof(Header, free_head) == 1088 && offsetof(Header, skipped) == 1152);

// ---- sizes
struct Sizes {
    uint32_t table = kTable;
    uint32_t ring_slots = kRingSlots;
};

struct Plan {  // offsets of the parts for given sizes; one arithmetic for writer and reader
    uint64_t targets, threads, slab, index, ring, phases, arena, incidents;
    uint64_t holes;  // what lies before has room in the file from its beginning
    uint64_t copies, stack_nodes, stack_texts, file;
    uint32_t index_slots[kIndexLevels];
};

inline constexpr uint64_t page_up(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

inline constexpr Plan plan_of(Sizes sizes) {
    Plan plan{};
    const uint32_t most = sizes.table * 4;
    plan.index_slots[0] = most < 4096 ? most : 4096;
    plan.index_slots[1] = most <= 4096 ? 0 : (most < 32'768 ? most : 32'768);
    plan.index_slots[2] = most <= 32'768 ? 0 : most;
    uint64_t index = 0;
    for (uint32_t slots : plan.index_slots) index += uint64_t{slots} * sizeof(AtomicU32);
    plan.targets = kPage;
    plan.threads = plan.targets + page_up(uint64_t{kTargets} * sizeof(Target));
    plan.slab = plan.threads + page_up(kThreads * sizeof(AtomicU32));
    plan.index = plan.slab + page_up(uint64_t{sizes.table} * sizeof(Record));
    plan.ring = plan.index + page_up(index);
    plan.phases = plan.ring + page_up(uint64_t{sizes.ring_slots} * sizeof(Record));
    plan.arena = plan.phases + page_up(uint64_t{kPhasePeaks} * sizeof(PhasePeak));
    plan.incidents = plan.arena + kArenaBytes;
    plan.holes = plan.incidents + page_up(uint64_t{kIncidentSlots} * sizeof(Incident));
    plan.copies = plan.holes;
    plan.stack_nodes = plan.copies + uint64_t{kIncidentSlots} * kIncidentEntries * sizeof(Record);
    plan.stack_texts = plan.stack_nodes + uint64_t{kStackNodes} * sizeof(StackNode);
    plan.file = plan.stack_texts + kStackTextBytes;
    return plan;
}

}  // namespace ttmem
