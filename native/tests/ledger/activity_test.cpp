// Rings, stalls and caches: counted in the journal, so a lap loses none; and reported in records, so a replay has them too.
#include "ledger/chips/activity.hpp"

#include <cstring>

#include "support/check.hpp"
#include "support/collecting.hpp"
#include "writer/operations.hpp"

namespace ttmem {
namespace {

void ring_moves(uint16_t target, uint64_t live, uint64_t retired, uint8_t stall) {
    ttmem_ring_state state{};
    state.target = target;
    state.core_type = TTMEM_TENSIX;
    state.live_bytes = live;
    state.retired_bytes = retired;
    state.entry_count = 3;
    state.stall = stall;
    ttmem_ring(&state);
}

void cache_answers(uint16_t target, uint8_t cache, uint8_t outcome, uint32_t entries, uint64_t held) {
    ttmem_cache_answer answer{};
    answer.target = target;
    answer.cache = cache;
    answer.outcome = outcome;
    answer.size_bytes = 4096;
    answer.entry_count = entries;
    answer.held_bytes = held;
    answer.shared_bytes = 7;
    ttmem_cache(&answer);
}

Activity counted_in(Collector& collector, uint64_t key, uint16_t target) {
    settle(collector, key);
    return with_process(collector, key, [=](const Process& process) { return process.targets[target].activity; });
}

}  // namespace

TEST(a_lap_loses_no_answer_and_no_stall) {
    track({64, 64});
    const uint16_t chip = open_chip(7);
    Collector collector(false);
    const uint64_t key = attach_own(collector);
    for (uint64_t i = 0; i < 1000; ++i) {
        ring_moves(chip, i, 2 * i, i % 2 ? TTMEM_STALL_SPACE : TTMEM_STALL_NONE);
        cache_answers(chip, TTMEM_CACHE_PREFETCHER, i % 4 ? TTMEM_HIT : TTMEM_MISS, 5, i);
    }
    const Activity seen = counted_in(collector, key, chip);
    CHECK_EQUAL(seen.rings[TTMEM_TENSIX].launches, 1000u);
    CHECK_EQUAL(seen.rings[TTMEM_TENSIX].live, 999u);
    CHECK_EQUAL(seen.rings[TTMEM_TENSIX].retired, 1998u);
    CHECK_EQUAL(seen.rings[TTMEM_TENSIX].entries, 3u);
    CHECK_EQUAL(seen.stalls[TTMEM_STALL_SPACE], 500u);
    const Activity::Cache& cache = seen.caches[TTMEM_CACHE_PREFETCHER];
    CHECK_EQUAL(cache.outcomes[TTMEM_HIT], 750u);
    CHECK_EQUAL(cache.outcomes[TTMEM_MISS], 250u);
    CHECK_EQUAL(cache.held, 999u);
    CHECK_EQUAL(cache.shared, 7u);
}

TEST(records_alone_tell_the_same) {
    track({64, 4096});
    const uint16_t chip = open_chip(7);
    Collector collector(false);
    const uint64_t key = attach_own(collector);
    for (uint64_t i = 0; i < 100; ++i) {
        ring_moves(chip, i, 1, static_cast<uint8_t>(i % kStalls));
        cache_answers(chip, static_cast<uint8_t>(i % kCaches), static_cast<uint8_t>(i % kOutcomes), 2, i);
    }
    const Activity counted = counted_in(collector, key, chip);
    with_process(collector, key, [&](const Process& process) {
        const Activity& told = *process.book.targets()[chip].activity;
        CHECK(std::memcmp(&told, &counted, sizeof told) == 0);
    });
}

TEST(a_launch_that_tells_of_the_ring_is_one_record_and_says_as_much_as_two) {
    track({64, 4096});
    const uint16_t chip = open_chip(7);
    Collector collector(false);
    const uint64_t key = attach_own(collector);
    uint32_t listed_at = 0;
    for (uint32_t i = 0; i < 100; ++i) {
        const auto stall = static_cast<uint8_t>(i % kStalls);
        const RingMove move = RingMove::of(chip, TTMEM_TENSIX, stall, false);
        keep_ring(i, 0xffff'ffff - i, 70'656, 7, move);
        const uint64_t before = the_writer.header->next_sequence.load();
        const LaunchedRing ring{LaunchedRing::levels_of(i, 0xffff'ffff - i), 70'656, LaunchedRing::word_of(move, 7)};
        listed_at = count_launch(chip, 9, listed_at, ring);
        if (i > 1) CHECK_EQUAL(the_writer.header->next_sequence.load() - before, 1u);
    }
    count_launch(chip, 9, listed_at, {});
    const Activity counted = counted_in(collector, key, chip);
    CHECK_EQUAL(counted.rings[TTMEM_TENSIX].live, 99u);
    CHECK_EQUAL(counted.rings[TTMEM_TENSIX].retired, 0xffff'ffffu - 99);
    CHECK_EQUAL(counted.rings[TTMEM_TENSIX].entries, 7u);
    CHECK_EQUAL(counted.rings[TTMEM_TENSIX].launches, 100u);
    with_process(collector, key, [&](const Process& process) {
        CHECK(std::memcmp(process.book.targets()[chip].activity.get(), &counted, sizeof counted) == 0);
        CHECK_EQUAL(process.book.targets()[chip].launches, 101u);
    });
}

TEST(a_ring_that_changed_without_a_launch_counts_none) {
    track({64, 256});
    const uint16_t chip = open_chip(7);
    Collector collector(false);
    const uint64_t key = attach_own(collector);
    ring_moves(chip, 100, 0, TTMEM_STALL_NONE);
    ttmem_ring_state state{};
    state.target = chip;
    state.core_type = TTMEM_IDLE_ETH;
    state.retired_bytes = 25'600;
    state.ring_bytes = 25'600;
    state.is_aside = 1;
    ttmem_ring(&state);
    const Activity seen = counted_in(collector, key, chip);
    CHECK_EQUAL(seen.rings[TTMEM_TENSIX].launches, 1u);
    CHECK_EQUAL(seen.rings[TTMEM_IDLE_ETH].launches, 0u);
    CHECK_EQUAL(seen.rings[TTMEM_IDLE_ETH].total, 25'600u);
    with_process(collector, key, [&](const Process& process) {
        CHECK(std::memcmp(process.book.targets()[chip].activity.get(), &seen, sizeof seen) == 0);
    });
}

TEST(a_closed_target_holds_nothing_but_keeps_its_counts) {
    track({64, 256});
    const uint16_t chip = open_chip(7);
    Collector collector(false);
    const uint64_t key = attach_own(collector);
    ring_moves(chip, 100, 50, TTMEM_STALL_FULL);
    cache_answers(chip, TTMEM_CACHE_PROGRAM, TTMEM_MISS, 1, 4096);
    ttmem_device_close(chip);
    const Activity seen = counted_in(collector, key, chip);
    CHECK_EQUAL(seen.rings[TTMEM_TENSIX].live, 0u);
    CHECK_EQUAL(seen.caches[TTMEM_CACHE_PROGRAM].held, 0u);
    CHECK_EQUAL(seen.caches[TTMEM_CACHE_PROGRAM].outcomes[TTMEM_MISS], 1u);
    CHECK_EQUAL(seen.stalls[TTMEM_STALL_FULL], 1u);
    with_process(collector, key, [&](const Process& process) {
        CHECK(std::memcmp(process.book.targets()[chip].activity.get(), &seen, sizeof seen) == 0);
    });
}

TEST(numbers_out_of_range_go_nowhere_else) {
    track({64, 256});
    const uint16_t chip = open_chip(7);
    Collector collector(false);
    const uint64_t key = attach_own(collector);
    cache_answers(chip, kCaches, TTMEM_HIT, 1, 1);
    cache_answers(chip, TTMEM_CACHE_JIT, kOutcomes, 1, 1);
    ttmem_ring_state state{};
    state.target = chip;
    state.core_type = 200;
    state.stall = 200;
    state.live_bytes = ~0ull;
    ttmem_ring(&state);
    const Activity seen = counted_in(collector, key, chip);
    CHECK_EQUAL(seen.rings[TTMEM_CORE_UNKNOWN].launches, 1u);
    CHECK_EQUAL(seen.rings[TTMEM_CORE_UNKNOWN].live, 0u);
    for (const uint64_t count : seen.stalls) CHECK_EQUAL(count, 0u);
    for (const Activity::Cache& cache : seen.caches)
        for (const uint64_t count : cache.outcomes) CHECK_EQUAL(count, 0u);
}

TEST(a_hostile_record_is_a_finding) {
    Devices devices;
    Book book(1, devices);
    RecordCopy words;
    words.commit = committed(5);
    words.tag = Tag{Type::ring_moved, 0, 0, 0, 0}.pack();
    words.reserved = in::kTarget.pack(1);
    words.per_bank = 0xff;
    book.apply(words, nullptr, 1);
    words.commit = committed(6);
    words.tag = Tag{Type::cache_answered, 0, 0, 0, 0}.pack();
    book.apply(words, nullptr, 1);
    words.commit = committed(7);
    words.tag = Tag{Type::launched, TTMEM_PROGRAM_BINARY, TTMEM_DRAM, kWithRing, 0}.pack();
    book.apply(words, nullptr, 1);
    CHECK_EQUAL(book.findings().at("impossible_record"), 3u);
}

TEST(kernels_are_added_up_by_the_type_of_their_cores) {
    track({64, 256});
    const uint16_t chip = open_chip(7);
    Collector collector(false);
    const uint64_t key = attach_own(collector);
    ttmem_kernel kernel{};
    kernel.target = chip;
    kernel.kind = TTMEM_KERNEL_FABRIC;
    kernel.binary_bytes = 100;
    kernel.core_count = 2;
    kernel.core_type = TTMEM_ACTIVE_ETH;
    kernel.found_by = TTMEM_FOUND_PATH;
    kernel.program = ~0ull;
    for (uint64_t id = 1; id <= 3; ++id) {
        kernel.id = id;
        ttmem_kernel_load(&kernel);
    }
    ttmem_kernel_unload(chip, TTMEM_KERNEL_FABRIC, 2);
    Collector late(false);
    const uint64_t later = attach_own(late);
    for (const auto& [one, at] : {std::pair{&collector, key}, std::pair{&late, later}}) {
        settle(*one, at);
        with_process(*one, at, [](const Process& process) {
            const KindAmount& eth = process.book.cells().begin()->second.cores[TTMEM_ACTIVE_ETH];
            CHECK_EQUAL(eth.used, 400);
            CHECK_EQUAL(eth.count, 2);
            CHECK_EQUAL(eth.estimated, 2);
            process.book.table().for_each([](const RecordCopy& words) {
                CHECK_EQUAL(words.core_type(), TTMEM_ACTIVE_ETH);
                CHECK_EQUAL(words.found_by(), TTMEM_FOUND_PATH);
            });
        });
    }
}

}  // namespace ttmem
