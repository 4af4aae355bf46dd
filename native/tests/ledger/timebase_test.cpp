// Raw stamps into wall-clock time, for the living, the dead and the damaged.
#include "ledger/book/timebase.hpp"

#include <time.h>

#include "support/check.hpp"

namespace ttmem {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

Identity journal_of_now(ClockKind kind) {
    Identity journal{};
    const ClockPair pair = take_pair(kind);
    journal.clock_kind = kind;
    journal.clock_raw = pair.raw;
    journal.clock_monotonic_ns = pair.monotonic_ns;
    journal.clock_realtime_ns = pair.realtime_ns;
    return journal;
}

uint64_t distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

/// Lets the clocks run on: the rate needs two looks that lie apart.
void let_time_pass(uint64_t ns) {
    const uint64_t until = nanoseconds(CLOCK_MONOTONIC) + ns;
    while (nanoseconds(CLOCK_MONOTONIC) < until) {
    }
}

}  // namespace

TEST(a_stamp_of_now_is_now) {
    for (const ClockKind kind : {kClockMonotonic, kClockTsc}) {
        const Identity journal = journal_of_now(kind);
        Timebase timebase;
        timebase.refresh();
        let_time_pass(60'000'000);
        timebase.refresh();
        const ClockPair now = take_pair(kind);
        CHECK(distance(timebase.realtime(now.raw, journal), now.realtime_ns) < 5'000'000);
        CHECK(distance(timebase.realtime(journal.clock_raw, journal), journal.clock_realtime_ns) < 5'000'000);
    }
}

TEST(the_first_look_already_knows_the_rate_from_the_journals_own_pair) {
    const Identity journal = journal_of_now(kClockTsc);
    let_time_pass(60'000'000);
    Timebase timebase;
    timebase.refresh();
    CHECK(distance(timebase.realtime(journal.clock_raw, journal), journal.clock_realtime_ns) < 5'000'000);
}

TEST(a_stamp_of_never_stays_never) {
    Timebase timebase;
    timebase.refresh();
    CHECK_EQUAL(timebase.realtime(0, journal_of_now(kClockTsc)), 0u);
}

TEST(later_stamps_are_later) {
    const Identity journal = journal_of_now(kClockMonotonic);
    Timebase timebase;
    timebase.refresh();
    const uint64_t first = timebase.realtime(journal.clock_raw, journal);
    CHECK(distance(timebase.realtime(journal.clock_raw + kSecond, journal), first + kSecond) < 1000);
}

TEST(impossible_stamps_and_pairs_give_some_time_or_none_but_no_harm) {
    Timebase timebase;
    timebase.refresh();
    constexpr uint64_t kWords[] = {0, 1, 1ull << 32, 1ull << 62, 1ull << 63, ~uint64_t{0}};
    for (const uint32_t kind : {0u, 1u, 7u})
        for (const uint64_t raw : kWords)
            for (const uint64_t monotonic : kWords)
                for (const uint64_t stamp : kWords) {
                    Identity journal{};
                    journal.clock_kind = kind;
                    journal.clock_raw = raw;
                    journal.clock_monotonic_ns = monotonic;
                    CHECK(timebase.realtime(stamp, journal) <= 9'000'000'000'000'000'000ull);
                }
}

TEST(stamps_become_moments_and_moments_stamps) {
    const Timebase::Line line{.raw = 1'000, .monotonic_ns = 5'000, .ns_per_raw = 0.5};
    CHECK_EQUAL(line.monotonic(2'000), 5'500u);
    CHECK_EQUAL(line.monotonic(500), 4'750u);
    CHECK_EQUAL(line.stamp(5'500), 2'000u);
    CHECK_EQUAL(line.stamp(4'750), 500u);
    CHECK_EQUAL(line.stamp(~uint64_t{0}), ~uint64_t{0});
    constexpr Timebase::Line kSame{};
    CHECK_EQUAL(kSame.monotonic(7), 7u);
    CHECK_EQUAL(kSame.stamp(7), 7u);
}

TEST(a_stamp_taken_before_another_clocks_is_before_it) {
    const Identity counter = journal_of_now(kClockTsc), monotonic = journal_of_now(kClockMonotonic);
    Timebase timebase;
    timebase.refresh();
    let_time_pass(60'000'000);
    const uint64_t before = raw_now(kClockTsc);
    let_time_pass(10'000'000);
    const uint64_t behind = raw_now(kClockMonotonic);
    CHECK(timebase.line(counter).monotonic(before) < timebase.line(monotonic).monotonic(behind));
}

}  // namespace ttmem
