// Raw stamps into wall-clock nanoseconds. The rate comes from pairs of our own taken a while apart; until there are
// two, from the journal's pair and now. Counters of one machine run at one rate, so ours serves for the dead too.
#pragma once

#include <cstdint>

#include "journal/clock.hpp"

namespace ttmem {

class Timebase {
public:
    /// Once a second is often enough.
    void refresh() {
        const ClockPair now = take_pair(kClockTsc);
        if (first_.raw == 0) first_ = now;
        if (now.monotonic_ns - first_.monotonic_ns > kLongEnoughNs) ns_per_tick_ = rate_between(first_, now);
        last_ = now;
    }

    /// The wall-clock time of a stamp of the journal whose header holds `pair`; 0 stays 0 (never).
    uint64_t realtime(uint64_t raw, const Identity& journal) const {
        if (raw == 0) return 0;
        double rate = 1.0;
        ClockPair now = last_;
        if (journal.clock_kind == kClockTsc) {
            rate = ns_per_tick_;
            if (rate == 0.0) rate = rate_between({journal.clock_raw, 0, journal.clock_monotonic_ns}, last_);
        } else {
            now.raw = last_.monotonic_ns;
        }
        const double behind = (static_cast<double>(now.raw) - static_cast<double>(raw)) * rate;
        const double when = static_cast<double>(now.realtime_ns) - behind;
        return when <= 0.0 || when > 9e18 ? 0 : static_cast<uint64_t>(when);
    }

    static uint64_t whole(double value) {
        constexpr double kMost = 9e18;  // what damaged stamps say may be beyond all numbers
        return static_cast<uint64_t>(static_cast<int64_t>(value > kMost ? kMost : value < -kMost ? -kMost : value));
    }

    /// A moment of the journal's clock in CLOCK_MONOTONIC, and how fast it goes.
    struct Line {
        uint64_t raw = 0, monotonic_ns = 0;
        double ns_per_raw = 1.0;

        uint64_t monotonic(uint64_t stamp) const {
            const auto behind = static_cast<double>(static_cast<int64_t>(stamp - raw));
            return monotonic_ns + whole(behind * ns_per_raw);
        }
        /// The stamp of a moment.
        uint64_t stamp(uint64_t at_ns) const {
            if (at_ns == ~uint64_t{0} || ns_per_raw <= 0.0) return at_ns;
            const auto behind = static_cast<double>(static_cast<int64_t>(at_ns - monotonic_ns));
            return raw + whole(behind / ns_per_raw);
        }
    };
    Line line(const Identity& journal) const {
        if (journal.clock_kind != kClockTsc) {
            const uint64_t now_ns = nanoseconds(CLOCK_MONOTONIC);
            return {now_ns, now_ns, 1.0};
        }
        const ClockPair now = take_pair(kClockTsc);
        double rate = rate_between(first_, now);
        if (now.monotonic_ns - first_.monotonic_ns < kLongEnoughNs)
            rate = rate_between({journal.clock_raw, 0, journal.clock_monotonic_ns}, now);
        return {now.raw, now.monotonic_ns, rate};
    }

private:
    static constexpr uint64_t kLongEnoughNs = 50'000'000;

    /// 0: the first did not come before the second.
    static double rate_between(const ClockPair& first, const ClockPair& second) {
        if (second.raw <= first.raw || second.monotonic_ns <= first.monotonic_ns) return 0.0;
        return static_cast<double>(second.monotonic_ns - first.monotonic_ns) /
               static_cast<double>(second.raw - first.raw);
    }

    ClockPair first_, last_;
    double ns_per_tick_ = 0.0;
};

}  // namespace ttmem
