// The live state by itself: the slab's free list and the index by id, driven without the operations around them.
#include "writer/live_state.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <thread>

#include "support/check.hpp"
#include "support/interleaving.hpp"
#include "support/journals.hpp"

namespace ttmem {
namespace {

constexpr Sizes kThreeLevels{16'384, 16};  // 4,096, 32,768 and 65,536 slots
constexpr uint32_t kWindow = kIndexLevels * kBucketSlots;

Key buffer_key(uint64_t id, uint16_t target = 1) { return {id, target, TTMEM_BUFFER}; }

/// Makes a key alive and enters it in the index.
uint32_t enter(const Writer& writer, Key key, uint64_t sequence) {
    const uint32_t entry = take_entry(writer);
    REQUIRE(entry != kNoEntry);
    RecordCopy words = a_buffer(key.target, key.id, 64);
    words.tag = Tag{Type::allocated, key.kind, TTMEM_DRAM, kIndexed, 0}.pack();
    commit_entry(writer, entry, sequence, words);
    const uint64_t hash = hash_of(key);
    REQUIRE(insert(writer, hash, entry, find_other(writer, key, hash, entry)));
    return entry;
}

void leave(const Writer& writer, Key key) {
    const Found found = find(writer, key, hash_of(key));
    RecordCopy words;
    REQUIRE(found.entry != kNoEntry && end_life(writer, found.entry, found.made_by, words));
    release_entry(writer, found.entry, words, &found, hash_of(key));
}

/// Ids that share their whole window: the same bucket on every level.
std::vector<uint64_t> ids_of_one_window(const Writer& writer, size_t count) {
    uint32_t buckets = 0;
    for (const uint32_t level : writer.index_buckets) buckets = std::max(buckets, level);
    std::vector<uint64_t> ids;
    for (uint64_t id = 1; ids.size() < count; ++id)
        if ((static_cast<uint32_t>(hash_of(buffer_key(id))) & (buckets - 1)) == 7) ids.push_back(id);
    return ids;
}

}  // namespace

TEST(a_key_is_found_from_its_entry_to_its_end_whatever_happens_to_others) {
    BareJournal journal(kThreeLevels);
    const Writer& writer = journal.writer;
    std::map<uint64_t, uint32_t> alive;
    Random random(1);
    for (uint64_t sequence = 1; sequence < 60'000; ++sequence) {
        const uint64_t id = random.below(14'000);
        const Key key = buffer_key(id, static_cast<uint16_t>(id % 3));
        const auto known = alive.find(id);
        if (known == alive.end()) {
            CHECK_EQUAL(find(writer, key, hash_of(key)).entry, kNoEntry);
            alive[id] = enter(writer, key, sequence);
        } else {
            CHECK_EQUAL(find(writer, key, hash_of(key)).entry, known->second);
            leave(writer, key);
            alive.erase(known);
        }
    }
    CHECK_EQUAL(taken_slots(writer), alive.size());
    for (const auto& [id, entry] : alive) {
        const Key key = buffer_key(id, static_cast<uint16_t>(id % 3));
        CHECK_EQUAL(find(writer, key, hash_of(key)).entry, entry);
    }
}

TEST(equal_ids_of_other_targets_and_kinds_are_other_keys) {
    BareJournal journal(kThreeLevels);
    const Writer& writer = journal.writer;
    std::set<uint32_t> entries;
    uint64_t sequence = 0;
    for (uint16_t target = 0; target < 4; ++target)
        for (uint8_t kind = 1; kind < 5; ++kind) entries.insert(enter(writer, {77, target, kind}, ++sequence));
    CHECK_EQUAL(entries.size(), 16u);
    for (uint16_t target = 0; target < 4; ++target)
        for (uint8_t kind = 1; kind < 5; ++kind) {
            const Found found = find(writer, {77, target, kind}, hash_of({77, target, kind}));
            CHECK_EQUAL(entries.erase(found.entry), 1u);
        }
}

TEST(each_level_takes_what_the_one_below_has_no_room_for) {
    BareJournal journal(kThreeLevels);
    const Writer& writer = journal.writer;
    const std::vector<uint64_t> ids = ids_of_one_window(writer, kWindow + 1);
    for (uint32_t i = 0; i < kWindow; ++i) {
        enter(writer, buffer_key(ids[i]), i + 1);
        CHECK_EQUAL(find(writer, buffer_key(ids[i]), hash_of(buffer_key(ids[i]))).level, i / kBucketSlots);
    }
    CHECK_EQUAL(journal.header().index_live[1].load(), uint64_t{kBucketSlots});
    CHECK_EQUAL(journal.header().index_live[2].load(), uint64_t{kBucketSlots});

    const Key late = buffer_key(ids[kWindow]);
    const uint32_t entry = take_entry(writer);
    commit_entry(writer, entry, 100, a_buffer(1, late.id, 64));
    CHECK(!insert(writer, hash_of(late), entry, find_other(writer, late, hash_of(late), entry)));

    for (uint32_t i = 0; i < kWindow; ++i) leave(writer, buffer_key(ids[i]));
    CHECK_EQUAL(taken_slots(writer), 0u);
    CHECK_EQUAL(journal.header().index_live[1].load() + journal.header().index_live[2].load(), 0u);
}

TEST(nothing_ever_moves_to_another_slot) {
    BareJournal journal(kThreeLevels);
    const Writer& writer = journal.writer;
    const std::vector<uint64_t> ids = ids_of_one_window(writer, kWindow);
    std::map<uint64_t, const AtomicU32*> slots;
    uint64_t sequence = 0;
    for (const uint64_t id : ids) {
        enter(writer, buffer_key(id), ++sequence);
        slots[id] = find(writer, buffer_key(id), hash_of(buffer_key(id))).slot;
    }
    Random random(2);
    for (int round = 0; round < 2000; ++round) {
        const uint64_t gone = ids[random.below(ids.size())];
        leave(writer, buffer_key(gone));
        for (const uint64_t id : ids)
            if (id != gone) CHECK(find(writer, buffer_key(id), hash_of(buffer_key(id))).slot == slots[id]);
        enter(writer, buffer_key(gone), ++sequence);
        slots[gone] = find(writer, buffer_key(gone), hash_of(buffer_key(gone))).slot;
    }
}

TEST(a_search_overtaken_by_an_end_and_a_new_life_never_returns_a_strangers_slot) {
    BareJournal journal({64, 16});
    const Writer& writer = journal.writer;
    const std::vector<uint64_t> ids = ids_of_one_window(writer, 3);
    const Key key = buffer_key(ids[1]), stranger = buffer_key(ids[2]);
    enter(writer, buffer_key(ids[0]), 1);
    const uint32_t entry = enter(writer, key, 2);
    const AtomicU32* slot = find(writer, key, hash_of(key)).slot;

    Found found;
    ParkedThread late(steps::index_slot_read, [&] { found = find(writer, key, hash_of(key)); });
    leave(writer, buffer_key(ids[0]));
    leave(writer, key);
    CHECK_EQUAL(enter(writer, key, 3), entry);  // the same entry and key, now in the slot before
    enter(writer, stranger, 4);
    CHECK(find(writer, stranger, hash_of(stranger)).slot == slot);
    late.finish();

    CHECK(found.entry == kNoEntry || found.slot == find(writer, key, hash_of(key)).slot);
}

TEST(a_life_ends_once) {
    BareJournal journal({64, 16});
    const uint32_t entry = enter(journal.writer, buffer_key(5), 9);
    RecordCopy words;
    CHECK(!end_life(journal.writer, entry, 8, words));
    CHECK(end_life(journal.writer, entry, 9, words));
    CHECK_EQUAL(words.id, 5u);
    CHECK_EQUAL(words.sequence(), 9u);
    CHECK(!end_life(journal.writer, entry, 9, words));
}

TEST(a_full_slab_gives_nothing_and_one_given_back_is_taken_again) {
    BareJournal journal({64, 16});
    std::set<uint32_t> taken;
    for (uint32_t i = 0; i < 64; ++i) taken.insert(take_entry(journal.writer));
    CHECK_EQUAL(taken.size(), 64u);
    CHECK_EQUAL(*taken.rbegin(), 63u);
    CHECK_EQUAL(take_entry(journal.writer), kNoEntry);
    give_entry(journal.writer, 17);
    CHECK_EQUAL(take_entry(journal.writer), 17u);
    CHECK_EQUAL(take_entry(journal.writer), kNoEntry);
}

TEST(the_free_list_hands_every_entry_to_one_thread_at_a_time) {
    BareJournal journal({64, 16});
    const RandomYields yields(3);
    std::array<std::atomic<int>, 64> owners{};
    const auto work = [&](int self) {
        Random random(static_cast<uint64_t>(self));
        std::vector<uint32_t> held;
        for (int round = 0; round < 20'000; ++round) {
            if (held.size() < 12 && random.below(2) == 0) {
                const uint32_t entry = take_entry(journal.writer);
                if (entry == kNoEntry) continue;
                CHECK_EQUAL(owners[entry].exchange(self), 0);
                journal.writer.slab[entry].time.store(~uint64_t{0});  // a life's stamp where the link was
                held.push_back(entry);
            } else if (!held.empty()) {
                std::swap(held[random.below(held.size())], held.back());
                CHECK_EQUAL(owners[held.back()].exchange(0), self);
                give_entry(journal.writer, held.back());
                held.pop_back();
            }
        }
        for (const uint32_t entry : held) {
            owners[entry].store(0);
            give_entry(journal.writer, entry);
        }
    };
    std::vector<std::thread> threads;
    for (int i = 1; i <= 6; ++i) threads.emplace_back(work, i);
    for (std::thread& thread : threads) thread.join();
    std::set<uint32_t> all;
    for (uint32_t entry; (entry = take_entry(journal.writer)) != kNoEntry;) all.insert(entry);
    CHECK_EQUAL(all.size(), 64u);
}

TEST(a_thread_that_saw_the_free_list_long_ago_does_not_break_it) {
    BareJournal journal({64, 16});
    const Writer& writer = journal.writer;
    for (uint32_t i = 0; i < 3; ++i) take_entry(writer);
    for (uint32_t i = 0; i < 3; ++i) give_entry(writer, i);  // list: 2, 1, 0
    std::atomic<uint32_t> got{kNoEntry};
    ParkedThread late(steps::free_head_seen, [&] { got.store(take_entry(writer)); });
    // Head 2 goes, 1 goes, 2 comes back: the head looks as it did, but what follows it is 0 now, not 1.
    CHECK_EQUAL(take_entry(writer), 2u);
    CHECK_EQUAL(take_entry(writer), 1u);
    give_entry(writer, 2);
    late.finish();
    CHECK_EQUAL(got.load(), 2u);
    CHECK_EQUAL(take_entry(writer), 0u);
    CHECK_EQUAL(take_entry(writer), 3u);
}

}  // namespace ttmem
