// The event log: lines in the order of events, lines that found no room, and what a quiet log lets through.
#include "ledger/log/event_log.hpp"

#include "support/check.hpp"
#include "ttmem/client.h"

namespace ttmem {
namespace {

LogLine a_kernel_line(uint64_t bytes) {
    LogLine line{LineKind::kernel_loaded};
    line.type = TTMEM_KERNEL_FABRIC;
    line.size = line.total = bytes;
    return line;
}

}  // namespace

TEST(what_was_alive_before_the_log_is_marked) {
    EventLog log;
    log.turn_on();
    LogLine line = a_kernel_line(917'504);
    log.say(line);
    line.is_before = true;
    log.say(line);
    const std::string said = "✓ [KERNEL_LOAD] Fabric kernel on Device 0: +0.875 MB (Total: 0.875 MB)";
    CHECK_EQUAL(log.take(10), said + "\n" + said + " (before)\n");
}

TEST(lines_that_find_no_room_are_counted_and_the_oldest_stay) {
    EventLog log;
    log.turn_on(4);
    for (uint64_t i = 1; i <= 6; ++i) log.say(a_kernel_line(i << 20));
    const std::string text = log.take(10);
    CHECK_EQUAL(log.dropped(), 2u);
    CHECK(text.find("+4 MB") != std::string::npos);
    CHECK(text.find("+5 MB") == std::string::npos);
    log.say(a_kernel_line(7 << 20));
    CHECK(log.take(10).find("+7 MB") != std::string::npos);
}

TEST(missed_events_of_which_there_is_no_room_to_tell_are_counted_one_by_one) {
    EventLog log;
    log.turn_on(1);
    LogLine missed{LineKind::missed};
    missed.size = 100;
    log.say(missed);
    CHECK_EQUAL(log.dropped(), 0u);
    log.say(missed);
    log.say(a_kernel_line(1));
    CHECK_EQUAL(log.dropped(), 101u);
}

TEST(a_quiet_log_has_no_events_and_few_warnings) {
    EventLog log;
    LogLine line{LineKind::damaged};
    for (int i = 0; i < 1000; ++i) {
        log.say(a_kernel_line(1));
        log.warn(line);
    }
    CHECK(log.written() >= 20u);
    CHECK(log.written() <= 40u);
    CHECK(log.take(1000).find("KERNEL_LOAD") == std::string::npos);
}

}  // namespace ttmem
