// The table of live entries against a plain map: growth, collisions, deletion that closes the gap.
#include "ledger/book/table.hpp"

#include <map>

#include "support/check.hpp"
#include "support/interleaving.hpp"
#include "support/journals.hpp"

namespace ttmem {
namespace {

using Plain = std::map<std::tuple<uint16_t, uint8_t, uint64_t>, uint64_t>;

RecordCopy entry_of(EntryKey key, uint64_t bytes) {
    RecordCopy words = a_buffer(key.target, key.id, bytes);
    words.tag = Tag{Type::allocated, key.kind, TTMEM_DRAM, 0, 0}.pack();
    return words;
}

void put(EntryTable& table, EntryKey key, uint64_t bytes) { table.insert(entry_of(key, bytes), entry_hash(key)); }
void drop(EntryTable& table, EntryKey key) { table.erase(key, entry_hash(key), 0); }

/// Ids whose hash ends in the given bits.
std::vector<uint64_t> ids_hashed_to(uint32_t home, uint32_t mask, size_t count) {
    std::vector<uint64_t> ids;
    for (uint64_t id = 0; ids.size() < count; ++id)
        if ((entry_hash({id, 1, TTMEM_BUFFER}) & mask) == home) ids.push_back(id);
    return ids;
}

}  // namespace

TEST(an_empty_table_finds_and_erases_nothing) {
    EntryTable table;
    CHECK(table.find({1, 1, 1}) == nullptr);
    drop(table, {1, 1, 1});
    table.prefetch_slot(7);
    table.prefetch_entry(7);
    table.for_each([](const RecordCopy&) { check::fail(__FILE__, __LINE__, "nothing should be there"); });
    CHECK_EQUAL(table.size(), 0u);
}

TEST(a_table_agrees_with_a_plain_map_through_a_long_random_life) {
    EntryTable table;
    Plain plain;
    Random random(11);
    uint64_t range = 50;
    for (int step = 0; step < 120'000; ++step) {
        if (step % 20'000 == 0) range *= 5;  // grows several times, and is emptied in between
        const EntryKey key{random.below(range), static_cast<uint16_t>(random.below(3)),
                           static_cast<uint8_t>(random.below(2))};
        const auto known = plain.find({key.target, key.kind, key.id});
        const RecordCopy* there = table.find(key);
        CHECK_EQUAL(there != nullptr, known != plain.end());
        if (known == plain.end()) {
            put(table, key, random.below(1000));
            plain[{key.target, key.kind, key.id}] = table.find(key)->reserved_bytes();
        } else {
            if (there != nullptr) CHECK_EQUAL(there->reserved_bytes(), known->second);
            drop(table, key);
            plain.erase(known);
        }
        CHECK_EQUAL(table.size(), plain.size());
    }
    CHECK(alive_in(table) == plain);
    while (!plain.empty()) {
        const auto [target, kind, id] = plain.begin()->first;
        drop(table, {id, target, kind});
        plain.erase(plain.begin());
    }
    CHECK(alive_in(table).empty());
}

TEST(erasing_in_a_cluster_that_runs_over_the_end_keeps_the_others_findable) {
    // A new table has 64 slots: thirty keys that all belong into the last three.
    std::vector<uint64_t> ids;
    for (const uint32_t home : {61u, 62u, 63u})
        for (const uint64_t id : ids_hashed_to(home, 63, 10)) ids.push_back(id);
    Random random(5);
    for (int round = 0; round < 200; ++round) {
        EntryTable table;
        std::vector<uint64_t> left = ids;
        for (size_t i = left.size(); i > 1; --i) std::swap(left[i - 1], left[random.below(i)]);
        for (const uint64_t id : left) put(table, {id, 1, TTMEM_BUFFER}, id);
        while (!left.empty()) {
            drop(table, {left.back(), 1, TTMEM_BUFFER});
            CHECK(table.find({left.back(), 1, TTMEM_BUFFER}) == nullptr);
            left.pop_back();
            for (const uint64_t id : left) CHECK(table.find({id, 1, TTMEM_BUFFER}) != nullptr);
        }
    }
}

TEST(erasing_a_key_that_is_not_there_harms_nobody) {
    EntryTable table;
    for (uint64_t id = 0; id < 100; ++id) put(table, {id, 1, 1}, id);
    for (uint64_t id = 100; id < 200; ++id) drop(table, {id, 1, 1});
    CHECK_EQUAL(alive_in(table).size(), 100u);
}

TEST(a_cleared_table_starts_over) {
    EntryTable table;
    for (uint64_t id = 0; id < 10'000; ++id) put(table, {id, 1, 1}, id);
    table.clear();
    CHECK_EQUAL(table.size(), 0u);
    CHECK(table.find({5, 1, 1}) == nullptr);
    for (uint64_t id = 0; id < 100; ++id) put(table, {id, 2, 1}, id);
    CHECK_EQUAL(alive_in(table).size(), 100u);
}

TEST(entries_given_back_are_used_again) {
    EntryTable table;
    put(table, {0, 1, 1}, 1);
    const RecordCopy* first = table.find({0, 1, 1});
    for (uint64_t id = 1; id < 100'000; ++id) {
        drop(table, {id - 1, 1, 1});
        put(table, {id, 1, 1}, 1);
    }
    CHECK(table.find({99'999, 1, 1}) == first);
}

}  // namespace ttmem
