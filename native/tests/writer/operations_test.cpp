// Whole operations of one process: what they do to live state and counters, alone and against each other.
#include "writer/operations.hpp"

#include <barrier>
#include <functional>
#include <thread>

#include "support/check.hpp"
#include "support/interleaving.hpp"
#include "support/journals.hpp"

namespace ttmem {
namespace {

const PoolCounters& dram_of(uint16_t target) { return the_writer.targets[target].pools[TTMEM_DRAM]; }

uint64_t used(uint16_t target) { return dram_of(target).used.load(); }
uint64_t freed(uint16_t target) { return dram_of(target).totals[kFreedBytes].load(); }
uint64_t count(uint16_t target) { return dram_of(target).allocs.load() - dram_of(target).frees.load(); }
const Header& header() { return *the_writer.header; }

/// What a signal handler would do, in the middle of whatever its thread was doing.
steps::Step signal_step = steps::nowhere;
bool has_come = false;

void report_at_step(steps::Step step) noexcept {
    if (step != signal_step || has_come) return;
    has_come = true;
    report_buffer(1, 900, 9);
    report_free(1, 2);
    ttmem_free(report_buffer(1, 901, 9));
}

/// Counters and live state say the same: nothing is under way.
void check_books(uint16_t target) {
    uint64_t bytes = 0, allocations = 0;
    const Alive alive = alive_in(the_writer);
    for (const auto& [key, size] : alive) {
        bytes += size;
        allocations += std::get<1>(key) != TTMEM_PROGRAM_BINARY || size != 0;
    }
    CHECK_EQUAL(used(target), bytes);
    CHECK_EQUAL(count(target), allocations);
    CHECK_EQUAL(taken_slots(the_writer), alive.size());
}

}  // namespace

TEST(what_is_freed_or_replaced_or_was_never_listed_is_counted_once) {
    track({64, 64});
    const uint16_t chip = open_chip(1);
    report_buffer(chip, 1, 100);
    report_buffer(chip, 1, 30);  // takes the place of the first
    CHECK_EQUAL(freed(chip), 100u);
    report_free(chip, 1);
    report_free(chip, 1);
    CHECK_EQUAL(freed(chip), 130u);
    for (uint64_t id = 0; id < 64; ++id) report_buffer(chip, 10 + id, 1);
    ttmem_free(report_buffer(chip, 99, 7));  // the table is full
    CHECK(header().untabled_frees.load() != 0);
    CHECK_EQUAL(freed(chip), 137u);
    CHECK_EQUAL(used(chip), 64u);
}

TEST(a_million_ever_new_ids_leave_the_index_empty) {
    track({1024, 256});
    const uint16_t chip = open_chip(1);
    constexpr uint64_t kLive = 100, kIds = 1u << 20;
    for (uint64_t id = 0; id < kIds; ++id) {
        report_buffer(chip, id * 0x9e37'79b9, 64);
        if (id >= kLive) report_free(chip, (id - kLive) * 0x9e37'79b9);
    }
    CHECK_EQUAL(taken_slots(the_writer), kLive);
    for (uint64_t id = kIds - kLive; id < kIds; ++id) report_free(chip, id * 0x9e37'79b9);
    CHECK_EQUAL(taken_slots(the_writer), 0u);
    CHECK(header().slab_high.load() <= kLive + 1);
    CHECK_EQUAL(header().unmatched_frees.load(), 0u);
    check_books(chip);
}

TEST(a_full_table_keeps_the_counters_right_and_says_so_for_good) {
    track({64, 16});
    const uint16_t chip = open_chip(1);
    for (uint64_t id = 0; id < 64; ++id) CHECK((report_buffer(chip, id, 100) & kUntabledHandle) == 0);
    const ttmem_handle by_handle = report_buffer(chip, 64, 1000);
    CHECK((by_handle & kUntabledHandle) != 0);
    report_buffer(chip, 65, 2000);
    report_buffer(chip, 66, 4000);
    CHECK_EQUAL(header().untabled_allocs.load(), 3u);
    CHECK_EQUAL(used(chip), 6400u + 7000);
    CHECK_EQUAL(count(chip), 67u);

    ttmem_free(by_handle);
    CHECK_EQUAL(used(chip), 6400u + 6000);
    ttmem_free_id(chip, TTMEM_BUFFER, 65, TTMEM_DRAM, 2000);
    CHECK_EQUAL(used(chip), 6400u + 4000);
    CHECK_EQUAL(header().unsized_frees.load(), 0u);
    ttmem_free_id(chip, TTMEM_BUFFER, 66, TTMEM_DRAM, 0);
    CHECK_EQUAL(header().unsized_frees.load(), 1u);
    CHECK_EQUAL(header().untabled_frees.load(), 3u);
    CHECK_EQUAL(header().unmatched_frees.load(), 0u);

    report_free(chip, 3);
    CHECK((report_buffer(chip, 3, 100) & kUntabledHandle) == 0);
    CHECK_EQUAL(header().untabled_allocs.load(), 3u);
}

TEST(a_wrong_size_at_a_full_table_never_takes_a_counter_below_zero) {
    track({64, 16});
    const uint16_t chip = open_chip(1);
    for (uint64_t id = 0; id < 65; ++id) report_buffer(chip, id, 1);
    ttmem_free_id(chip, TTMEM_BUFFER, 64, TTMEM_DRAM, uint64_t{1} << 40);
    CHECK_EQUAL(used(chip), 0u);
}

TEST(a_stale_handle_frees_nothing) {
    track({64, 16});
    const uint16_t chip = open_chip(1);
    const ttmem_handle first = report_buffer(chip, 1, 10);
    ttmem_free(first);
    const ttmem_handle second = report_buffer(chip, 2, 20);
    CHECK_EQUAL(Handle::unpack(first).entry, Handle::unpack(second).entry);  // the same entry, another life
    ttmem_free(first);
    ttmem_free(first ^ 63);             // an entry that was never used
    ttmem_free(0x7fff'ffff'ffff'ffff);  // no handle at all
    CHECK_EQUAL(header().unmatched_frees.load(), 3u);
    CHECK(alive_in(the_writer) == (Alive{{{chip, TTMEM_BUFFER, 2}, 20}}));
    check_books(chip);
}

TEST(a_zero_handle_is_not_even_counted) {
    track({64, 16});
    ttmem_free(0);
    CHECK_EQUAL(header().unmatched_frees.load(), 0u);
}

TEST(allocating_a_live_id_again_replaces_it) {
    track({64, 16});
    const uint16_t chip = open_chip(1);
    const ttmem_handle old = report_buffer(chip, 1, 10);
    report_buffer(chip, 1, 30);
    CHECK_EQUAL(header().replaced.load(), 1u);
    ttmem_free(old);
    CHECK_EQUAL(header().unmatched_frees.load(), 1u);
    CHECK(alive_in(the_writer) == (Alive{{{chip, TTMEM_BUFFER, 1}, 30}}));
    check_books(chip);
}

TEST(closing_a_target_ends_what_is_alive_there_and_nothing_else) {
    track({64, 16});
    const uint16_t chip = open_chip(1), other = open_chip(2);
    const ttmem_handle gone = report_buffer(chip, 1, 10);
    report_buffer(chip, 2, 20);
    report_buffer(other, 1, 40);
    ttmem_device_close(chip);
    CHECK(alive_in(the_writer) == (Alive{{{other, TTMEM_BUFFER, 1}, 40}}));
    CHECK_EQUAL(used(chip), 0u);
    ttmem_free(gone);
    report_free(chip, 2);
    CHECK_EQUAL(header().unmatched_frees.load(), 0u);
    report_free(chip, 2);
    CHECK_EQUAL(header().unmatched_frees.load(), 1u);
}

TEST(a_target_opened_again_as_what_it_was_takes_no_more_room) {
    track({64, 64});
    const uint16_t chips[] = {open_chip(1), open_chip(2)};
    const uint16_t mesh = ttmem_mesh_open(9, 1, 2, chips, 2);
    const uint64_t used = header().arena_used.load();
    for (int i = 0; i < 1000; ++i) {
        ttmem_mesh_close(mesh);
        CHECK_EQUAL(open_chip(1), chips[0]);
        CHECK_EQUAL(ttmem_mesh_open(9, 1, 2, chips, 2), mesh);
    }
    CHECK_EQUAL(header().arena_used.load(), used);
    CHECK_EQUAL(ttmem_mesh_open(9, 2, 1, chips, 2), mesh);  // of another shape: described again
    CHECK(header().arena_used.load() > used);
}

TEST(twins_settle_to_one_entry_and_counters_agree) {
    track({256, 16});
    const uint16_t chip = open_chip(1);
    constexpr int kTwins = 4, kRounds = 1500;
    const RandomYields yields(4);
    std::barrier meeting(kTwins);
    const auto work = [&](uint64_t self) {
        for (int round = 0; round < kRounds; ++round) {
            meeting.arrive_and_wait();
            report_buffer(chip, 7, self + 1);
            report_buffer(chip, 100 + self, 1000);  // an innocent neighbour, to be found by its own thread
            meeting.arrive_and_wait();
            report_free(chip, 100 + self);
            if (self == 0 && round % 16 == 0) {
                CHECK_EQUAL(alive_in(the_writer).count({chip, TTMEM_BUFFER, 7}), 1u);
                report_free(chip, 7);
            }
        }
    };
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < kTwins; ++i) threads.emplace_back(work, i);
    for (std::thread& thread : threads) thread.join();
    CHECK_EQUAL(alive_in(the_writer).size(), 1u);
    CHECK_EQUAL(header().unmatched_frees.load(), 0u);
    check_books(chip);
}

TEST(three_twins_that_look_at_each_other_settle_to_the_newest) {
    track({256, 16});
    const uint16_t chip = open_chip(1);
    const auto make = [chip](uint64_t bytes) { return [chip, bytes] { report_buffer(chip, 7, bytes); }; };
    ParkedThread oldest(steps::entry_committed, make(1));  // none of them can see another yet
    ParkedThread middle(steps::entry_committed, make(2));
    ParkedThread newest(steps::entry_committed, make(3));
    oldest.move_on(steps::entry_indexed);
    middle.move_on(steps::twin_found);  // has seen the oldest
    newest.move_on(steps::twin_found);  // has seen the oldest too
    oldest.finish();
    middle.finish();
    newest.finish();
    CHECK(alive_in(the_writer) == (Alive{{{chip, TTMEM_BUFFER, 7}, 3}}));
    check_books(chip);
}

// It is freed by another thread as soon as the index names it, and its entry serves the same key again: that life's slot
// is not the late thread's to empty.
TEST(a_life_in_the_entry_of_an_ended_one_of_its_key_stays_in_the_index) {
    track({256, 16});
    const uint16_t chip = open_chip(1);
    ParkedThread late(steps::entry_indexed, [chip] { report_buffer(chip, 7, 1); });
    report_free(chip, 7);
    report_buffer(chip, 7, 2);
    late.finish();
    check_books(chip);
    report_buffer(chip, 7, 3);
    CHECK(alive_in(the_writer) == (Alive{{{chip, TTMEM_BUFFER, 7}, 3}}));
    CHECK_EQUAL(header().replaced.load(), 1u);
    check_books(chip);
}

TEST(a_call_that_was_overtaken_does_not_end_the_newer_life) {
    track({256, 16});
    const uint16_t chip = open_chip(1);
    ParkedThread late(steps::sequence_taken, [chip] { report_buffer(chip, 7, 1); });
    report_buffer(chip, 7, 2);
    late.finish();
    CHECK(alive_in(the_writer) == (Alive{{{chip, TTMEM_BUFFER, 7}, 2}}));
    check_books(chip);
}

TEST(a_signal_handler_may_report_at_any_point_of_any_call) {
    const auto allocate = [] { report_buffer(1, 3, 30); };
    const auto allocate_again = [] { report_buffer(1, 1, 100); };
    const auto release = [] { report_free(1, 1); };
    const auto launch = [] { ttmem_launch(1, 5); };
    const auto commit = [] { ttmem_binary_status(1, 5, TTMEM_COMMITTED, 500); };
    const auto pass = [] { ttmem_phase_end(ttmem_phase_begin(ttmem_intern("p", 1))); };
    const std::vector<std::function<void()>> calls = {allocate, allocate_again, release, launch, commit, pass};
    int came_count = 0;
    for (const auto& call : calls)
        for (int step = steps::sequence_taken; step <= steps::twin_found; ++step) {
            track({64, 64});
            CHECK_EQUAL(open_chip(7), 1u);
            report_buffer(1, 1, 10);
            report_buffer(1, 2, 20);
            Follower follower(own_reader());
            CHECK(follower.scan() == ReadResult::ok);
            signal_step = static_cast<steps::Step>(step);
            has_come = false;
            steps::hook.store(report_at_step);
            call();
            steps::hook.store(nullptr);
            came_count += has_come;
            check_books(1);
            CHECK_EQUAL(header().unmatched_frees.load(), 0u);
            CHECK_EQUAL(alive_in(the_writer).count({1, TTMEM_BUFFER, 900}), has_come ? 1u : 0u);
            follower.catch_up();
            CHECK(alive_in(follower.book.table()) == alive_in(the_writer));
            ttmem_device_close(1);
            CHECK(alive_in(the_writer).empty());
        }
    CHECK(came_count > 30);
}

}  // namespace ttmem
