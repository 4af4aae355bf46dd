// Where memory of a trace or a buffer lies, and whether two of them can meet.
//
// DRAM and the trace region share one line of addresses in each bank; L1, L1_SMALL and circular buffers one in each core.
// Memory in lockstep lies at the same address on all cores of all chips of its target, memory by core on some cores only.
#pragma once

#include <cstdint>

#include "writer/writer.hpp"

namespace ttmem {

enum class TraceMemory : uint8_t { dram = 0, l1 = 1 };
inline constexpr uint32_t kMemories = 2;

struct TracePlace {
    uint16_t target;
    uint32_t core_set;  // 0: all cores
    TraceMemory memory;
    bool is_circular;
    bool operator==(const TracePlace&) const noexcept = default;
};

/// What one living thing takes of each bank or core.
struct Extent {
    TracePlace place;
    uint64_t begin, end;
    bool is_bound;  // it is unknown how much of it lies in one bank: `end` is an upper bound
};

/// False of what lies at no known address, is a view of something else, or is no memory of a device's own.
bool extent_of(const Writer& writer, const RecordCopy& words, Extent& extent) noexcept;

/// Whether all chips of a target are chips of the other.
bool is_within(const Writer& writer, uint16_t inner, uint16_t outer) noexcept;

/// Whether they have a core or bank in common, whatever the addresses.
bool may_meet(const Writer& writer, const TracePlace& one, const TracePlace& other) noexcept;

}  // namespace ttmem
