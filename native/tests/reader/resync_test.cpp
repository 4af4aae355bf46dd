// The way back to exactness: scans while writers are under way, with calls parked at every point inside.
#include <thread>

#include "support/check.hpp"
#include "support/interleaving.hpp"
#include "support/journals.hpp"

namespace ttmem {
namespace {

constexpr Sizes kShortRing{256, 16};
constexpr steps::Step kInsideAllocate[] = {
    steps::sequence_taken, steps::entry_half_written, steps::entry_committed, steps::entry_indexed,
    steps::charged,        steps::slot_seen,          steps::slot_claimed,    steps::slot_half_written};
constexpr steps::Step kInsideFree[] = {steps::sequence_taken, steps::life_ended,   steps::entry_given,
                                       steps::slot_seen,      steps::slot_claimed, steps::slot_half_written};

uint16_t chip_with(uint64_t count) {
    const uint16_t chip = open_chip(1);
    for (uint64_t id = 0; id < count; ++id) report_buffer(chip, id, 100 + id);
    return chip;
}

void lap(uint16_t chip, uint64_t records) {
    for (uint64_t i = 0; i < records / 2; ++i) {
        report_buffer(chip, 1'000'000, 1);
        report_free(chip, 1'000'000);
    }
}

/// The ledger says what the live state says, and the counters agree with both.
void check_exact(Follower& follower) {
    follower.catch_up();
    CHECK(alive_in(follower.book.table()) == alive_in(the_writer));
    std::vector<TargetCounters> targets;
    CHECK(follower.reader->targets(targets, kTargets));
    CHECK_EQUAL(follower.book.difference(targets), std::string());
}

}  // namespace

TEST(a_late_reader_finds_everything_that_is_alive) {
    track(kShortRing);
    const uint16_t chip = chip_with(100);
    for (uint64_t id = 0; id < 50; ++id) report_free(chip, id * 2);
    Follower late(own_reader());
    CHECK(late.scan() == ReadResult::ok);
    CHECK_EQUAL(late.book.table().size(), 50u);
    check_exact(late);
    CHECK_EQUAL(late.scan_count, 1);
}

TEST(a_lapped_reader_is_exact_again) {
    track(kShortRing);
    const uint16_t chip = chip_with(10);
    Follower follower(own_reader());
    for (uint64_t round = 0; round < 20; ++round) {
        report_buffer(chip, 100 + round, 7);
        lap(chip, 16 + round * 2);
        check_exact(follower);
    }
    CHECK(follower.scan_count > 10);
}

TEST(an_allocation_parked_anywhere_is_counted_once_when_it_returns) {
    for (const steps::Step step : kInsideAllocate)
        for (const uint64_t records : {0u, 10u, 40u}) {  // nothing, some of a lap, several laps meanwhile
            track(kShortRing);
            const uint16_t chip = chip_with(5);
            Follower follower(own_reader());
            follower.catch_up();
            ParkedThread parked(step, [chip] { report_buffer(chip, 500, 5000); });
            lap(chip, records);
            follower.catch_up();
            Follower late(own_reader());  // comes while the call is under way
            CHECK(late.scan() == ReadResult::ok);
            late.catch_up();
            for (Follower* one : {&follower, &late})
                for (uint64_t id = 0; id < 5; ++id) CHECK(one->book.table().find({id, chip, TTMEM_BUFFER}) != nullptr);
            parked.finish();
            CHECK_EQUAL(alive_in(the_writer).count({chip, TTMEM_BUFFER, 500}), 1u);
            check_exact(follower);
            check_exact(late);
            ttmem_device_close(chip);
        }
}

TEST(a_free_parked_anywhere_is_counted_once_when_it_returns) {
    for (const steps::Step step : kInsideFree)
        for (const bool is_by_handle : {false, true})
            for (const uint64_t records : {0u, 10u, 40u}) {
                track(kShortRing);
                const uint16_t chip = chip_with(5);
                const ttmem_handle handle = report_buffer(chip, 500, 5000);
                Follower follower(own_reader());
                follower.catch_up();
                ParkedThread parked(step, [=] { is_by_handle ? ttmem_free(handle) : report_free(chip, 500); });
                lap(chip, records);
                follower.catch_up();
                Follower late(own_reader());
                CHECK(late.scan() == ReadResult::ok);
                late.catch_up();
                parked.finish();
                CHECK_EQUAL(alive_in(the_writer).count({chip, TTMEM_BUFFER, 500}), 0u);
                check_exact(follower);
                check_exact(late);
                ttmem_device_close(chip);
            }
}

TEST(what_a_parked_call_made_may_be_freed_as_soon_as_it_returns) {
    // The reader has scanned while the call was between live state and ring: it knows the entry and waits for the record.
    track({256, 256});
    const uint16_t chip = chip_with(5);
    ParkedThread parked(steps::charged, [chip] { report_buffer(chip, 500, 5000); });
    Follower follower(own_reader());
    CHECK(follower.scan() == ReadResult::ok);
    CHECK(follower.book.table().find({500, chip, TTMEM_BUFFER}) != nullptr);
    CHECK_EQUAL(follower.reader->pending().size(), 1u);
    parked.finish();
    report_free(chip, 500);
    check_exact(follower);
    CHECK(follower.book.table().find({500, chip, TTMEM_BUFFER}) == nullptr);
}

TEST(a_stopped_thread_does_not_hold_up_the_others) {
    track(kShortRing);
    const uint16_t chip = chip_with(5);
    ParkedThread parked(steps::sequence_taken, [chip] { report_buffer(chip, 500, 5000); });
    Follower follower(own_reader());
    for (uint64_t round = 0; round < 100; ++round) {
        report_buffer(chip, 1000 + round, 1);
        follower.catch_up();
        CHECK(follower.book.table().find({1000 + round, chip, TTMEM_BUFFER}) != nullptr);
    }
}

TEST(several_parked_calls_come_back_in_any_order) {
    track({256, 64});
    const uint16_t chip = chip_with(5);
    Follower follower(own_reader());
    std::vector<std::unique_ptr<ParkedThread>> parked;
    for (uint64_t i = 0; i < 8; ++i)
        parked.push_back(
            std::make_unique<ParkedThread>(kInsideAllocate[i], [=] { report_buffer(chip, 500 + i, i + 1); }));
    follower.catch_up();
    CHECK_EQUAL(follower.reader->pending().size(), 8u);
    for (const size_t i : {5u, 0u, 7u, 2u, 1u, 6u, 3u, 4u}) {
        parked[i]->finish();
        follower.catch_up();
        CHECK(follower.book.table().find({500 + i, chip, TTMEM_BUFFER}) != nullptr);
    }
    CHECK_EQUAL(follower.scan_count, 0);
    CHECK(follower.reader->pending().empty());
    check_exact(follower);
}

TEST(scans_among_running_writers_end_exact) {
    track({1024, 256});
    const uint16_t chip = open_chip(1);
    const RandomYields yields(6);
    std::atomic<int> running{4}, scans{0};
    std::vector<std::thread> writers;
    for (uint64_t self = 0; self < 4; ++self)
        writers.emplace_back([&, self] {
            Random random(self);
            for (int i = 0; i < 1500 || scans.load() < 4; ++i) {  // until there were some scans
                const uint64_t id = self << 32 | random.below(60);
                random.below(2) == 0 ? static_cast<void>(report_buffer(chip, id, random.below(1000)))
                                     : report_free(chip, id);
            }
            --running;
        });
    while (running.load() > 0) {
        Follower late(own_reader());
        CHECK(late.scan() == ReadResult::ok);
        late.read();
        ++scans;
    }
    for (std::thread& writer : writers) writer.join();
    Follower last(own_reader());
    CHECK(last.scan() == ReadResult::ok);
    check_exact(last);
}

}  // namespace ttmem
