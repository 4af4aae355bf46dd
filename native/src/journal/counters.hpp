// What is counted of every target, in memory that others read at any time.
#pragma once

#include "journal/sizes.hpp"

namespace ttmem {

//   field         writer (any thread of the host)                reader   order
//   used          fetch_add of the charge, fetch_sub at the free any      relaxed: each is right by itself
//   peak          raised by compare-and-swap                     any      relaxed
//   peak_time     stored after peak was raised (may lag it)      any      relaxed
//   window_peak   raised likewise; reset at a phase boundary     any      relaxed
//   own_peak      raised likewise; reset when the host asks      host     relaxed
//   allocs, frees fetch_add                                      any      relaxed
//   totals        fetch_add                                      any      relaxed
// They agree with the live entries whenever no call is under way.
//
// `totals` only ever grow. What is counted here reaches every row of a process, and by `POOL_TOTALS` of devices.py, which is
// in this order, every output.
enum PoolTotal : uint32_t { kFreedBytes, kPoolTotals };
inline constexpr uint32_t kPoolTotalWords = 1;  // room for so many
static_assert(kPoolTotals <= kPoolTotalWords);

struct PoolCounters {
    AtomicU64 used;
    AtomicU64 peak;
    AtomicU64 peak_time;
    AtomicU64 window_peak;
    AtomicU64 allocs;
    AtomicU64 frees;
    AtomicU64 own_peak;  // since the host began again; never below window_peak
    AtomicU64 totals[kPoolTotalWords];
};
static_assert(sizeof(PoolCounters) == 64);

struct KindCounters {  // buffers are not counted here: their pools say
    AtomicU64 used;
    AtomicU64 count;
};
static_assert(sizeof(KindCounters) == 16);

// What goes on besides memory changing hands. Answers of caches and stalls are counted (fetch_add); how much is held
// is stored after each change, so it is what the newest of them said.
struct RingCounters {  // of every core of one type
    AtomicU64 live, retired, entries;
    AtomicU64 launches;  // that took room in it
    AtomicU64 total;     // its size, 0 unknown
};
static_assert(sizeof(RingCounters) == 40);

struct CacheCounters {
    AtomicU64 outcomes[kOutcomes];
    AtomicU64 entries, held, shared;
};
static_assert(sizeof(CacheCounters) == 64);

enum TargetState : uint32_t { kTargetUnnamed = 0, kTargetOpen = 1, kTargetClosed = 2 };

// One per target. `descriptor` is stored (release) before `state` says open; `closed_sequence` before it says closed.
struct Target {
    AtomicU32 state;
    AtomicU32 descriptor;       // arena id of its newest DeviceDescriptor or MeshDescriptor
    AtomicU64 unique_id;        // chip's unique id or mesh id
    AtomicU64 closed_sequence;  // entries made before it ended with that close
    AtomicU64 launches;
    AtomicU64 clashes;
    AtomicU64 refusals;  // how often memory ran out
    AtomicU64 spare[2];
    KindCounters kinds[kKinds];
    AtomicU64 kinds_spare[2];
    PoolCounters pools[kPools];
    AtomicU64 pools_spare[16];
    CacheCounters caches[kCaches];
    RingCounters rings[kCoreTypes];
    AtomicU64 stalls[kStalls];
};
static_assert(sizeof(Target) == 1600 && offsetof(Target, pools) == 256 && offsetof(Target, caches) == 1024,
              "a pool's counters, and a cache's, share one cache line");

}  // namespace ttmem
