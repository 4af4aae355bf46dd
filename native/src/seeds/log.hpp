// The server's log: what happened, told in the lines that people grep for. Whoever applies messages only drops 64 bytes into
// a ring; another thread makes sentences of them. If that one is slow, or its reader is, lines are dropped and counted, and
// nothing waits.
//
//   field          writer            reader           order
//   lines_[...]    serving thread    log's reader     published by written_
//   written_       serving thread    log's reader     release / acquire
//   read_          log's reader      serving thread   release / acquire
//   dropped_       serving thread    anybody          relaxed: a statistic
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace ttmem::seeds {

enum class Said : uint8_t {
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
    unknown_type,
    unreadable,
    saturated,
};

struct LogLine {
    Said said;
    uint8_t type = 0;  // BufferType, or kind of kernel
    uint32_t pid = 0;
    int32_t device = 0;
    uint64_t size = 0, id = 0;
    uint64_t total = 0;    // on the device, after it
    uint64_t holders = 0;  // left, of a buffer; buffers alive, of a peak
    uint64_t extra = 0;
};
static_assert(sizeof(LogLine) == 56);

class Log {
public:
    static constexpr size_t kLines = 65'536, kQuietLines = 256;

    explicit Log(bool is_on, size_t lines = kLines) : is_on_(is_on), lines_(is_on ? lines : kQuietLines) {}

    bool is_on() const { return is_on_; }
    /// What happens, if that is to be told at all. From the serving thread only, as warn().
    void say(const LogLine& line) {
        if (is_on_) put(line);
    }
    /// What somebody should know also if the log is off; there a few at a time, or one stranger could fill a disk.
    void warn(const LogLine& line);
    /// What was said since, as text; at most about `most` lines. From one thread only.
    std::string take(size_t most);
    uint64_t written() const { return written_.load(std::memory_order_relaxed); }
    uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

private:
    void put(const LogLine& line);

    bool is_on_;
    uint64_t warned_ns_ = 0;  // the quiet log's allowance: a burst, then one a second
    std::vector<LogLine> lines_;
    std::atomic<uint64_t> written_{0}, read_{0}, dropped_{0};
};

}  // namespace ttmem::seeds
