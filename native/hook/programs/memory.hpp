// Everything this library remembers, in one piece (tables.hpp says how).
#pragma once

#include "hook/launches/operations.hpp"
#include "hook/launches/ring.hpp"
#include "hook/launches/workloads.hpp"
#include "hook/programs/programs.hpp"
#include "hook/programs/tables.hpp"
#include "hook/programs/views.hpp"

namespace ttmem::hook {

inline constexpr uint32_t kHoldingMarks = 4096;
inline constexpr uint32_t kHandles = 1u << 15;
inline constexpr uint32_t kPlans = 1u << 13;

struct Memory {
    Table<Program, 1u << 15> programs;                   // by key_of_program
    Table<Workload, 1u << 15> workloads;                 // by the runtime's MeshWorkloadImpl
    Table<Seen, 1u << 15> views;                         // by the runtime's CircularBufferImpl
    Table<Holding, 1u << 15> holdings;                   // by buffer
    std::atomic<uint32_t> holding_marks[kHoldingMarks];  // how many buffers there have this remainder: mostly none
    Handles<kHandles> handles;                           // by buffer
    Table<Trace, 1u << 10> traces;                       // by mesh and the runtime's number
    Table<RingPlan, kPlans> plans;                       // by the runtime's WorkerConfigBufferMgr
    Table<Manager, 1u << 9> managers;                    // the same, of those that were launched on
    Table<Hollow, 1u << 13> hollow;                      // by the runtime's Kernel
    Cells cells;
    std::atomic<bool> has_lost_hollow;  // more than there is room for: then nobody is asked for sizes
    std::atomic<uint32_t> waiting;      // programs that were compiled before their mesh was open
};

}  // namespace ttmem::hook
