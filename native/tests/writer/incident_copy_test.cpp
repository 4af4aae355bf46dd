// The copy of what was alive at an incident: which entries, which of too many, and each of them as it really was.
#include "writer/incident_copy.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "support/check.hpp"
#include "support/incidents.hpp"
#include "support/interleaving.hpp"
#include "support/journals.hpp"

namespace ttmem {
namespace {

using Ids = std::multiset<uint64_t>;

void buffer(uint16_t target, uint64_t id, uint64_t bytes, uint8_t type, uint64_t address = 0) {
    ttmem_buffer told{};
    told.target = target;
    told.id = id;
    told.requested_bytes = bytes;
    told.type = type;
    told.address = address;
    ttmem_buffer_alloc(&told);
}

void circular_buffer(uint16_t target, uint64_t id, uint32_t bytes, uint16_t cores, uint32_t address = 0) {
    ttmem_circular_buffer told{};
    told.target = target;
    told.id = id;
    told.size_per_core_bytes = bytes;
    told.core_count = cores;
    told.address = address;
    ttmem_cb_alloc(&told);
}

Ids ids_after(uint16_t target, uint8_t pool, uint8_t kind = TTMEM_INCIDENT_OUT_OF_MEMORY) {
    ttmem_incident incident = an_incident(target, pool, the_writer.header->incidents.load() + 1);
    incident.kind = kind;
    ttmem_report_incident(&incident);
    const Kept kept = stored_incident(the_writer.header->incidents.load());
    CHECK_EQUAL(kept.head.left_out.load(), 0u);
    CHECK_EQUAL(kept.flags & kNoCopy, 0u);
    return kept.ids();
}

}  // namespace

TEST(what_shares_addresses_with_what_was_refused_is_copied) {
    track({1024, 64});
    const uint16_t chip = open_chip(7), other = open_chip(8);
    buffer(chip, 1, 10, TTMEM_BUFFER_DRAM);
    buffer(chip, 2, 10, TTMEM_BUFFER_L1);
    buffer(chip, 3, 10, TTMEM_BUFFER_L1_SMALL);
    buffer(chip, 4, 10, TTMEM_BUFFER_TRACE);
    circular_buffer(chip, 5, 10, 4);
    buffer(other, 6, 10, TTMEM_BUFFER_L1);
    buffer(chip, 7, 10, TTMEM_BUFFER_DRAM);
    ttmem_free_id(chip, TTMEM_BUFFER, 7, TTMEM_DRAM, 0);
    ttmem_binary_status(chip, 8, TTMEM_COMMITTED, 0);  // takes no memory
    ttmem_binary_status(chip, 9, TTMEM_COMMITTED, 100);
    CHECK(ids_after(chip, TTMEM_L1) == (Ids{2, 3, 5}));
    CHECK(ids_after(chip, TTMEM_L1_SMALL) == (Ids{2, 3, 5}));
    CHECK(ids_after(chip, TTMEM_CB) == (Ids{2, 3, 5}));
    CHECK(ids_after(chip, TTMEM_L1, TTMEM_INCIDENT_CLASH) == (Ids{2, 3, 5}));
    CHECK(ids_after(chip, TTMEM_DRAM) == (Ids{1, 9}));
    CHECK(ids_after(chip, TTMEM_TRACE) == (Ids{4}));
    CHECK(ids_after(chip, TTMEM_DRAM, TTMEM_INCIDENT_UNSAFE_REPLAY) == (Ids{1, 9}));
    CHECK(ids_after(other, TTMEM_L1) == (Ids{6}));
    ttmem_device_close(chip);
    CHECK(ids_after(chip, TTMEM_DRAM).empty());
}

TEST(a_copied_entry_is_the_entry) {
    track({1024, 64});
    const uint16_t chip = open_chip(7);
    buffer(chip, 42, 4096, TTMEM_BUFFER_L1, 0x5'0000);
    RecordCopy alive;
    copy_words(the_writer.slab[0], alive);
    alive.commit = the_writer.slab[0].commit.load();
    refuse(chip, TTMEM_L1, 1);
    const Kept kept = stored_incident(1);
    REQUIRE(kept.entries.size() == 1);
    CHECK(std::memcmp(&kept.entries[0], &alive, sizeof alive) == 0);
}

TEST(a_mesh_and_its_chips_are_copied_together) {
    track({1024, 64});
    const uint16_t chips[] = {open_chip(7), open_chip(8), open_chip(9)};
    const uint16_t mesh = ttmem_mesh_open(1, 1, 2, chips, 2), other = ttmem_mesh_open(2, 1, 1, chips + 2, 1);
    buffer(mesh, 1, 10, TTMEM_BUFFER_L1);
    buffer(chips[0], 2, 10, TTMEM_BUFFER_L1);
    buffer(chips[1], 3, 10, TTMEM_BUFFER_L1);
    buffer(chips[2], 4, 10, TTMEM_BUFFER_L1);
    buffer(other, 5, 10, TTMEM_BUFFER_L1);
    CHECK(ids_after(mesh, TTMEM_L1) == (Ids{1, 2, 3}));
    CHECK(ids_after(chips[0], TTMEM_L1) == (Ids{1, 2}));
    CHECK(ids_after(other, TTMEM_L1) == (Ids{4, 5}));
    CHECK(ids_after(0, TTMEM_L1).empty());
}

TEST(of_too_many_the_largest_are_kept) {
    track({65'536, 64});
    const uint16_t chip = open_chip(7);
    Random random(1);
    std::vector<uint64_t> sizes;
    uint64_t all = 0;
    for (uint64_t id = 1; id <= 20'000; ++id) {
        const uint64_t bytes = random.below(1 << 26) * 32'768 + id;  // no two alike
        sizes.push_back(bytes);
        all += bytes;
        buffer(chip, bytes, bytes, TTMEM_BUFFER_DRAM);
    }
    std::sort(sizes.rbegin(), sizes.rend());
    refuse(chip, TTMEM_DRAM, 1);
    const Kept kept = stored_incident(1);
    CHECK(kept.ids() == Ids(sizes.begin(), sizes.begin() + kIncidentEntries));
    uint64_t bytes = 0;
    for (const RecordCopy& words : kept.entries) bytes += words.reserved_bytes();
    CHECK_EQUAL(kept.head.left_out.load(), 20'000 - kIncidentEntries);
    CHECK_EQUAL(kept.head.left_out_bytes.load(), all - bytes);
}

TEST(of_too_many_in_l1_the_lowest_buffers_then_the_largest_of_all_are_kept) {
    track({65'536, 64});
    const uint16_t chip = open_chip(7);
    Random random(2);
    std::map<uint64_t, uint64_t> address_of, size_of;  // by id
    for (uint64_t id = 1; id <= 9'000; ++id) {
        size_of[id] = random.below(1 << 20) * 16'384 + id;
        if (id % 3 == 0) {  // circular buffers lie below all buffers, and take none of their places
            circular_buffer(chip, id, static_cast<uint32_t>(size_of[id] % (1u << 31)), 1, 1);
            size_of[id] %= 1u << 31;
        } else {
            address_of[id] = random.below(1 << 20) * 16'384 + id;
            buffer(chip, id, size_of[id], TTMEM_BUFFER_L1, address_of[id]);
        }
    }
    std::vector<uint64_t> low, rest;
    for (const auto& [id, address] : address_of) low.push_back(id);
    std::sort(low.begin(), low.end(), [&](uint64_t a, uint64_t b) { return address_of[a] < address_of[b]; });
    low.resize(1024);
    const std::set<uint64_t> lowest(low.begin(), low.end());
    for (const auto& [id, size] : size_of)
        if (!lowest.contains(id)) rest.push_back(id);
    std::sort(rest.begin(), rest.end(), [&](uint64_t a, uint64_t b) { return size_of[a] > size_of[b]; });
    Ids expected(low.begin(), low.end());
    expected.insert(rest.begin(), rest.begin() + kIncidentEntries - 1024);
    refuse(chip, TTMEM_L1, 1);
    CHECK(stored_incident(1).ids() == expected);
    CHECK_EQUAL(stored_incident(1).head.left_out.load(), 9'000 - kIncidentEntries);
}

TEST(a_copy_is_full_before_anything_is_left_out) {
    track({8'192, 64});
    const uint16_t chip = open_chip(7);
    for (uint64_t id = 1; id <= kIncidentEntries; ++id) buffer(chip, id, 8, TTMEM_BUFFER_L1, id);
    CHECK_EQUAL(ids_after(chip, TTMEM_L1).size(), size_t{kIncidentEntries});
    for (uint64_t id = 5'001; id <= 5'010; ++id) buffer(chip, id, 8, TTMEM_BUFFER_L1, id);
    refuse(chip, TTMEM_L1, 77);
    CHECK_EQUAL(stored_incident(2).entries.size(), size_t{kIncidentEntries});
    CHECK_EQUAL(stored_incident(2).head.left_out.load(), 10u);
    CHECK_EQUAL(stored_incident(2).head.left_out_bytes.load(), 80u);
}

TEST(a_journal_takes_pages_for_a_copy_only_with_an_incident) {
    track({1024, 64});
    const uint16_t chip = open_chip(7);
    for (uint64_t id = 1; id <= 100; ++id) buffer(chip, id, 8, TTMEM_BUFFER_DRAM);
    struct stat before{}, after{};
    REQUIRE(stat(ttmem_journal_path(), &before) == 0);
    CHECK_EQUAL(static_cast<uint64_t>(before.st_blocks) * 512, plan_of({1024, 64}).holes);
    refuse(chip, TTMEM_DRAM, 1);
    REQUIRE(stat(ttmem_journal_path(), &after) == 0);
    CHECK(after.st_blocks > before.st_blocks);
    CHECK(static_cast<uint64_t>(after.st_blocks - before.st_blocks) * 512 <= 9 * kPage);
}

TEST(without_pages_the_head_is_kept_and_says_so) {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        check::skip("no mount namespace of our own here");
    constexpr Sizes kSmall{1024, 64};
    const std::string path = check::directory() + "/tiny";
    mkdir(path.c_str(), 0700);
    const std::string size = "size=" + std::to_string(plan_of(kSmall).holes + 2 * kPage);
    if (mount("tiny", path.c_str(), "tmpfs", 0, size.c_str()) != 0) check::skip("no file systems of our own here");
    chmod(path.c_str(), 0700);
    setenv("TTMEM_TABLE", "1024", 1);
    setenv("TTMEM_RING", "64", 1);
    REQUIRE(ttmem_enable(path.c_str()) == 1);
    const uint16_t chip = open_chip(7);
    buffer(chip, 1, 10, TTMEM_BUFFER_L1);
    for (uint64_t id = 1; id <= 500; ++id) buffer(chip, id, 10, TTMEM_BUFFER_DRAM);
    refuse(chip, TTMEM_DRAM, 5, "said");
    const Kept refused = stored_incident(1);
    CHECK_EQUAL(refused.flags & kNoCopy, uint32_t{kNoCopy});
    CHECK_EQUAL(refused.text, std::string("said"));
    CHECK(refused.entries.empty());
    CHECK_EQUAL(refused.head.left_out.load(), 500u);
    CHECK_EQUAL(refused.head.left_out_bytes.load(), 5'000u);
}

// Each thread allocates and frees ids of its own, whose size says the id; some live from before to after.
TEST(each_entry_is_one_that_lived_while_others_allocate_and_free) {
    track({1024, 1024});
    const uint16_t chip = open_chip(7);
    for (uint64_t id = 1; id <= 200; ++id) buffer(chip, id, id * 8, TTMEM_BUFFER_DRAM);
    const RandomYields yields(5);
    std::atomic<bool> is_over{false};
    std::vector<std::thread> threads;
    for (uint64_t t = 1; t <= 3; ++t)
        threads.emplace_back([&, t] {
            for (uint64_t i = 0; !is_over; ++i) {
                const uint64_t id = t * 1000 + i % 50;
                buffer(chip, id, id * 8, TTMEM_BUFFER_DRAM);
                ttmem_free_id(chip, TTMEM_BUFFER, id, TTMEM_DRAM, 0);
            }
        });
    for (uint64_t n = 1; n <= 100; ++n) {
        refuse(chip, TTMEM_DRAM, n);
        const Kept kept = stored_incident(n);
        std::multiset<uint64_t> ids;
        std::set<uint64_t> lives;
        for (const RecordCopy& words : kept.entries) {
            ids.insert(words.id);
            CHECK_EQUAL(words.reserved_bytes(), words.id * 8);
            CHECK_EQUAL(words.target(), chip);
            CHECK(lives.insert(words.sequence()).second);
            CHECK(words.sequence() < kept.head.sequence_after.load());
        }
        for (uint64_t id = 1; id <= 200; ++id) CHECK_EQUAL(ids.count(id), 1u);
        CHECK(ids.size() >= 200);
    }
    is_over = true;
    for (std::thread& thread : threads) thread.join();
}

}  // namespace ttmem
