// What the messages of one process do to its book, by the rules of the allocation server protocol and without its faults.
//
// The process is part of every key, so equal addresses of two processes are two things. A buffer or circular buffer that is
// reported again with the same size and type has one holder more (a view at a given address reports again), and ends with
// its last; with another size or type it replaces what was there, which is a finding. A kernel that is loaded again keeps
// its place and takes the new size. What a free says about sizes is never believed: what was allocated is given back.
#pragma once

#include <cstdint>

#include "ledger/collector.hpp"
#include "server/message.hpp"

namespace ttmem::server {

class MessageRules {
public:
    explicit MessageRules(Collector& collector) : devices_(collector.devices()), log_(collector.log()) {}

    /// Applies heads that lie `stride` bytes apart until one asks something; returns how many were applied.
    size_t apply(Process& process, const char* first, size_t count, size_t stride, uint64_t now_ns);

private:
    struct Step;  // one message on its way
    void on_allocated(Step& step);
    void on_freed(Step& step);
    void on_kernel_loaded(Step& step);
    void on_kernel_unloaded(Step& step);
    void begin(Step& step);
    void note_unmatched(Step& step, LineKind said);
    void say(const Step& step, LineKind said, uint64_t size, uint64_t holders);
    bool is_said(const Step& step) const;
    uint16_t target_of(Process& process, int32_t id, uint64_t now_ns);

    Devices& devices_;
    EventLog& log_;
};

/// Holders of a life that was reported by socket.
inline uint64_t holders_of(const RecordCopy& life) { return SocketRecord::unpack(life).holders; }

/// Everything a chip's kernels take by the protocol's rule, whatever their type.
uint64_t kernel_bytes(const Device& device);

}  // namespace ttmem::server
