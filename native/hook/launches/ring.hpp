// One of the runtime's kernel ring managers (WorkerConfigBufferMgr): all lanes of one command queue and sub-device.
#pragma once

#include "hook/launches/lane.hpp"
#include "hook/programs/programs.hpp"

namespace ttmem::hook {

inline constexpr uint32_t kLanesMost = 8;
inline constexpr uint32_t kLaunchLanes = 2;  // behind those of the core types: multicast and unicast launch messages

inline constexpr uint32_t kSlotsMost = 64;  // of a lane of launch messages; those of core types count bytes

struct Manager {
    const void* self;
    const Mesh* mesh;  // null: not heard of in a launch yet
    uint32_t mesh_number;
    uint32_t lane_count;
    bool is_in_use;             // something was asked of it since it was set up
    bool has_reserved;          // since the last launch took its places
    uint8_t stall;              // of the launch that is being placed
    const void* places;         // the runtime's answer to the last request, good until the next one
    uint32_t changed;           // since the last report: one bit for each lane
    uint64_t told[kLanesMost];  // live and retired bytes as reported last
    Lane lanes[kLanesMost];
    Stretch intact[kLanesMost][kIntactMost];
};

}  // namespace ttmem::hook
