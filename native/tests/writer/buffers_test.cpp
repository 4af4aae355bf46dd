// What a buffer says besides its size (place, page, layout, site), and clashes: into the journal and out of it again.
#include <random>
#include <thread>

#include "support/check.hpp"
#include "support/collecting.hpp"

namespace ttmem {
namespace {

struct Told {
    uint64_t address = 0, requested = 0, page = 0, per_bank = 0;
    uint8_t layout = 0;
};

ttmem_handle report(uint16_t target, uint64_t id, const Told& told, uint32_t site = 0) {
    ttmem_buffer buffer{};
    buffer.target = target;
    buffer.id = id;
    buffer.address = told.address;
    buffer.requested_bytes = told.requested;
    buffer.reserved_bytes = told.requested;
    buffer.per_bank_bytes = told.per_bank;
    buffer.page_bytes = told.page;
    buffer.layout = told.layout;
    buffer.site = site;
    return ttmem_buffer_alloc(&buffer);
}

// The words of the only thing alive, as a reader copies them.
RecordCopy only_one() {
    std::vector<RecordCopy> alive;
    auto reader = own_reader();
    REQUIRE(reader->scan(alive) == ReadResult::ok);
    REQUIRE(alive.size() == 1);
    return alive[0];
}

uint64_t stored_page(uint64_t page, uint64_t requested) { return page_from(page_code(page, requested), requested); }

uint32_t ask_count = 0;
uint32_t site_seven() {
    ++ask_count;
    return 7;
}

}  // namespace

TEST(a_buffer_keeps_place_page_and_layout_beside_each_other) {
    track({64, 16});
    const uint64_t top = (1ull << 48) - 1;
    report(open_chip(1), 5, {top, 3 * kPageCounted, kPageCounted - 1, kSizeMost, TTMEM_ND_SHARDED});
    const RecordCopy words = only_one();
    CHECK_EQUAL(words.buffer_address(), top);
    CHECK_EQUAL(words.page_bytes(), kPageCounted - 1);
    CHECK_EQUAL(words.layout(), TTMEM_ND_SHARDED);
    CHECK_EQUAL(words.per_bank_bytes(), kSizeMost);
    CHECK_EQUAL(words.requested_bytes(), 3 * kPageCounted);
    CHECK_EQUAL(words.id, 5u);
}

TEST(any_page_below_the_mark_and_any_whole_part_above_it_comes_back) {
    std::mt19937_64 random(5);
    for (int i = 0; i < 100'000; ++i) {
        const uint64_t requested = random() >> (21 + random() % 43);
        const uint64_t small = random() % kPageCounted;
        CHECK_EQUAL(stored_page(small, requested), small);
        const uint64_t large = kPageCounted + (random() >> (24 + random() % 16)), count = 1 + random() % 1000;
        CHECK_EQUAL(stored_page(large, large * count), large);
    }
}

TEST(a_large_page_that_is_no_whole_part_is_unknown) {
    CHECK_EQUAL(stored_page(kPageCounted, kPageCounted + 1), 0u);
    CHECK_EQUAL(stored_page(kPageCounted, 0), 0u);
    CHECK_EQUAL(stored_page(~0ull, 1 << 20), 0u);
    CHECK_EQUAL(stored_page(kPageCounted, kPageCounted * kPageCounted), 0u);  // more pages than can be reported
    CHECK_EQUAL(page_from(kPageCounted, 4096), 0u);                           // no process writes that
}

TEST(what_does_not_fit_is_unknown_and_hurts_nothing_else) {
    track({64, 16});
    report(open_chip(1), 5, {1ull << 48, 4096, 512, 64, TTMEM_LAYOUT_COUNT});
    const RecordCopy words = only_one();
    CHECK_EQUAL(words.buffer_address(), 0u);
    CHECK_EQUAL(words.layout(), TTMEM_LAYOUT_UNKNOWN);
    CHECK_EQUAL(words.page_bytes(), 512u);
    CHECK_EQUAL(words.per_bank_bytes(), 64u);
}

TEST(what_a_buffer_tells_changes_no_sum_and_no_key) {
    track({64, 16});
    const uint16_t chip = open_chip(1);
    const ttmem_handle first = report(chip, 5, {0xffff'ffff'ffff, 4096, 4096, 64, TTMEM_WIDTH_SHARDED});
    report(chip, 6, {0, 100});
    CHECK(alive_in(the_writer) == (Alive{{{chip, TTMEM_BUFFER, 5}, 4096}, {{chip, TTMEM_BUFFER, 6}, 100}}));
    CHECK_EQUAL(the_writer.targets[chip].pools[TTMEM_DRAM].used.load(), 4196u);
    ttmem_free(first);
    ttmem_free_id(chip, TTMEM_BUFFER, 6, TTMEM_DRAM, 0);
    CHECK(alive_in(the_writer).empty());
    CHECK_EQUAL(the_writer.targets[chip].pools[TTMEM_DRAM].used.load(), 0u);
}

TEST(the_source_is_asked_for_a_site_only_where_none_is_told) {
    track({64, 16});
    const uint16_t chip = open_chip(1);
    ttmem_set_site_source(site_seven);
    ttmem_free(report(chip, 1, {0, 10}, 3));
    CHECK_EQUAL(ask_count, 0u);
    report(chip, 2, {0, 10});
    CHECK_EQUAL(ask_count, 1u);
    CHECK_EQUAL(only_one().site(), 7u);
    ttmem_free_id(chip, TTMEM_BUFFER, 2, TTMEM_DRAM, 0);
    ttmem_set_site_source(nullptr);
    report(chip, 3, {0, 10});
    CHECK_EQUAL(ask_count, 1u);
    CHECK_EQUAL(only_one().site(), 0u);
}

TEST(nobody_asks_for_sites_while_tracking_is_off) {
    ttmem_set_site_source(site_seven);
    report(1, 1, {0, 10});
    CHECK_EQUAL(ask_count, 0u);
    ttmem_set_site_source(nullptr);
}

TEST(a_lap_loses_clashes_from_the_list_but_not_from_the_count) {
    track({64, 64});
    const uint16_t chip = open_chip(7);
    Collector collector(false);
    const uint64_t key = attach_own(collector);
    for (uint64_t i = 0; i < 1000; ++i) ttmem_clash(chip, i, 0x9'0000 + i, 0x8'f000);
    settle(collector, key);
    with_process(collector, key, [=](const Process& process) { CHECK_EQUAL(process.targets[chip].clashes, 1000u); });
    ttmem_clash(chip, 1000, 0x9'0000, 0x8'f000);
    settle(collector, key);
    with_process(collector, key, [=](const Process& process) {
        CHECK_EQUAL(process.targets[chip].clashes, 1001u);
        REQUIRE(!process.book.clashes().empty());
        const Clash& newest = process.book.clashes().back();
        CHECK_EQUAL(newest.program, 1000u);
        CHECK_EQUAL(newest.cb_end, 0x9'0000u);
        CHECK_EQUAL(newest.buffer, 0x8'f000u);
    });
}

TEST(the_list_of_clashes_is_bounded) {
    track({64, 4096});
    const uint16_t chip = open_chip(7);
    Collector collector(false);
    const uint64_t key = attach_own(collector);
    for (uint64_t i = 0; i < 1000; ++i) ttmem_clash(chip, i, 2, 1);
    settle(collector, key);
    with_process(collector, key, [](const Process& process) {
        CHECK_EQUAL(process.book.clashes().size(), 256u);
        CHECK_EQUAL(process.book.clashes().back().program, 999u);
    });
}

TEST(clashes_of_threads_are_all_counted_and_none_is_cut_into_another_address) {
    track({64, 4096});
    const uint16_t chip = open_chip(7);
    Collector collector(false);
    const uint64_t key = attach_own(collector);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([=] {
            for (int i = 0; i < 250; ++i) ttmem_clash(chip, ~0ull, 1ull << 50, ~0ull);
        });
    for (std::thread& thread : threads) thread.join();
    CHECK_EQUAL(the_writer.targets[chip].clashes.load(), 1000u);
    settle(collector, key);
    with_process(collector, key, [](const Process& process) {
        CHECK_EQUAL(process.book.clashes().size(), 256u);
        for (const Clash& one : process.book.clashes())
            CHECK(one.program == ~0ull && one.cb_end == 0 && one.buffer == 0);
    });
}

}  // namespace ttmem
