// Buffers that are allocated by core: one entry for each address, one allocation, one end.
#include <string>

#include "support/check.hpp"
#include "support/collecting.hpp"

namespace ttmem {
namespace {

constexpr uint64_t kOnEachCore = 32'768;

uint32_t named(const char* cores) { return ttmem_intern(cores, static_cast<uint32_t>(std::string(cores).size())); }

struct Parts {
    ttmem_core_part parts[3] = {
        {0x10'0000, named("0,0-3,0"), 4}, {0xf'0000, named("4,0"), 1}, {0xe'0000, named("5,0-6,0"), 2}};
    uint32_t count = 3;
};

ttmem_handle report_parts(uint16_t target, uint64_t id, const Parts& told, uint8_t options = 0) {
    ttmem_core_buffer buffer{};
    buffer.target = target;
    buffer.id = id;
    buffer.size_per_core_bytes = kOnEachCore;
    buffer.requested_bytes = 200'000;
    buffer.parts = told.parts;
    buffer.part_count = told.count;
    buffer.type = TTMEM_BUFFER_L1;
    buffer.layout = TTMEM_HEIGHT_SHARDED;
    buffer.options = options;
    return ttmem_core_buffer_alloc(&buffer);
}

std::vector<RecordCopy> alive() {
    std::vector<RecordCopy> found;
    auto reader = own_reader();
    REQUIRE(reader->scan(found) == ReadResult::ok);
    std::sort(found.begin(), found.end(), [](const RecordCopy& a, const RecordCopy& b) { return a.commit < b.commit; });
    return found;
}

const PoolCounters& l1(uint16_t target) { return the_writer.targets[target].pools[TTMEM_L1]; }

void check_nothing_left(uint16_t target) {
    CHECK(alive().empty());
    CHECK_EQUAL(l1(target).used.load(), 0u);
    CHECK_EQUAL(l1(target).allocs.load(), l1(target).frees.load());
    CHECK_EQUAL(taken_slots(the_writer), 0u);
    CHECK_EQUAL(the_writer.header->unmatched_frees.load(), 0u);
}

// A book that followed all of it has what the counters have.
void check_followed(Follower& follower, uint16_t target, uint64_t count) {
    follower.catch_up();
    const Amount& held = follower.book.targets()[target].totals.pools[TTMEM_L1];
    CHECK_EQUAL(static_cast<uint64_t>(held.used), l1(target).used.load());
    CHECK_EQUAL(static_cast<uint64_t>(held.count), count);
    CHECK_EQUAL(follower.book.table().size(), alive().size());
}

}  // namespace

TEST(a_buffer_has_an_entry_for_each_address_and_is_charged_bytes_times_cores) {
    track({64, 256});
    const uint16_t chip = open_chip(1);
    const Parts told;
    report_parts(chip, 7, told);
    const std::vector<RecordCopy> found = alive();
    REQUIRE(found.size() == 3);
    uint64_t requested = 0;
    for (const RecordCopy& words : found) {
        const auto part = std::find_if(told.parts, told.parts + 3, [&](const ttmem_core_part& one) {
            return one.address == words.buffer_address();
        });
        REQUIRE(part != told.parts + 3);
        CHECK(words.is_by_core());
        CHECK_EQUAL(words.id, 7u);
        CHECK_EQUAL(words.core_set(), part->core_set);
        CHECK_EQUAL(words.core_count(), uint64_t{part->core_count});
        CHECK_EQUAL(words.per_core_bytes(), kOnEachCore);
        CHECK_EQUAL(words.layout(), TTMEM_HEIGHT_SHARDED);
        CHECK_EQUAL(words.is_further(), part != told.parts);
        requested += words.requested_bytes();
    }
    CHECK_EQUAL(requested, 200'000u);
    CHECK_EQUAL(l1(chip).used.load(), 7 * kOnEachCore);
    CHECK_EQUAL(l1(chip).allocs.load(), 1u);
}

TEST(a_free_by_handle_ends_all_parts) {
    track({64, 256});
    const uint16_t chip = open_chip(1);
    Follower follower(own_reader());
    const ttmem_handle listed = report_parts(chip, 7, {}), unlisted = report_parts(chip, 8, {}, TTMEM_BY_HANDLE);
    check_followed(follower, chip, 2);
    ttmem_free(listed);
    check_followed(follower, chip, 1);
    ttmem_free(unlisted);
    check_followed(follower, chip, 0);
    check_nothing_left(chip);
}

TEST(a_free_by_id_ends_all_parts) {
    track({64, 256});
    const uint16_t chip = open_chip(1);
    Follower follower(own_reader());
    report_parts(chip, 7, {});
    ttmem_free_id(chip, TTMEM_BUFFER, 7, TTMEM_L1, 0);
    check_followed(follower, chip, 0);
    check_nothing_left(chip);
    ttmem_free_id(chip, TTMEM_BUFFER, 7, TTMEM_L1, 0);
    CHECK_EQUAL(the_writer.header->unmatched_frees.load(), 1u);
}

TEST(a_live_id_that_is_allocated_again_replaces_all_parts) {
    track({64, 256});
    const uint16_t chip = open_chip(1);
    Follower follower(own_reader());
    report_parts(chip, 7, {});
    Parts one;
    one.count = 1;
    report_parts(chip, 7, one);
    check_followed(follower, chip, 1);
    CHECK_EQUAL(l1(chip).used.load(), 4 * kOnEachCore);
    CHECK_EQUAL(the_writer.header->replaced.load(), 1u);
    report_parts(chip, 7, {});
    check_followed(follower, chip, 1);
    CHECK_EQUAL(l1(chip).used.load(), 7 * kOnEachCore);
    report_buffer(chip, 7, 4096);  // in DRAM
    check_followed(follower, chip, 0);
    CHECK_EQUAL(alive().size(), 1u);
}

TEST(a_late_reader_finds_all_parts_and_one_allocation) {
    track({64, 16});
    const uint16_t chip = open_chip(1);
    for (uint64_t id = 1; id <= 9; ++id) report_parts(chip, id, {});
    Follower follower(own_reader());
    check_followed(follower, chip, 9);
    for (uint64_t id = 1; id <= 9; ++id) ttmem_free_id(chip, TTMEM_BUFFER, id, TTMEM_L1, 0);
    check_followed(follower, chip, 0);
    check_nothing_left(chip);
}

TEST(closing_a_target_ends_parts_and_excuses_one_free) {
    track({64, 256});
    const uint16_t chip = open_chip(1);
    Follower follower(own_reader());
    const ttmem_handle handle = report_parts(chip, 7, {});
    ttmem_device_close(chip);
    CHECK(alive().empty());
    CHECK_EQUAL(l1(chip).used.load(), 0u);
    ttmem_free(handle);
    CHECK_EQUAL(the_writer.header->unmatched_frees.load(), 0u);
    open_chip(1);
    ttmem_free_id(chip, TTMEM_BUFFER, 7, TTMEM_L1, 0);
    CHECK_EQUAL(the_writer.header->unmatched_frees.load(), 1u);
}

TEST(a_full_table_counts_the_whole_buffer_or_lists_all_of_it) {
    track({64, 1024});
    const uint16_t chip = open_chip(1);
    std::vector<ttmem_handle> handles;
    for (uint64_t id = 1; id <= 30; ++id)
        handles.push_back(report_parts(chip, id, {}, id % 2 == 0 ? TTMEM_BY_HANDLE : 0));
    CHECK_EQUAL(l1(chip).used.load(), 30 * 7 * kOnEachCore);
    CHECK_EQUAL(l1(chip).allocs.load() - l1(chip).frees.load(), 30u);
    CHECK_EQUAL(alive().size() % 3, 0u);
    for (const ttmem_handle handle : handles) ttmem_free(handle);
    CHECK(alive().empty());
    CHECK_EQUAL(l1(chip).used.load(), 0u);
    CHECK_EQUAL(the_writer.header->unmatched_frees.load(), 0u);
}

TEST(odd_arguments_are_cut_and_counted) {
    track({64, 256});
    const uint16_t chip = open_chip(1);
    ttmem_core_buffer buffer{};
    buffer.target = chip;
    CHECK_EQUAL(ttmem_core_buffer_alloc(&buffer), 0u);  // no parts
    const ttmem_core_part part{0xffff'ffff, ~0u, 0xffff};
    buffer.parts = &part;
    buffer.part_count = 1;
    buffer.size_per_core_bytes = ~uint64_t{0} >> 1;
    buffer.type = 0xff;
    buffer.layout = 0xff;
    ttmem_core_buffer_alloc(&buffer);
    const std::vector<RecordCopy> found = alive();
    REQUIRE(found.size() == 1);
    CHECK_EQUAL(found[0].core_set(), 0u);
    CHECK_EQUAL(found[0].layout(), TTMEM_LAYOUT_UNKNOWN);
    CHECK_EQUAL(found[0].per_core_bytes(), kPerCoreMost);
    CHECK_EQUAL(found[0].reserved_bytes(), kSizeMost);
    CHECK_EQUAL(the_writer.header->clamped.load(), 1u);
}

TEST(what_nobody_can_place_is_counted) {
    track({64, 16});
    open_chip(1);
    ttmem_unreported(2);
    Hot hot;
    REQUIRE(own_reader()->look(hot));
    CHECK_EQUAL(hot.unreported, 2u);
}

}  // namespace ttmem
