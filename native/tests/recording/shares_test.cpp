// How much several processes can have had at most, by blocks: never less than they had in the order of time.
#include "recording/watch/shares.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "support/check.hpp"

using namespace ttmem::recording;

namespace {

struct Change {
    uint64_t process, time;
    int64_t by;
};

/// Changes of some processes, each in the order of time.
std::vector<std::vector<Change>> any_changes(std::mt19937_64& random, size_t processes) {
    std::vector<std::vector<Change>> all(processes);
    for (size_t i = 0; i < processes; ++i) {
        uint64_t time = 1000 + random() % 20;
        int64_t held = 0;
        for (size_t left = 20 + random() % 40; left != 0; --left) {
            const int64_t by = held > 0 && random() % 2 == 0 ? -static_cast<int64_t>(1 + random() % held)
                                                             : static_cast<int64_t>(1 + random() % 100);
            held += by;
            time += 1 + random() % 10;
            all[i].push_back({i + 1, time, by});
        }
    }
    return all;
}

struct HeardBlock {
    uint64_t first, last;
    int64_t highest;
    bool is_bound;
};

/// As a recorder hears them: some of one, then some of another.
std::vector<HeardBlock> heard(std::mt19937_64& random, const std::vector<std::vector<Change>>& all) {
    std::vector<size_t> next(all.size());
    std::vector<HeardBlock> blocks;
    Shares shares;
    int64_t now = 0;
    const auto is_left = [&](size_t i) { return next[i] < all[i].size(); };
    for (bool is_any = true; is_any;) {
        HeardBlock block{~uint64_t{0}, 0, now, false};
        for (size_t turns = 1 + random() % 4; turns != 0; --turns) {
            const size_t i = random() % all.size();
            for (size_t left = random() % 12; left != 0 && is_left(i); --left) {
                const Change& one = all[i][next[i]++];
                shares.add(one.process, one.by, now, block.highest);
                now += one.by;
                block.highest = std::max(block.highest, now);
                block.first = std::min(block.first, one.time);
                block.last = std::max(block.last, one.time);
            }
        }
        is_any = false;
        for (size_t i = 0; i < all.size(); ++i) is_any |= is_left(i);
        if (block.last == 0) continue;
        block.is_bound = shares.close(block.first, block.last, block.highest);
        blocks.push_back(block);
    }
    return blocks;
}

}  // namespace

// A moment is that of the last block with something as early: all that happened until then is in it or before it.
TEST(what_is_said_of_a_block_is_never_lower_than_what_was_held_in_its_time) {
    for (uint64_t seed = 0; seed < 2000; ++seed) {
        std::mt19937_64 random(seed);
        const auto all = any_changes(random, 1 + seed % 4);
        const std::vector<HeardBlock> blocks = heard(random, all);
        std::vector<Change> merged;
        for (const auto& own : all) merged.insert(merged.end(), own.begin(), own.end());
        std::stable_sort(merged.begin(), merged.end(), [](auto& a, auto& b) { return a.time < b.time; });
        int64_t now = 0;
        for (const Change& one : merged) {
            now += one.by;
            const auto last = std::find_if(blocks.rbegin(), blocks.rend(),
                                           [&](const HeardBlock& block) { return block.first <= one.time; });
            if (last == blocks.rend() || last->highest < now) CHECK_EQUAL(seed, ~uint64_t{0});
        }
    }
}

TEST(of_one_process_the_order_is_known) {
    std::mt19937_64 random(1);
    for (const HeardBlock& block : heard(random, any_changes(random, 1))) CHECK(!block.is_bound);
}

TEST(who_had_it_one_after_the_other_had_it_in_that_order) {
    Shares shares;
    int64_t highest = 100;
    shares.add(1, 100, 0, 0);
    shares.add(1, -100, 100, 100);
    CHECK(!shares.close(10, 20, highest));
    highest = 0;
    shares.add(2, 50, 0, 0);
    highest = 50;
    CHECK(!shares.close(30, 40, highest));
    CHECK_EQUAL(highest, 50);
    shares.add(2, 10, 50, 50);
    highest = 60;
    CHECK(shares.close(15, 50, highest));  // it reaches into the time of the first
    CHECK_EQUAL(highest, 160);
}
