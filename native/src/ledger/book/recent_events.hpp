// What happened in a process: refusals, clashes, phases. The newest few of each, and how many refusals there were.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "journal/layout.hpp"

namespace ttmem {

struct OutOfMemory {
    uint32_t device;
    uint8_t pool;
    uint64_t requested, free, largest, raw;
};

struct Clash {
    uint32_t device;
    uint64_t program, cb_end, buffer, raw;
};

/// A refusal, or the begin or end of a phase.
struct RecentEvent {
    Type what;
    uint32_t device;  // of a refusal
    uint8_t pool;     // of a refusal
    uint64_t figure;  // bytes refused; the program that clashed; the name of a phase
    uint64_t raw;
};

class RecentEvents {
public:
    void add(const OutOfMemory& refused);
    void add(const Clash& clash);
    /// A phase began or ended: once, however often it is read.
    void add_phase(const RecordCopy& event);
    /// A device goes by another number from now on.
    void rename(uint32_t from, uint32_t to);

    const std::deque<OutOfMemory>& out_of_memory() const { return out_of_memory_; }
    const std::deque<Clash>& clashes() const { return clashes_; }
    const std::map<std::pair<uint32_t, uint8_t>, uint64_t>& refusals() const { return refusals_; }
    std::deque<RecentEvent> take() { return std::exchange(newest_, {}); }

private:
    void keep(const RecentEvent& event);

    std::deque<OutOfMemory> out_of_memory_;
    std::deque<Clash> clashes_;
    std::map<std::pair<uint32_t, uint8_t>, uint64_t> refusals_;  // by device and pool
    std::deque<RecentEvent> newest_;
    uint64_t phase_sequence_ = 0;  // of the last phase that began or ended
};

}  // namespace ttmem
