// Sets of address ranges: exact while there is room, and then covering.
#include "traces/ranges.hpp"

#include <memory>
#include <random>
#include <set>
#include <vector>

#include "support/check.hpp"

namespace ttmem {
namespace {

constexpr uint64_t kSpace = 512;
constexpr uint32_t kPlaces = 3;

// Which addresses were added, one by one.
struct Addresses {
    bool is_there[kPlaces][kSpace] = {};

    void add(const AddressRange& range) {
        for (uint64_t at = range.begin; at < range.end; ++at) is_there[range.place][at] = true;
    }
    bool has_any(uint32_t place, uint64_t begin, uint64_t end) const {
        for (uint64_t at = begin; at < end; ++at)
            if (is_there[place][at]) return true;
        return false;
    }
    bool has_all(const AddressRange& range) const {
        for (uint64_t at = range.begin; at < range.end; ++at)
            if (!is_there[range.place][at]) return false;
        return true;
    }
};

AddressRange any_range(std::mt19937& random, uint64_t longest) {
    const uint64_t begin = random() % kSpace;
    const uint64_t end = std::min<uint64_t>(kSpace, begin + random() % (longest + 1));
    return {begin, end, static_cast<uint32_t>(random() % kPlaces), false};
}

// Sorted, none touching the next of its place.
template <class Set>
bool is_in_order(const Set& set) {
    const AddressRange* last = nullptr;
    for (const AddressRange& range : set) {
        if (range.begin >= range.end) return false;
        if (last != nullptr && last->place > range.place) return false;
        if (last != nullptr && last->place == range.place && last->end >= range.begin) return false;
        last = &range;
    }
    return true;
}

template <uint32_t Most>
std::unique_ptr<RangeSet<Most>> an_empty_set() {
    return std::make_unique<RangeSet<Most>>();
}

}  // namespace

TEST(a_set_with_room_answers_as_single_addresses_would) {
    std::mt19937 random(1);
    for (int story = 0; story < 40; ++story) {
        const auto set = an_empty_set<kRangesMost>();
        Addresses truth;
        for (int step = 0; step < 120; ++step) {
            const AddressRange added = any_range(random, 12);
            set->add(added);
            truth.add(added);
            CHECK(is_in_order(*set));
            for (int question = 0; question < 8; ++question) {
                const AddressRange asked = any_range(random, 9);
                const AddressRange* found = set->find(asked.place, asked.begin, asked.end);
                CHECK_EQUAL(found != nullptr, truth.has_any(asked.place, asked.begin, asked.end));
                CHECK(found == nullptr || (!found->is_widened && truth.has_all(*found)));
            }
        }
    }
}

TEST(a_full_set_covers_all_that_was_added_and_marks_what_it_made_up) {
    std::mt19937 random(2);
    for (int story = 0; story < 60; ++story) {
        const auto set = an_empty_set<8>();
        Addresses truth;
        for (int step = 0; step < 60; ++step) {
            const AddressRange added = any_range(random, 5);
            set->add(added);
            truth.add(added);
            CHECK(set->count() <= 8);
            CHECK(is_in_order(*set));
        }
        for (uint32_t place = 0; place < kPlaces; ++place)
            for (uint64_t at = 0; at < kSpace; ++at)
                CHECK(!truth.is_there[place][at] || set->find(place, at, at + 1) != nullptr);
        for (const AddressRange& range : *set) CHECK(range.is_widened || truth.has_all(range));
    }
}

TEST(the_smallest_gap_is_given_up_first) {
    const auto set = an_empty_set<3>();
    set->add({0, 10, 0, false});
    set->add({100, 110, 0, false});
    set->add({112, 120, 0, false});
    set->add({300, 310, 0, false});
    CHECK_EQUAL(set->count(), 3u);
    CHECK(set->find(0, 10, 100) == nullptr);
    CHECK(set->find(0, 110, 112)->is_widened);
    CHECK(!set->find(0, 300, 301)->is_widened);
}

TEST(what_touches_is_one_and_what_is_empty_is_nothing) {
    const auto set = an_empty_set<kRangesMost>();
    set->add({16, 32, 0, false});
    set->add({32, 48, 0, false});
    set->add({48, 48, 0, false});
    CHECK_EQUAL(set->count(), 1u);
    CHECK(set->find(0, 47, 64) != nullptr);
    CHECK(set->find(0, 48, 64) == nullptr);
    CHECK(set->find(0, 20, 20) == nullptr);
    CHECK(set->find(1, 20, 24) == nullptr);
}

TEST(an_exact_range_makes_a_rough_one_exact) {
    const auto set = an_empty_set<kRangesMost>();
    set->add({16, 32, 0, true});
    set->add({0, 64, 0, false});
    CHECK(!set->find(0, 20, 21)->is_widened);
    set->add({8, 24, 0, true});
    CHECK(!set->find(0, 20, 21)->is_widened);
    set->add({64, 70, 0, true});
    CHECK(set->find(0, 20, 21)->is_widened);
}

}  // namespace ttmem
