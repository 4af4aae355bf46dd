// What processes reported by socket, as bytes: they cannot be asked again, so a server that starts over takes it from here.
//
//   ┌──────┬─────────┬────────┬─────────┬─────────┬────────┐
//   │ head │ process │ chips  │ entries │ process │ ...    │
//   └──────┴─────────┴────────┴─────────┴─────────┴────────┘
//    magic, boot,     logical  64 bytes
//    checksum         numbers  each
//
// Only processes that still live, by pid and start time of the same boot, are taken back; their figures are marked, since
// it is unknown what they did meanwhile. The file is data: every number in it is checked before it is used.
#pragma once

#include <cstdint>
#include <string>

#include "ledger/collector.hpp"

namespace ttmem {

struct CheckpointHead {
    char magic[8];
    uint32_t version, process_count;
    uint64_t boot_id[2];
    uint64_t time_ns;
    uint64_t body_bytes;
    uint64_t checksum;  // of all the rest, this head included
};
static_assert(sizeof(CheckpointHead) == 56);

struct CheckpointProcess {
    uint32_t pid, uid;
    uint64_t start_ticks, started_ns, sequence, event_count;
    uint32_t claimed_pid, chip_count;
    uint64_t entry_count;
    char command[256];
};
static_assert(sizeof(CheckpointProcess) == 312);

/// Remembers what it wrote last.
class Checkpoint {
public:
    explicit Checkpoint(Collector& collector) : collector_(collector) {}
    /// Empty when nothing has changed since the last time. From one thread at a time.
    const std::string& take();
    /// How many processes were taken back; `error` says why none could be.
    uint32_t restore(const std::string& bytes, std::string& error);

private:
    Collector& collector_;
    uint64_t last_ = 0;
    std::string bytes_;
};

}  // namespace ttmem
