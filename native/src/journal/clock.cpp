#include "journal/clock.hpp"

#include <cstring>

#include "journal/identity.hpp"

namespace ttmem {

ClockKind trusted_clock() noexcept {
#if defined(__x86_64__)
    char text[32];
    const long length =
        read_small_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", text, sizeof text);
    if (length >= 3 && std::memcmp(text, "tsc", 3) == 0) return kClockTsc;
#endif
    return kClockMonotonic;
}

}  // namespace ttmem
