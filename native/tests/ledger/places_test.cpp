// What lies where on a chip: joined ranges, holes between them, fullest cores; and when that is worked out again.
#include "ledger/places/places.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <set>

#include "ledger/places/regions.hpp"
#include "support/check.hpp"
#include "support/collecting.hpp"

namespace ttmem {
namespace {

constexpr uint64_t kHighest = ~uint64_t{0};

ttmem_buffer a_placed_buffer(uint16_t target, uint64_t id, uint64_t address, uint64_t per_bank, uint8_t type) {
    ttmem_buffer buffer{};
    buffer.target = target;
    buffer.id = id;
    buffer.address = address;
    buffer.per_bank_bytes = per_bank;
    buffer.reserved_bytes = per_bank;
    buffer.type = type;
    return buffer;
}

uint16_t open_banked(uint64_t unique_id, uint16_t dram_banks, uint16_t l1_banks) {
    ttmem_device device{};
    device.unique_id = unique_id;
    device.grid_x = device.grid_y = 2;
    device.dram_banks = dram_banks;
    device.l1_banks = l1_banks;
    return ttmem_device_open(&device);
}

Places look_at(Collector& collector, uint64_t key, uint32_t device) {
    settle(collector, key);
    return collector.look([&](auto& processes, Devices& devices, const Timebase&, const auto&) {
        return collector.atlas().look_at(processes, devices, device);
    });
}

std::vector<std::shared_ptr<const Places>> look(Collector& collector, uint64_t key) {
    settle(collector, key);
    return collector.look([&](auto& processes, Devices& devices, const Timebase&, const auto&) {
        std::vector<std::shared_ptr<const Places>> found;
        for (const Seen& seen : collector.atlas().look(processes, devices)) found.push_back(seen.places);
        return found;
    });
}

}  // namespace

TEST(joined_spans_and_their_gaps_are_those_of_every_address_tried) {
    std::mt19937 dice(6);
    for (int round = 0; round < 300; ++round) {
        Spans spans;
        std::set<uint64_t> taken;
        const uint64_t count = dice() % 12;
        for (uint64_t i = 0; i < count; ++i) {
            spans.push_back(span_at(dice() % 60, dice() % 9));
            for (uint64_t at = spans.back().first; at < spans.back().second; ++at) taken.insert(at);
        }
        std::erase_if(spans, [](const Span& span) { return span.first == span.second; });
        const uint64_t alive = spans.size();
        std::vector<uint32_t> counts;
        join(spans, &counts);
        uint64_t counted = 0;
        for (const uint32_t one : counts) counted += one;
        const Gaps gaps = gaps_of(spans);
        CHECK_EQUAL(counted, alive);
        CHECK_EQUAL(counts.size(), spans.size());
        CHECK_EQUAL(gaps.used, taken.size());
        if (taken.empty()) continue;
        CHECK_EQUAL(gaps.lowest, *taken.begin());
        CHECK_EQUAL(gaps.highest, *taken.rbegin() + 1);
        uint64_t largest = 0, holes = 0, before = *taken.begin();
        for (const uint64_t at : taken) {
            if (at > before + 1) ++holes;
            if (at > before) largest = std::max(largest, at - before - 1);
            before = at;
        }
        CHECK_EQUAL(gaps.largest, largest);
        CHECK_EQUAL(gaps.count, holes);
        Spans few = {span_at(dice() % 40, dice() % 20)};
        uint64_t shared = 0;
        for (uint64_t at = few[0].first; at < few[0].second; ++at) shared += taken.count(at);
        CHECK_EQUAL(overlap_of(spans, few), shared);
    }
}

TEST(stretches_part_at_the_largest_holes_and_lose_nothing) {
    std::mt19937_64 random(11);
    for (int round = 0; round < 200; ++round) {
        Taken taken;
        uint64_t at = 0;
        for (uint64_t left = random() % 30; left != 0; --left) {
            const uint64_t begin = at + 1 + random() % 9;
            at = begin + 1 + random() % 5;
            taken.spans.emplace_back(begin, at);
            taken.counts.push_back(static_cast<uint32_t>(1 + random() % 3));
        }
        const size_t most = 1 + random() % 12;
        const std::vector<Stretch> stretches = stretches_of(taken, most);

        CHECK(stretches.size() <= most);
        uint64_t count = 0, bytes = 0, holes = 0, least_shown = kHighest, most_hidden = 0;
        for (size_t i = 0; i < stretches.size(); ++i) {
            count += stretches[i].count;
            bytes += stretches[i].end - stretches[i].begin - stretches[i].hole_bytes;
            holes += stretches[i].hole_bytes;
            if (i != 0) least_shown = std::min(least_shown, stretches[i].begin - stretches[i - 1].end);
        }
        const auto begins_one = [&](uint64_t begin) {
            return std::any_of(stretches.begin(), stretches.end(), [&](const auto& one) { return one.begin == begin; });
        };
        uint64_t expected_count = 0, expected_holes = 0;
        for (size_t i = 0; i < taken.spans.size(); ++i) {
            expected_count += taken.counts[i];
            if (i == 0 || begins_one(taken.spans[i].first)) continue;
            const uint64_t hole = taken.spans[i].first - taken.spans[i - 1].second;
            expected_holes += hole;
            most_hidden = std::max(most_hidden, hole);
        }
        CHECK(count == expected_count && bytes == length_of(taken.spans) && holes == expected_holes);
        CHECK(most_hidden < least_shown);
        CHECK(taken.spans.size() > most || stretches.size() == taken.spans.size());
    }
}

TEST(many_are_put_in_the_same_order_as_few) {
    std::mt19937_64 dice(8);
    for (const uint64_t mask : {kHighest, uint64_t{0xffff'ffe0}, uint64_t{0xf000'0000'0000'0001}, uint64_t{0}}) {
        std::vector<uint64_t> numbers(10'000);
        for (uint64_t& number : numbers) number = dice() & mask;
        std::vector<uint64_t> sorted = numbers;
        std::sort(sorted.begin(), sorted.end());
        sort_by(numbers, [](uint64_t number) { return number; });
        CHECK(numbers == sorted);
    }
}

TEST(spans_at_the_end_of_all_addresses_do_not_wrap) {
    CHECK(span_at(kHighest - 4, 100) == Span(kHighest - 4, kHighest));
    CHECK(span_at(kHighest, kHighest) == Span(kHighest, kHighest));
    CHECK(span_at(0, kHighest) == Span(0, kHighest));
    Spans spans = {span_at(kHighest - 4, 100), span_at(0, 10), span_at(5, kHighest)};
    join(spans);
    CHECK_EQUAL(spans.size(), 1u);
    CHECK_EQUAL(length_of(spans), kHighest);
    CHECK_EQUAL(overlap_of(spans, {span_at(kHighest - 1, 9)}), 1u);
    CHECK_EQUAL(gaps_of({}).largest, 0u);
}

TEST(a_bank_gives_up_its_share_and_what_says_no_address_is_counted) {
    track({256, 256});
    const uint16_t chip = open_banked(7, 4, 8);
    Collector collector(false);
    const uint64_t key = attach_own(collector);
    ttmem_buffer rounded = a_placed_buffer(chip, 1, 4096, 1000, TTMEM_BUFFER_DRAM);
    rounded.reserved_bytes = 4 * 1024;  // banks give up whole blocks
    ttmem_buffer bare = a_placed_buffer(chip, 2, 8192, 0, TTMEM_BUFFER_DRAM);
    bare.reserved_bytes = 401;
    ttmem_buffer lost = a_placed_buffer(chip, 3, 0, 64, TTMEM_BUFFER_L1);
    ttmem_buffer view = a_placed_buffer(chip, 4, 1 << 20, 64, TTMEM_BUFFER_L1);
    view.options = TTMEM_VIEW;
    for (const auto& buffer : {rounded, bare, lost, view}) ttmem_buffer_alloc(&buffer);
    ttmem_binaries_placed(chip, 9, TTMEM_COMMITTED, 4 * 256, 16'384);
    const Places places = look_at(collector, key, 0);
    CHECK(places.pools[TTMEM_DRAM].spans == Spans({{4096, 5120}, {8192, 8293}, {16'384, 16'640}}));
    CHECK_EQUAL(places.pools[TTMEM_DRAM].unplaced, 0u);
    CHECK_EQUAL(places.pools[TTMEM_L1].unplaced, 1u);
    CHECK(places.pools[TTMEM_L1].spans.empty());
    ttmem_binary_status(chip, 10, TTMEM_COMMITTED, 64);  // by one who does not say where
    CHECK_EQUAL(look_at(collector, key, 0).pools[TTMEM_DRAM].unplaced, 1u);
    ttmem_binary_status(chip, 9, TTMEM_IN_FLIGHT, 0);  // it stays where it was
    CHECK_EQUAL(look_at(collector, key, 0).pools[TTMEM_DRAM].spans.size(), 3u);
    ttmem_binaries_placed(chip, 9, TTMEM_IN_FLIGHT, 4 * 256, 32'768);
    CHECK_EQUAL(look_at(collector, key, 0).pools[TTMEM_DRAM].spans.back().first, 32'768u);
}

TEST(the_fullest_core_counts_what_lies_twice_once) {
    track({256, 256});
    const uint16_t chip = open_banked(7, 4, 4);
    Collector collector(false);
    const uint64_t key = attach_own(collector);
    const ttmem_buffer high = a_placed_buffer(chip, 1, 1000, 100, TTMEM_BUFFER_L1);
    const ttmem_buffer small = a_placed_buffer(chip, 2, 2000, 50, TTMEM_BUFFER_L1_SMALL);
    for (const auto& buffer : {high, small}) ttmem_buffer_alloc(&buffer);
    CHECK_EQUAL(look_at(collector, key, 0).buffers, 150u);
    CHECK(look_at(collector, key, 0).cores.empty());
    ttmem_circular_buffer cb{};
    cb.target = chip;
    cb.core_count = 1;
    const char* cores[] = {"0,0", "1,1"};
    const uint32_t sizes[] = {300, 460};  // of the second, 60 bytes lie under a buffer
    for (uint32_t i = 0; i < 2; ++i) {
        cb.id = i + 1;
        cb.program = i + 1;
        cb.address = 600;
        cb.size_per_core_bytes = sizes[i];
        cb.core_set = ttmem_intern(cores[i], 3);
        ttmem_cb_alloc(&cb);
    }
    ttmem_launch(chip, 1);
    const Places places = look_at(collector, key, 0);
    CHECK_EQUAL(places.cores.size(), 2u);
    CHECK_EQUAL(places.cores[0].used, 450u);
    CHECK_EQUAL(places.cores[1].used, 550u);
    CHECK_EQUAL(places.worst, 1u);
    CHECK_EQUAL(places.cores[places.worst].core, 257u);
    CHECK_EQUAL(length_of(places.cores[0].resident), 300u);
    CHECK_EQUAL(length_of(places.cores[1].resident), 0u);
}

TEST(the_fullest_core_now_has_what_ran_there_last) {
    track({256, 256});
    const uint16_t chip = open_banked(7, 4, 4);
    Collector collector(false);
    const uint64_t key = attach_own(collector);
    const auto now = [&] {
        settle(collector, key);
        return collector.look([&](auto& processes, Devices& devices, const Timebase&, const auto&) {
            return collector.atlas().look(processes, devices)[0].now;
        });
    };
    ttmem_buffer buffer = a_placed_buffer(chip, 9, 800, 100, TTMEM_BUFFER_L1);
    ttmem_buffer_alloc(&buffer);
    CHECK(now() == FullestCore{100});
    ttmem_circular_buffer cb{};
    cb.target = chip;
    cb.core_count = 1;
    const char* cores[] = {"0,0", "1,1", "0,0"};
    const uint32_t sizes[] = {300, 250, 50};  // of the first, 100 bytes lie under the buffer
    for (uint32_t i = 0; i < 3; ++i) {
        cb.id = i + 1;
        cb.program = i + 1;
        cb.address = 600;
        cb.size_per_core_bytes = sizes[i];
        cb.core_set = ttmem_intern(cores[i], 3);
        ttmem_cb_alloc(&cb);
    }
    CHECK(now() == (FullestCore{100, 0, true}));
    ttmem_launch(chip, 2);
    CHECK(now() == (FullestCore{300, 257, true}));  // 250 bytes, of which 50 lie under the buffer
    ttmem_launch(chip, 1);
    CHECK(now() == (FullestCore{300, 0, true}));  // 300, of which 100 do: the first of two that are as full
    ttmem_launch(chip, 3);
    CHECK(now() == (FullestCore{300, 257, true}));  // another program took that core over
    cb.id = 4;
    cb.program = 0;
    ttmem_cb_alloc(&cb);
    CHECK(!now().is_known);  // it is unknown whose the last one is
}

TEST(what_has_not_changed_is_not_worked_out_again) {
    track({256, 256});
    const uint16_t first = open_banked(7, 4, 4), second = open_banked(8, 4, 4);
    const uint16_t chips[] = {first, second};
    const uint16_t mesh = ttmem_mesh_open(5, 1, 2, chips, 2);
    Collector collector(false);
    const uint64_t key = attach_own(collector);
    ttmem_buffer buffer = a_placed_buffer(mesh, 1, 1000, 100, TTMEM_BUFFER_DRAM);
    ttmem_buffer_alloc(&buffer);
    const auto before = look(collector, key), again = look(collector, key);
    CHECK(before[0] != nullptr && before[0]->gaps[TTMEM_DRAM].used == 100);
    CHECK(before[1] != nullptr && before[1]->gaps[TTMEM_DRAM].used == 100);
    CHECK(again[0] == before[0]);
    ttmem_launch(mesh, 3);
    buffer = a_placed_buffer(first, 2, 5000, 100, TTMEM_BUFFER_DRAM);
    ttmem_buffer_alloc(&buffer);
    const auto after = look(collector, key);
    CHECK(after[0] != before[0]);
    CHECK_EQUAL(after[0]->gaps[TTMEM_DRAM].largest, 3900u);
    CHECK_EQUAL(after[1]->gaps[TTMEM_DRAM].count, 0u);
    ttmem_free_id(mesh, TTMEM_BUFFER, 1, TTMEM_DRAM, 0);
    CHECK_EQUAL(look(collector, key)[0]->gaps[TTMEM_DRAM].lowest, 5000u);
}

TEST(hostile_addresses_and_sizes_are_bounded) {
    track({256, 256});
    const uint16_t chip = open_banked(7, 0xffff, 1);
    Collector collector(false);
    const uint64_t key = attach_own(collector);
    std::mt19937_64 dice(7);
    for (uint64_t id = 1; id < 100; ++id) {
        ttmem_buffer buffer = a_placed_buffer(chip, id, dice(), dice(), static_cast<uint8_t>(dice() % 5));
        buffer.reserved_bytes = dice();
        ttmem_buffer_alloc(&buffer);
        ttmem_circular_buffer cb{};
        cb.target = chip;
        cb.id = id;
        cb.address = static_cast<uint32_t>(dice());
        cb.size_per_core_bytes = dice();
        cb.core_count = static_cast<uint16_t>(dice() % 8);
        ttmem_cb_alloc(&cb);
    }
    const Places places = look_at(collector, key, 0);
    for (uint32_t pool = 0; pool < kPlacedPools; ++pool) {
        const Gaps& gaps = places.gaps[pool];
        CHECK(gaps.highest >= gaps.lowest && gaps.used <= gaps.highest - gaps.lowest);
    }
    CHECK(look_at(collector, key, 9).cores.empty());
}

}  // namespace ttmem
