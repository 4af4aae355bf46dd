#include "ledger/log/event_log.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <ctime>

#include "journal/clock.hpp"
#include "ttmem/client.h"

namespace ttmem {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr uint64_t kWarningBurst = 20, kWarningEveryNs = 1'000'000'000;
constexpr size_t kAtOnce = 1024;
constexpr uint64_t kNapNs = 1'000'000, kNapMostNs = 16'000'000;

double megabytes(uint64_t bytes) { return static_cast<double>(bytes) / kMiB; }

const char* type_word(uint8_t type) {
    constexpr const char* kWords[] = {"DRAM", "L1", "SYSTEM_MEMORY", "L1_SMALL", "TRACE"};
    return type < sizeof kWords / sizeof *kWords ? kWords[type] : "UNKNOWN";
}

const char* kernel_word(uint8_t kind) {
    switch (kind) {
        case TTMEM_KERNEL_APPLICATION:
            return "Application";
        case TTMEM_KERNEL_FABRIC:
            return "Fabric";
        case TTMEM_KERNEL_DISPATCH:
            return "Dispatch";
        default:
            return "Unknown";
    }
}

template <typename... Figures>
void print(std::string& text, const char* form, Figures... figures) {
    char line[320];
    const int length = std::snprintf(line, sizeof line, form, figures...);
    if (length > 0) text.append(line, std::min<size_t>(static_cast<size_t>(length), sizeof line - 1));
}

void tell_buffer(std::string& text, const LogLine& line) {
    if (line.said == LineKind::allocated) {
        char holders[48] = "";
        if (line.holders > 1) std::snprintf(holders, sizeof holders, ", ref_count=%" PRIu64, line.holders);
        print(text,
              "✓ [PID %" PRIu32 "] Allocated %" PRIu64 " bytes of %s on device %" PRId32 " (buffer_id=0x%" PRIx64 "%s)",
              line.pid, line.size, type_word(line.type), line.device, line.id, holders);
    } else if (line.said == LineKind::unknown_free) {
        print(text,
              "⚠ [PID %" PRIu32 "] Deallocation for unknown buffer 0x%" PRIx64 " on device %" PRId32
              " (freed already, or allocated before it was tracked)",
              line.pid, line.id, line.device);
    } else if (line.holders == 0) {
        print(text, "✗ [PID %" PRIu32 "] Freed buffer 0x%" PRIx64 " on device %" PRId32 " (%" PRIu64 " bytes, FINAL)",
              line.pid, line.id, line.device, line.size);
    } else {
        print(text,
              "✗ [PID %" PRIu32 "] Freed buffer 0x%" PRIx64 " on device %" PRId32 " (%" PRIu64
              " bytes, ref_count=%" PRIu64 " remaining)",
              line.pid, line.id, line.device, line.size, line.holders);
    }
}

void write_moved(std::string& text, const LogLine& line) {
    const double moved = megabytes(line.size), total = megabytes(line.total);
    const char* kernel = kernel_word(line.type);
    switch (line.said) {
        case LineKind::cb_allocated:
            return print(text, "✓ [CB_ALLOC] Device %" PRId32 ": +%g MB (Total: %g MB)", line.device, moved, total);
        case LineKind::cb_freed:
            return print(text, "✗ [CB_FREE] Device %" PRId32 ": -%g MB (Total: %g MB)", line.device, moved, total);
        case LineKind::kernel_loaded:
            return print(text, "✓ [KERNEL_LOAD] %s kernel on Device %" PRId32 ": +%g MB (Total: %g MB)", kernel,
                         line.device, moved, total);
        case LineKind::kernel_shrunk:
            return print(text, "✓ [KERNEL_LOAD] %s kernel on Device %" PRId32 ": -%g MB (Total: %g MB)", kernel,
                         line.device, moved, total);
        case LineKind::kernel_unloaded:
            return print(text, "✗ [KERNEL_UNLOAD] %s kernel on Device %" PRId32 ": -%g MB (Total: %g MB)", kernel,
                         line.device, moved, total);
        case LineKind::unknown_cb_free:
            return print(text,
                         "⚠ [CB_FREE] Device %" PRId32 ": no circular buffer 0x%" PRIx64 " of PID %" PRIu32 " is alive",
                         line.device, line.id, line.pid);
        default:
            return print(text,
                         "⚠ [KERNEL_UNLOAD] Device %" PRId32 ": no kernel 0x%" PRIx64 " of PID %" PRIu32 " is loaded",
                         line.device, line.id, line.pid);
    }
}

void write_other(std::string& text, const LogLine& line) {
    switch (line.said) {
        case LineKind::l1_peak:
            return print(text, "[%" PRIu64 "ms] L1 Peak on device %" PRId32 ": %.0f MB (%" PRIu64 " buffers)",
                         line.extra, line.device, megabytes(line.size), line.holders);
        case LineKind::process_ended:
            return print(text, "⚠ PID %" PRIu32 " is dead, removing its buffers...", line.pid);
        case LineKind::removed_buffers:
            return print(text, "   ✓ Removed %" PRIu64 " buffers (%g MB) from PID %" PRIu32, line.holders,
                         megabytes(line.size), line.pid);
        case LineKind::removed_cbs:
            return print(text, "   ✓ Removed %" PRIu64 " CBs (%g MB) from PID %" PRIu32, line.holders,
                         megabytes(line.size), line.pid);
        case LineKind::removed_kernels:
            return print(text, "   ✓ Removed %" PRIu64 " kernels (%g MB) from PID %" PRIu32, line.holders,
                         megabytes(line.size), line.pid);
        case LineKind::missed:
            return print(text,
                         "⚠ [PID %" PRIu32 "] Missed %" PRIu64
                         " events: its journal was overwritten faster than it could be read",
                         line.pid, line.size);
        case LineKind::damaged:
            return print(text,
                         "⚠ [PID %" PRIu32 "] Its journal cannot be read any more: no further event of it is logged",
                         line.pid);
        case LineKind::unknown_type:
            return print(text, "⚠ [PID %" PRIu32 "] Unknown message type %" PRIu64, line.pid, line.id);
        case LineKind::saturated:
            return print(text,
                         "⚠ Device %" PRId32 ": a DRAM channel of %" PRIu64
                         " bytes does not fit the 32 bits of the reply; it says 4294967295",
                         line.device, line.size);
        default:
            return print(text,
                         "⚠ [PID %" PRIu32 "] Connection closed: after %" PRIu64
                         " bytes what came was no message of 72, 112, 128 or 144 bytes (types 1 to 12)",
                         line.pid, line.size);
    }
}

}  // namespace

void EventLog::turn_on(size_t lines) {
    if (is_on_) return;
    lines_.resize(lines);
    since_ns_ = nanoseconds(CLOCK_MONOTONIC);
    is_on_ = true;
}

bool EventLog::may_warn() {
    if (is_on_) return true;
    const uint64_t now_ns = nanoseconds(CLOCK_MONOTONIC);
    warned_ns_ = std::max(warned_ns_, now_ns - std::min(now_ns, kWarningBurst * kWarningEveryNs));
    if (warned_ns_ + kWarningEveryNs > now_ns) return false;
    warned_ns_ += kWarningEveryNs;
    return true;
}

void EventLog::put(const LogLine& line) {
    const uint64_t at = written_.load(std::memory_order_relaxed);
    if (at - read_.load(std::memory_order_acquire) >= lines_.size()) {
        const uint64_t events = line.said == LineKind::missed ? line.size : 1;  // else their number would be lost, too
        dropped_.fetch_add(events, std::memory_order_relaxed);
        return;
    }
    lines_[at % lines_.size()] = line;
    written_.store(at + 1, std::memory_order_release);
}

std::string EventLog::take(size_t most) {
    std::string text;
    uint64_t at = read_.load(std::memory_order_relaxed);
    const uint64_t end = std::min(written_.load(std::memory_order_acquire), at + most);
    for (; at < end; ++at) {
        const LogLine& line = lines_[at % lines_.size()];
        if (line.said <= LineKind::unknown_free)
            tell_buffer(text, line);
        else if (line.said <= LineKind::unknown_kernel_unload)
            write_moved(text, line);
        else
            write_other(text, line);
        text += line.is_before ? " (before)\n" : "\n";
    }
    read_.store(at, std::memory_order_release);
    return text;
}

std::string EventLog::wait(double seconds) {
    const uint64_t until = nanoseconds(CLOCK_MONOTONIC) + static_cast<uint64_t>(seconds * 1e9);
    for (uint64_t nap_ns = kNapNs; true;
         nap_ns = std::min(nap_ns * 2, kNapMostNs)) {  // no process wakes us: that would cost
        std::string text = take(kAtOnce);
        if (!text.empty() || nanoseconds(CLOCK_MONOTONIC) >= until) return text;
        const timespec nap{0, static_cast<long>(nap_ns)};
        nanosleep(&nap, nullptr);
    }
}

}  // namespace ttmem
