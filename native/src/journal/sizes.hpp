// How much of everything a journal has, and the words that threads and processes share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ttmem/client.h"

namespace ttmem {

using AtomicU64 = std::atomic<uint64_t>;
using AtomicU32 = std::atomic<uint32_t>;
static_assert(AtomicU64::is_always_lock_free && sizeof(AtomicU64) == 8, "shared words must be plain words");
static_assert(AtomicU32::is_always_lock_free && sizeof(AtomicU32) == 4, "shared words must be plain words");

inline constexpr uint64_t kMagic = 0x314c'4e4a'4d45'4d54;  // "TMEMJNL1" in the file
inline constexpr uint32_t kVersion = 5;
inline constexpr uint32_t kPage = 4096;
inline constexpr uint32_t kTargets = 256;  // target 0 stands for everything that could not be named
inline constexpr uint32_t kThreads = 1024;
inline constexpr uint32_t kPhasePeaks = 1024;
inline constexpr uint32_t kArenaBytes = 1u << 20;
inline constexpr uint32_t kRingSlots = 65'536;
inline constexpr uint32_t kRingSlotsMost = 1u << 20;
inline constexpr uint32_t kWishedRingLeast = 1u << 14;  // one that was only wished for becomes no smaller than that
inline constexpr uint32_t kTable = 131'072;
inline constexpr uint32_t kTableLeast = 64;
inline constexpr uint32_t kTableMost = 1u << 20;
inline constexpr uint32_t kPools = TTMEM_POOL_COUNT;
inline constexpr uint32_t kKinds = TTMEM_KIND_COUNT;
inline constexpr uint32_t kCoreTypes = TTMEM_CORE_TYPE_COUNT;
inline constexpr uint32_t kCaches = TTMEM_CACHE_COUNT;
inline constexpr uint32_t kOutcomes = TTMEM_OUTCOME_COUNT;
inline constexpr uint32_t kStalls = TTMEM_STALL_COUNT;
inline constexpr uint32_t kIncidentSlots = 8;  // the first two incidents and the last six
inline constexpr uint32_t kIncidentsFirst = 2;
inline constexpr uint32_t kIncidentEntries = 4096;  // in the copy of what was alive
inline constexpr uint32_t kIncidentTextBytes = 512;
inline constexpr uint32_t kIncidentKinds = TTMEM_INCIDENT_KIND_COUNT;
inline constexpr uint32_t kStackNodes = 65'536;  // node 0 stands for "other"
inline constexpr uint32_t kStackTextBytes = 2u << 20;
inline constexpr uint32_t kIndexLevels = 3;
inline constexpr uint32_t kBucketSlots = 16;       // of 4 bytes: one cache line
inline constexpr uint64_t kSizeMost = 1ull << 42;  // 2^20 live entries of this size still sum below 2^63

// A chip known by its logical number only (the allocation server protocol says no more) goes by a unique id of this range.
inline constexpr uint64_t kServerDevices = 0x5eed'0000'0000'0000ull;
inline constexpr bool is_server_device(uint64_t unique_id) { return unique_id >> 32 == kServerDevices >> 32; }
inline constexpr uint64_t server_device(int32_t id) { return kServerDevices | static_cast<uint32_t>(id); }

}  // namespace ttmem
