// Sites of buffers that change while these live: the live state and the ring say the same, and no stranger is touched.
#include <algorithm>
#include <vector>

#include "support/check.hpp"
#include "support/interleaving.hpp"
#include "support/journals.hpp"
#include "writer/stacks.hpp"

namespace ttmem {
namespace {

struct Sites {
    uint32_t line = stack_node(0, Node::frame, "forward", "model.py", 7);
    uint32_t named = stack_node(line, Node::operation, "ttnn.matmul");
    uint32_t other = stack_node(line, Node::operation, "ttnn.add");
};

ttmem_handle report(uint16_t target, uint64_t id, uint32_t site) {
    ttmem_buffer buffer{};
    buffer.target = target;
    buffer.id = id;
    buffer.requested_bytes = 2048;
    buffer.site = site;
    buffer.options = TTMEM_BY_HANDLE;
    return ttmem_buffer_alloc(&buffer);
}

/// Sites of all that is alive, by those who come late.
std::vector<uint32_t> sites_now() {
    std::vector<RecordCopy> found;
    REQUIRE(own_reader()->scan(found) == ReadResult::ok);
    std::vector<uint32_t> sites;
    for (const RecordCopy& words : found) sites.push_back(words.site());
    std::sort(sites.begin(), sites.end());
    return sites;
}

/// The same by a process who read every record.
std::vector<uint32_t> sites_followed(Follower& follower) {
    follower.catch_up();
    std::vector<uint32_t> sites;
    follower.book.table().for_each([&](const RecordCopy& words) { sites.push_back(words.site()); });
    std::sort(sites.begin(), sites.end());
    return sites;
}

uint32_t site_at(ttmem_handle handle) { return tag_of(the_writer.slab[Handle::unpack(handle).entry]).site; }

}  // namespace

TEST(a_changed_site_is_the_same_for_who_came_early_and_who_comes_late) {
    track({64, 16});
    const Sites sites;
    const uint16_t target = open_chip(1);
    Follower early(own_reader());
    early.scan();
    const ttmem_handle first = report(target, 1, sites.line);
    report(target, 2, sites.line);
    CHECK(sites_followed(early) == std::vector<uint32_t>({sites.line, sites.line}));
    change_site(first, sites.line, sites.named);
    CHECK(sites_now() == std::vector<uint32_t>({sites.line, sites.named}));
    CHECK(sites_followed(early) == sites_now());
    ttmem_free(first);
    CHECK(sites_followed(early) == sites_now());
    CHECK_EQUAL(the_writer.header->unmatched_frees.load(), 0u);
}

TEST(only_the_site_that_was_meant_is_changed) {
    track({64, 16});
    const Sites sites;
    const ttmem_handle handle = report(open_chip(1), 1, sites.line);
    change_site(handle, sites.other, sites.named);
    CHECK_EQUAL(site_at(handle), sites.line);
    change_site(handle, sites.line, sites.named);
    change_site(handle, sites.line, sites.other);
    CHECK_EQUAL(site_at(handle), sites.named);
    change_site(kUntabledHandle | 5, sites.line, sites.named);
    change_site(handle | Handle::kEntry.mask(), sites.line, sites.named);
    uint32_t site = 0;
    CHECK(site_of_life(handle, site));
    CHECK_EQUAL(site, sites.named);
}

TEST(a_buffer_that_ended_has_no_site_and_its_place_is_left_alone) {
    track({64, 16});
    const Sites sites;
    const uint16_t target = open_chip(1);
    const ttmem_handle gone = report(target, 1, sites.line);
    ttmem_free(gone);
    const ttmem_handle next = report(target, 1, sites.line);
    CHECK_EQUAL(Handle::unpack(next).entry, Handle::unpack(gone).entry);
    uint32_t site = 0;
    CHECK(!site_of_life(gone, site));
    const uint64_t before = the_writer.header->next_sequence.load();
    change_site(gone, sites.line, sites.named);
    CHECK_EQUAL(site_at(next), sites.line);
    CHECK_EQUAL(the_writer.header->next_sequence.load(), before);
}

// The same place, line and words: nothing but the life differs.
TEST(a_stranger_that_took_the_place_meanwhile_gets_his_site_back) {
    for (const steps::Step step : {steps::site_read, steps::site_changed}) {
        track({64, 16});
        const Sites sites;
        const uint16_t target = open_chip(1);
        const ttmem_handle gone = report(target, 1, sites.line);
        ParkedThread slow(step, [&] { change_site(gone, sites.line, sites.named); });
        ttmem_free(gone);
        const ttmem_handle stranger = report(target, 1, sites.line);
        CHECK_EQUAL(Handle::unpack(stranger).entry, Handle::unpack(gone).entry);
        slow.finish();
        CHECK_EQUAL(site_at(stranger), sites.line);
        Follower late(own_reader());
        late.scan();
        CHECK(sites_followed(late) == std::vector<uint32_t>({sites.line}));
        ttmem_free(stranger);
    }
}

TEST(all_parts_of_a_buffer_by_core_change_together) {
    track({64, 16});
    const Sites sites;
    const ttmem_core_part parts[3] = {{0x10'0000, 0, 4}, {0xf'0000, 0, 1}, {0xe'0000, 0, 2}};
    ttmem_core_buffer buffer{};
    buffer.target = open_chip(1);
    buffer.id = 9;
    buffer.size_per_core_bytes = 32'768;
    buffer.parts = parts;
    buffer.part_count = 3;
    buffer.type = TTMEM_BUFFER_L1;
    buffer.site = sites.line;
    buffer.options = TTMEM_BY_HANDLE;
    Follower early(own_reader());
    early.scan();
    const ttmem_handle handle = ttmem_core_buffer_alloc(&buffer);
    change_site(handle, sites.line, sites.named);
    CHECK(sites_now() == std::vector<uint32_t>(3, sites.named));
    CHECK(sites_followed(early) == sites_now());
    ttmem_free(handle);
    CHECK(sites_now().empty());
}

}  // namespace ttmem
