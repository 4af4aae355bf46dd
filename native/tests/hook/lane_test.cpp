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

/// Whether a launch waits for the room of the oldest one only: then no more than that one has to go.
bool is_by_first(Lane lane, const LaneStall& stall) {
    const uint32_t count = lane.entry_count();
    return stall.reason == TTMEM_STALL_SPACE && lane.retire(stall.sync_count) && lane.entry_count() + 1 == count;
}

/// A launch that goes where the runtime put it; why it waited for that.
LaneStall launch(Lane& lane, LanePlace place, uint32_t number) {
    const LaneStall stall = lane.stall_of(place.size);
    CHECK_EQUAL(lane.is_short_by_first(place.size, 0, stall.sync_count), is_by_first(lane, stall));
    CHECK(!lane.is_short_by_first(place.size, uint64_t{stall.sync_count} + 1, stall.sync_count));  // it is finished
    if (stall.reason != TTMEM_STALL_NONE) lane.retire(stall.sync_count);
    lane.take(place, number * kWorkers);
    return stall;
}

// What finished launches left, in one list that is looked through from the beginning.
struct Plainly {
    std::vector<LanePlace> live, intact;
    bool is_filled = false;  // by a trace, of which nothing stays intact

    void fill() {
        live.assign(1, {kBase, kSize});
        intact.clear();
        is_filled = true;
    }

    void take(LanePlace place) {
        std::erase_if(intact, [&](const LanePlace& one) {
            return one.address < place.address + place.size && place.address < one.address + one.size;
        });
        live.push_back(place);
    }
    void retire(std::size_t count) {
        if (is_filled && count != 0) {
            live.erase(live.begin());
            is_filled = false;
            --count;
        }
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

TEST(a_lane_that_nobody_has_begun_has_nothing_intact) {
    Lane lane{};
    lane.go_on(0, {64, 64}, 1);
    lane.go_on(2, {64, 64}, 2);
    CHECK_EQUAL(lane.live(), 64u);
    CHECK_EQUAL(lane.retired(), 0u);
}

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

namespace {

constexpr uint32_t kMost = 8;  // entries of a lane

bool are_equal(const LaneStall& one, const LaneStall& other) {
    return one.reason == other.reason && one.sync_count == other.sync_count;
}

/// 20,000 launches that go round and round, each of a multiple of `unit`; how many of them were `launch`ed plainly. It retires
/// all below a count and takes a place. Judged by hand, and by a lane in which that is done one after the other.
template <class Launch>
uint32_t go_round(uint32_t unit, uint32_t units_most, Launch&& launch) {
    static Stretch intact[2][kIntactMost];
    Lane lane, other;
    lane.begin(kBase, kSize, intact[0]);
    other.begin(kBase, kSize, intact[1]);
    Plainly plainly;
    uint32_t tail = kBase, random = 12'345, plain_count = 0;
    for (uint32_t number = 1; number <= 20'000; ++number) {
        random = random * 1'664'525 + 1'013'904'223;
        if (random % 211 == 0) {
            lane.fill(number);
            other.fill(number);
            plainly.fill();
            tail = kBase;
            continue;
        }
        // Mostly small ones, so that many are intact at once; now and then one that goes over nearly all of them.
        const uint32_t size = unit * (1 + (random >> 8) % (random >> 28 == 0 ? kSize / unit : units_most));
        if (tail + size > kBase + kSize) tail = kBase;
        const auto is_in_the_way = [&](const LanePlace& one) {
            return one.address < tail + size && tail < one.address + one.size;
        };
        std::size_t gone =
            plainly.live.size() >= kMost - random / 8 % 3 ? (random >> 5) % (plainly.live.size() + 1) : 0;
        for (std::size_t i = gone; i < plainly.live.size(); ++i)
            if (is_in_the_way(plainly.live[i])) gone = i + 1;
        plainly.retire(gone);
        const uint64_t retired_below = uint64_t{number} - plainly.live.size();
        if (plainly.live.size() == kMost) plainly.retire(1);
        plainly.take({tail, size});

        if (random % 5 == 0) lane.retire_below(retired_below);  // somebody looked meanwhile
        other.retire_below(retired_below);
        other.take({tail, size}, number);
        plain_count += launch(lane, retired_below, LanePlace{tail, size}, number) ? 1u : 0u;
        tail += size;
        CHECK_EQUAL(lane.live(), Plainly::bytes(plainly.live));
        CHECK_EQUAL(lane.retired(), Plainly::bytes(plainly.intact));
        CHECK_EQUAL(lane.entry_count(), plainly.live.size());
        for (const uint32_t wanted : {unit, 7 * unit, kSize / 3, kSize})
            CHECK(are_equal(lane.stall_of(wanted), other.stall_of(wanted)));
    }
    return plain_count;
}

}  // namespace

TEST(what_is_intact_is_the_same_however_often_launches_go_round) {
    go_round(16, 90, [](Lane& lane, uint64_t retired_below, LanePlace place, uint32_t number) {
        lane.retire_below(retired_below);
        lane.take(place, number);
        return false;
    });
}

TEST(what_is_retired_and_written_over_at_once_is_the_same) {
    const auto launch = [](Lane& lane, uint64_t retired_below, LanePlace place, uint32_t number) {
        lane.go_on(retired_below, place, number);
        return false;
    };
    go_round(16, 90, launch);
    go_round(2'208, 4, launch);
}

TEST(the_plain_way_is_the_same_or_not_gone_at_all) {
    const auto launch = [](Lane& lane, uint64_t retired_below, LanePlace place, uint32_t number) {
        const bool is_plain = lane.go_on_plainly(retired_below, place, number);
        if (!is_plain) lane.go_on(retired_below, place, number);
        return is_plain;
    };
    go_round(16, 90, launch);
    CHECK(go_round(16, 1'500, launch) > 2'000);
    CHECK(go_round(11'776, 2, launch) > 2'000);  // a sixth or a third of the lane: their ends meet
}

}  // namespace ttmem::hook
