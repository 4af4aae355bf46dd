// The stamp on every record: the processor's counter where the kernel trusts it, else CLOCK_MONOTONIC.
//
// The counter costs 10 ns and no system call, and time namespaces do not shift it. Readers turn raw stamps into
// nanoseconds with pairs of their own; a journal's single pair serves when its writer is gone.
#pragma once

#include <cstdint>
#include <ctime>

#include "journal/layout.hpp"

namespace ttmem {

/// TSC if it is constant, never stops and is the kernel's own clock source; CLOCK_MONOTONIC otherwise.
ClockKind trusted_clock() noexcept;

inline uint64_t nanoseconds(clockid_t clock) noexcept {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000ull + static_cast<uint64_t>(now.tv_nsec);
}

inline uint64_t raw_now(ClockKind kind) noexcept {
#if defined(__x86_64__)
    if (kind == kClockTsc) return __builtin_ia32_rdtsc();
#endif
    (void)kind;
    return nanoseconds(CLOCK_MONOTONIC);
}

struct ClockPair {
    uint64_t raw = 0, realtime_ns = 0, monotonic_ns = 0;
};

// Between two looks at the counter. A thread that was interrupted there tries again, and the closest of some tries counts.
inline ClockPair take_pair(ClockKind kind) noexcept {
    constexpr int kTries = 5;
    constexpr uint64_t kCloseEnough = 1000;  // ticks: less than a microsecond
    ClockPair best;
    uint64_t closest = ~uint64_t{0};
    for (int tries = 0; tries < kTries && closest > kCloseEnough; ++tries) {
        const uint64_t before = raw_now(kind);
        const uint64_t monotonic_ns = nanoseconds(CLOCK_MONOTONIC), realtime_ns = nanoseconds(CLOCK_REALTIME);
        const uint64_t apart = raw_now(kind) - before;
        if (apart >= closest) continue;
        closest = apart;
        best = {before + apart / 2, realtime_ns, monotonic_ns};
    }
    return best;
}

}  // namespace ttmem
