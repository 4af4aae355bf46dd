// One of the runtime's kernel ring managers (WorkerConfigBufferMgr): all lanes of one command queue and sub-device.
#pragma once

#include <atomic>

#include "hook/launches/lane.hpp"
#include "hook/programs/programs.hpp"

namespace ttmem::hook {

inline constexpr uint32_t kLanesMost = 8;
inline constexpr uint32_t kLaunchLanes = 2;  // behind those of the core types: multicast and unicast launch messages

inline constexpr uint32_t kSlotsMost = 64;  // of a lane of launch messages; those of core types count bytes

/// Lanes of launch messages begin at 0, where no core has its kernels.
inline bool is_of_messages(uint32_t base, uint32_t size) noexcept {
    return base == 0 && size != 0 && size <= kSlotsMost;
}

/// A ring as it was set up. The runtime has one for each queue and each of the eight parts a chip may be divided into, and
/// launches on few of them: only those get a Manager, which is large.
struct RingPlan {
    std::atomic<uint32_t> number;  // in the order of set-ups, from 1; 0: it has none yet
    uint32_t lane_count;
    bool is_begun;  // somebody launched on it
    bool is_lost;   // there was no room for its Manager
    LanePlace lanes[kLanesMost];
};

struct alignas(64) Manager {
    const void* self;
    const Mesh* mesh;    // null: not heard of in a launch yet
    const void* places;  // as the runtime answered last since a launch took its own; null: nobody asked
    uint32_t mesh_number;
    uint32_t lane_count;
    uint32_t core_lanes;   // one bit for each lane of a core type
    uint32_t held;         // one bit for each of them that somebody may be in
    uint32_t changed;      // since the last report: one bit for each lane
    bool is_in_use;        // something was taken of it since it was set up
    uint8_t stall;         // of the launch that is being placed
    uint64_t freed_below;  // launches below this count are finished, whether their lanes know it or not
    Lane lanes[kLanesMost];
    Stretch intact[kLanesMost][kIntactMost];
};

/// Whether the runtime has kernel rings: it sets them up before anything is launched, and for slow dispatch it has none. True
/// of a release that does not let us see it.
bool may_have_rings() noexcept;

}  // namespace ttmem::hook
