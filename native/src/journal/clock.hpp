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

}  // namespace ttmem
