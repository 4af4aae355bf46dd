// Two allocators over one chip: what both hand out is there once, and both owners are named.
#include "ledger/places/overlaps.hpp"

#include <random>
#include <set>

#include "support/check.hpp"
#include "support/collecting.hpp"

namespace ttmem {
namespace {

constexpr uint16_t kBanks = 4;

uint16_t open_banked(uint64_t unique_id) {
    ttmem_device device{};
    device.unique_id = unique_id;
    device.dram_banks = device.l1_banks = kBanks;
    return ttmem_device_open(&device);
}

ttmem_handle report_at(uint16_t target, uint64_t id, uint64_t address, uint64_t per_bank) {
    ttmem_buffer buffer{};
    buffer.target = target;
    buffer.id = id;
    buffer.address = address;
    buffer.per_bank_bytes = per_bank;
    buffer.reserved_bytes = per_bank * kBanks;
    buffer.type = TTMEM_BUFFER_DRAM;
    return ttmem_buffer_alloc(&buffer);
}

/// A parent mesh of two chips and a submesh of the first one.
struct Meshes {
    Meshes() {
        chips[0] = open_banked(100);
        chips[1] = open_banked(101);
        parent = ttmem_mesh_open(1, 1, 2, chips, 2);
        sub = ttmem_mesh_open(2, 1, 1, chips, 1);
    }
    uint16_t chips[2];
    uint16_t parent, sub;
};

PeakAmount dram_of_chip(Collector& collector, uint64_t unique_id) {
    return collector.look([=](auto&, Devices& devices, const Timebase&, const auto&) {
        return devices.at(devices.by_unique_id(unique_id, 1)).cell.pools[TTMEM_DRAM];
    });
}

std::vector<Overlap> overlaps(Collector& collector, uint64_t key) {
    return collector.look([=](auto& processes, Devices&, const Timebase&, const auto&) {
        for (auto& process : processes)
            if (process->key == key) return overlaps_of(process->book);
        return std::vector<Overlap>();
    });
}

}  // namespace

TEST(coverage_says_what_came_and_went_at_every_address_tried) {
    std::mt19937 dice(7);
    Coverage coverage;
    std::vector<Span> alive;
    std::multiset<uint64_t> covered;
    for (int step = 0; step < 4000; ++step) {
        const bool is_added = alive.size() < 2 || (alive.size() < 30 && dice() % 2 == 0);
        const size_t which = alive.empty() ? 0 : dice() % alive.size();
        const Span span = is_added ? span_at(dice() % 200, dice() % 20) : alive[which];
        uint64_t expected = 0;
        for (uint64_t at = span.first; at < span.second; ++at) {
            expected += covered.count(at) == (is_added ? 0u : 1u);
            is_added ? void(covered.insert(at)) : void(covered.erase(covered.find(at)));
        }
        CHECK_EQUAL(is_added ? coverage.add(span) : coverage.remove(span), expected);
        if (is_added)
            alive.push_back(span);
        else
            alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(which));
    }
}

TEST(what_a_parent_and_its_submesh_hold_at_one_address_is_used_once) {
    track({256, 256});
    const Meshes meshes;
    Collector collector(false);
    const uint64_t key = attach_own(collector);
    report_at(meshes.parent, 1, 4096, 600);
    settle(collector, key);
    CHECK(overlaps(collector, key).empty());
    const ttmem_handle inner = report_at(meshes.sub, 2, 4096, 800);
    settle(collector, key);
    CHECK_EQUAL(dram_of_chip(collector, 100).used, 800 * kBanks);
    CHECK_EQUAL(dram_of_chip(collector, 101).used, 600 * kBanks);
    CHECK_EQUAL(dram_of_chip(collector, 100).peak, 800 * kBanks);
    const std::vector<Overlap> found = overlaps(collector, key);
    CHECK_EQUAL(found.size(), 1u);
    CHECK_EQUAL(found[0].address, 4096u);
    CHECK_EQUAL(found[0].bytes, 600u * kBanks);
    CHECK_EQUAL(found[0].first, meshes.parent);
    CHECK_EQUAL(found[0].second, meshes.sub);
    CHECK_EQUAL(found[0].devices.size(), 1u);
    ttmem_free(inner);
    settle(collector, key);
    CHECK_EQUAL(dram_of_chip(collector, 100).used, 600 * kBanks);
    CHECK(overlaps(collector, key).empty());
}

TEST(a_late_viewer_and_one_that_followed_agree_on_shared_addresses) {
    track({4096, 4096});
    const Meshes meshes;
    Collector follower(false);
    const uint64_t followed = attach_own(follower);
    std::mt19937 dice(9);
    std::vector<ttmem_handle> alive;
    for (uint64_t step = 0; step < 600; ++step) {
        if (alive.size() > 40 && dice() % 2 == 0) {
            const size_t which = dice() % alive.size();
            ttmem_free(alive[which]);
            alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(which));
        } else {
            alive.push_back(report_at(dice() % 2 ? meshes.parent : meshes.sub, step + 1, 64 + dice() % 4096 * 32, 32));
        }
        if (step % 100 != 99) continue;
        settle(follower, followed);
        Collector late(false);
        settle(late, attach_own(late));
        CHECK_EQUAL(dram_of_chip(follower, 100).used, dram_of_chip(late, 100).used);
        CHECK_EQUAL(dram_of_chip(follower, 101).used, dram_of_chip(late, 101).used);
    }
    ttmem_mesh_close(meshes.sub);
    ttmem_mesh_close(meshes.parent);
    settle(follower, followed);
    CHECK_EQUAL(dram_of_chip(follower, 100).used, 0);
    CHECK_EQUAL(dram_of_chip(follower, 101).used, 0);
    CHECK(overlaps(follower, followed).empty());
}

}  // namespace ttmem
