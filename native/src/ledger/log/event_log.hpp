// The event log: what happens, in the lines that people grep for, whichever way a program reports. Anyone who applies an event
// only drops 56 bytes into a ring; another thread makes sentences of them. If that one is slow, or its reader is, lines are
// dropped and counted, and nothing waits.
//
//   field               writer                        reader           order
//   is_on_, since_ns_   the owner, before it serves   any process          set once, before there are threads
//   lines_[...]         holder of the books           log's reader     published by written_
//   written_            holder of the books           log's reader     release / acquire
//   read_               log's reader                  holder           release / acquire
//   dropped_            holder of the books           any process          relaxed: a statistic
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace ttmem {

enum class LineKind : uint8_t {
    allocated,
    freed,
    unknown_free,
    cb_allocated,
    cb_freed,
    unknown_cb_free,
    kernel_loaded,
    kernel_shrunk,
    kernel_unloaded,
    unknown_kernel_unload,
    l1_peak,
    process_ended,
    removed_buffers,
    removed_cbs,
    removed_kernels,
    missed,
    damaged,
    unknown_type,
    unreadable,
    saturated,
};

struct LogLine {
    LineKind said;
    uint8_t type = 0;        // BufferType, or kind of kernel
    bool is_before = false;  // it was alive before the log could report its beginning
    uint32_t pid = 0;
    int32_t device = 0;
    uint64_t size = 0, id = 0;
    uint64_t total = 0;    // on the device, after it
    uint64_t holders = 0;  // left, of a buffer; buffers alive, of a peak
    uint64_t extra = 0;
};
static_assert(sizeof(LogLine) == 56);

class EventLog {
public:
    static constexpr size_t kLines = 65'536, kQuietLines = 256;

    /// Events become lines from now on. Once, before other threads use the log.
    void turn_on(size_t lines = kLines);
    bool is_on() const { return is_on_; }
    /// When it was turned on, by CLOCK_MONOTONIC.
    uint64_t since_ns() const { return since_ns_; }

    /// An event, if events are lines. By the holder of the books, as warn().
    void say(const LogLine& line) {
        if (is_on_) put(line);
    }
    /// What a process should know also if the log is off; there a few at a time, or one stranger could fill a disk.
    void warn(const LogLine& line) {
        if (may_warn()) put(line);
    }
    /// Whether a warning of several lines may be written now; those lines are then put() one by one.
    bool may_warn();
    void put(const LogLine& line);

    /// What was said since, as text; at most about `most` lines. From one thread only, as wait().
    std::string take(size_t most);
    /// The same, waited for if there is nothing yet.
    std::string wait(double seconds);
    uint64_t written() const { return written_.load(std::memory_order_relaxed); }
    /// Lines that found no room; one about missed events counts as the lines of all those events.
    uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

private:
    bool is_on_ = false;
    uint64_t since_ns_ = 0;
    uint64_t warned_ns_ = 0;  // the quiet log's allowance: a burst, then one a second
    std::vector<LogLine> lines_ = std::vector<LogLine>(kQuietLines);
    std::atomic<uint64_t> written_{0}, read_{0}, dropped_{0};
};

}  // namespace ttmem
