#include "ledger/book/recent_events.hpp"

namespace ttmem {
namespace {

constexpr size_t kRefusalsKept = 256;
constexpr size_t kRecentMost = 256;

}  // namespace

void RecentEvents::add(const OutOfMemory& refused) {
    if (out_of_memory_.size() == kRefusalsKept) out_of_memory_.pop_front();
    out_of_memory_.push_back(refused);
    if (refused.pool < kPools) ++refusals_[{refused.device, refused.pool}];
    keep({Type::out_of_memory, refused.device, refused.pool, refused.requested, refused.raw});
}

void RecentEvents::add(const Clash& clash) {
    if (clashes_.size() == kRefusalsKept) clashes_.pop_front();
    clashes_.push_back(clash);
    keep({Type::clashed, clash.device, TTMEM_CB, clash.program, clash.raw});
}

// Peaks of phases are read from the journal's own table; here is only when they began and ended.
void RecentEvents::add_phase(const RecordCopy& event) {
    if (event.sequence() <= phase_sequence_) return;
    phase_sequence_ = event.sequence();
    keep({event.type(), 0, TTMEM_POOL_UNKNOWN, PhaseRecord::unpack(event).name, event.time});
}

void RecentEvents::rename(uint32_t from, uint32_t to) {
    for (OutOfMemory& one : out_of_memory_)
        if (one.device == from) one.device = to;
    for (Clash& one : clashes_)
        if (one.device == from) one.device = to;
}

void RecentEvents::keep(const RecentEvent& event) {
    if (newest_.size() == kRecentMost) newest_.pop_front();
    newest_.push_back(event);
}

}  // namespace ttmem
