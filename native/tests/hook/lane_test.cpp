// Lanes of kernel rings, by launches that the runtime's own manager was seen to place, and what stays intact of them.
#include "hook/launches/lane.hpp"

#include <vector>

#include "support/check.hpp"

namespace ttmem::hook {
namespace {

constexpr uint32_t kBase = 35'008, kSize = 70'656, kWorkers = 64;

Lane a_lane(uint32_t base = kBase, uint32_t size = kSize) {
    static Stretch intact[kIntactMost];
    Lane lane;
    lane.begin(base, size, intact);
    return lane;
}

/// A launch that goes where the runtime put it; why it waited for that.
LaneStall launch(Lane& lane, LanePlace place, uint32_t number) {
    const LaneStall stall = lane.stall_of(place.size);
    if (stall.reason != TTMEM_STALL_NONE) lane.retire(stall.sync_count);
    lane.take(place, number * kWorkers);
    return stall;
}

// What finished launches left, in one list that is looked through from the beginning.
struct Plainly {
    std::vector<LanePlace> live, intact;

    void take(LanePlace place) {
        std::erase_if(intact, [&](const LanePlace& one) {
            return one.address < place.address + place.size && place.address < one.address + one.size;
        });
        live.push_back(place);
    }
    void retire(std::size_t count) {
        intact.insert(intact.end(), live.begin(), live.begin() + static_cast<std::ptrdiff_t>(count));
        live.erase(live.begin(), live.begin() + static_cast<std::ptrdiff_t>(count));
    }
    static uint64_t bytes(const std::vector<LanePlace>& places) {
        uint64_t sum = 0;
        for (const LanePlace& place : places) sum += place.size;
        return sum;
    }
};

}  // namespace

TEST(two_launches_of_a_third_and_more_fit_and_never_three) {
    Lane lane = a_lane();
    const uint32_t addresses[] = {35'008, 59'008, 35'008, 59'008};
    const uint32_t waits[] = {0, 0, 64, 128};
    for (uint32_t i = 0; i < 4; ++i) {
        const LaneStall stall = launch(lane, {addresses[i], 24'000}, i + 1);
        CHECK_EQUAL(stall.sync_count, waits[i]);
        CHECK_EQUAL(stall.reason, waits[i] == 0 ? TTMEM_STALL_NONE : TTMEM_STALL_SPACE);
    }
    CHECK_EQUAL(lane.live(), 48'000u);
    CHECK_EQUAL(lane.retired(), 0u);
}

TEST(the_eighth_launch_waits_for_an_entry_not_for_room) {
    Lane lane = a_lane();
    for (uint32_t i = 0; i < 7; ++i) CHECK_EQUAL(launch(lane, {kBase + i * 4'000, 4'000}, i + 1).reason, 0);
    const LaneStall stall = launch(lane, {kBase + 28'000, 4'000}, 8);
    CHECK_EQUAL(stall.reason, TTMEM_STALL_ENTRIES);
    CHECK_EQUAL(stall.sync_count, kWorkers);
    CHECK_EQUAL(lane.entry_count(), 7u);
    CHECK_EQUAL(lane.live(), 28'000u);
    CHECK_EQUAL(lane.retired(), 4'000u);
}

TEST(launches_of_all_sizes_wait_for_as_many_as_they_need) {
    Lane lane = a_lane(40'960);
    const LanePlace places[] = {
        {40'960, 40'000}, {80'960, 20'000}, {40'960, 30'000}, {70'960, 10'000}, {40'960, 60'000}};
    const uint32_t waits[] = {0, 0, 64, 0, 256};
    for (uint32_t i = 0; i < 5; ++i) CHECK_EQUAL(launch(lane, places[i], i + 1).sync_count, waits[i]);
    CHECK_EQUAL(lane.live(), 60'000u);
    CHECK_EQUAL(lane.entry_count(), 1u);
    CHECK_EQUAL(lane.retired(), 0u);
}

TEST(a_filled_lane_is_waited_for_and_leaves_nothing_intact) {
    Lane lane = a_lane();
    launch(lane, {kBase, 4'000}, 1);
    lane.fill(2 * kWorkers);
    CHECK_EQUAL(lane.live(), kSize);
    const LaneStall stall = launch(lane, {kBase, 4'000}, 3);
    CHECK_EQUAL(stall.reason, TTMEM_STALL_FULL);
    CHECK_EQUAL(lane.live(), 4'000u);
    CHECK_EQUAL(lane.retired(), 0u);
}

TEST(ethernet_cores_start_at_the_base_after_whoever_was_there) {
    Lane lane = a_lane();
    CHECK_EQUAL(lane.stall_at_base(800).reason, TTMEM_STALL_NONE);
    lane.take({kBase, 800}, kWorkers);
    CHECK_EQUAL(lane.stall_at_base(800).reason, TTMEM_STALL_ORDER);
    CHECK_EQUAL(lane.stall_at_base(0).reason, TTMEM_STALL_NONE);
}

TEST(what_is_overwritten_in_part_is_not_intact) {
    Lane lane = a_lane();
    lane.take({kBase, 1'000}, 1);
    lane.take({kBase + 1'000, 1'000}, 2);
    lane.retire(2);
    CHECK_EQUAL(lane.retired(), 2'000u);
    lane.take({kBase, 1'001}, 3);
    CHECK_EQUAL(lane.retired(), 0u);
}

TEST(slots_that_are_retired_when_somebody_looks_make_launches_wait_as_if_they_were_retired_at_once) {
    constexpr uint32_t kSlots = 8;
    Lane at_once, later;
    at_once.begin(0, kSlots, nullptr);
    later.begin(0, kSlots, nullptr);
    uint32_t tail = 0, finished = 0, random = 4'711, waits = 0;
    for (uint32_t number = 1; number <= 20'000; ++number) {
        random = random * 1'664'525 + 1'013'904'223;
        if (random >> 24 == 0) {  // a trace was replayed
            at_once.fill(number);
            later.fill(number);
            tail = kSlots;
            continue;
        }
        const LaneStall stall = at_once.stall_of(1);
        if (stall.reason != TTMEM_STALL_NONE || random >> 31 == 0) {
            later.retire(finished);
            CHECK_EQUAL(later.entry_count(), at_once.entry_count());
            CHECK_EQUAL(later.stall_of(1).reason, stall.reason);
            CHECK_EQUAL(later.stall_of(1).sync_count, stall.sync_count);
        }
        if (stall.reason != TTMEM_STALL_NONE) {
            ++waits;
            finished = stall.sync_count + (random >> 8) % (number - stall.sync_count);  // sometimes more are finished
            at_once.retire(finished);
        }
        if (tail == kSlots) tail = 0;
        at_once.take({tail, 1}, number);
        later.add({tail, 1}, number);
        ++tail;
    }
    CHECK_EQUAL(waits > 100, true);
}

TEST(what_is_intact_is_the_same_however_often_launches_go_round) {
    Lane lane = a_lane();
    Plainly plainly;
    uint32_t tail = kBase, random = 12'345;
    for (uint32_t number = 1; number <= 20'000; ++number) {
        random = random * 1'664'525 + 1'013'904'223;
        // Mostly small ones, so that many are intact at once; now and then one that goes over all of them.
        const uint32_t size = 16 + (random >> 8) % (random >> 28 == 0 ? kSize - 16 : 1'500);
        if (tail + size > kBase + kSize) tail = kBase;
        const auto is_in_the_way = [&](const LanePlace& one) {
            return one.address < tail + size && tail < one.address + one.size;
        };
        std::size_t gone = plainly.live.size() >= 7 ? 1 + (random >> 5) % 7 : 0;
        for (std::size_t i = gone; i < plainly.live.size(); ++i)
            if (is_in_the_way(plainly.live[i])) gone = i + 1;
        if (gone != 0) {
            plainly.retire(gone);
            CHECK_EQUAL(lane.retire(number - static_cast<uint32_t>(plainly.live.size()) - 1), true);
        }
        CHECK_EQUAL(lane.retire(0), false);
        lane.take({tail, size}, number);
        plainly.take({tail, size});
        tail += size;
        CHECK_EQUAL(lane.live(), Plainly::bytes(plainly.live));
        CHECK_EQUAL(lane.retired(), Plainly::bytes(plainly.intact));
        CHECK_EQUAL(lane.entry_count(), plainly.live.size());
    }
}

}  // namespace ttmem::hook
