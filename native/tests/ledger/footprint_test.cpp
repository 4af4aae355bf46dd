// What circular buffers take of cores: unions, never sums; the program that ran last is the resident one.
#include "ledger/places/footprint.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "support/check.hpp"
#include "support/collecting.hpp"

namespace ttmem {
namespace {

const std::map<uint64_t, Cores> kSets = {{1, cores_of("0,0-7,7")}, {2, cores_of("0,0-1,0")}, {3, cores_of("7,7-8,8")}};

ttmem_circular_buffer a_cb(uint16_t target, uint64_t id, uint32_t address, uint64_t size, uint64_t program,
                           uint32_t core_set) {
    ttmem_circular_buffer cb{};
    cb.target = target;
    cb.id = id;
    cb.address = address;
    cb.size_per_core_bytes = size;
    cb.core_count = 4;
    cb.program = program;
    cb.core_set = core_set;
    return cb;
}

uint32_t interned(const char* text) { return ttmem_intern(text, static_cast<uint32_t>(strlen(text))); }

Footprint only_footprint(Collector& collector, uint64_t key) {
    settle(collector, key);
    return with_process(collector, key, [](const Process& process) {
        const auto found = footprints_of(process.book);
        CHECK_EQUAL(found.size(), 1u);
        return found.empty() ? Footprint{} : found[0].second;
    });
}

/// The same by brute force: every byte of every core.
Footprint naive(const std::vector<CbSpan>& spans) {
    Footprint footprint;
    std::set<uint32_t> all;
    for (const auto& [name, cores] : kSets) all.insert(cores.begin(), cores.end());
    for (const uint32_t core : all) {
        const auto is_on = [&](const CbSpan& span) {
            const Cores& cores = kSets.at(span.core_set);
            return std::find(cores.begin(), cores.end(), core) != cores.end();
        };
        const CbSpan* newest = nullptr;
        for (const CbSpan& span : spans)
            if (is_on(span) && span.launched != 0 && (newest == nullptr || span.launched > newest->launched))
                newest = &span;
        std::set<uint64_t> planned, resident;
        for (const CbSpan& span : spans)
            for (uint64_t at = span.begin; is_on(span) && at < span.end; ++at) {
                planned.insert(at);
                if (newest != nullptr && span.program == newest->program) resident.insert(at);
            }
        footprint.planned += planned.size();
        footprint.resident += resident.size();
        footprint.worst_planned = std::max<uint64_t>(footprint.worst_planned, planned.size());
        footprint.worst_resident = std::max<uint64_t>(footprint.worst_resident, resident.size());
    }
    return footprint;
}

}  // namespace

TEST(rectangles_name_each_core_once) {
    CHECK_EQUAL(cores_of("0,0-7,7").size(), 64u);
    CHECK_EQUAL(cores_of("3,4").size(), 1u);
    CHECK_EQUAL(cores_of("0,0-7,7;0,8-3,8").size(), 68u);
    CHECK_EQUAL(cores_of("0,0-1,1;1,1-2,2").size(), 7u);
}

TEST(a_text_that_says_something_else_names_none) {
    for (const char* text : {"", "x", "0", "0,", "1,1-0,0", "0,0-99,99", "0,0-", "0,0 1,1", "-1,0", "0,0-1,1,"})
        CHECK_EQUAL(cores_of(text).size(), 0u);
}

TEST(programs_that_share_addresses_are_not_added_up) {
    const Footprint found = footprint_of({{100, 200, 1, 1, 5}, {100, 300, 1, 2, 9}, {100, 150, 2, 2, 9}}, kSets);
    CHECK_EQUAL(found.planned, 64 * 200u);
    CHECK_EQUAL(found.resident, 64 * 200u);
    CHECK_EQUAL(found.worst_planned, 200u);
}

TEST(a_program_that_never_ran_is_planned_only) {
    const Footprint found = footprint_of({{100, 200, 2, 1, 0}}, kSets);
    CHECK_EQUAL(found.planned, 200u);
    CHECK_EQUAL(found.resident, 0u);
}

TEST(a_core_keeps_what_ran_there_last) {
    // The second program ran later, but on two cores only.
    const Footprint found = footprint_of({{0, 100, 1, 1, 5}, {0, 10, 2, 2, 9}}, kSets);
    CHECK_EQUAL(found.resident, 62 * 100u + 2 * 10u);
    CHECK_EQUAL(found.worst_resident, 100u);
}

TEST(any_layout_agrees_with_counting_every_byte) {
    uint64_t seed = 1;
    const auto next = [&](uint64_t below) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        return (seed >> 33) % below;
    };
    for (int round = 0; round < 300; ++round) {
        std::vector<CbSpan> spans;
        const uint64_t programs = 1 + next(4);
        std::vector<uint64_t> launched(programs + 1);
        for (uint64_t& one : launched) one = next(3) == 0 ? 0 : 1 + next(1u << 30);
        for (uint64_t count = next(12); count > 0; --count) {
            const uint64_t begin = next(60), program = 1 + next(programs);
            spans.push_back({begin, begin + 1 + next(40), 1 + next(3), program, launched[program]});
        }
        CHECK(footprint_of(spans, kSets) == naive(spans));
    }
}

TEST(a_collector_knows_what_is_resident_whether_it_came_early_or_late) {
    track({256, 256});
    const uint16_t chip = open_chip(7);
    Collector early(false);
    const uint64_t key = attach_own(early);
    const uint32_t cores = interned("0,0-1,1");
    for (const auto& cb : {a_cb(chip, 1, 1000, 400, 10, cores), a_cb(chip, 2, 1000, 100, 11, cores)})
        ttmem_cb_alloc(&cb);
    ttmem_launch(chip, 10);
    ttmem_launch(chip, 11);
    ttmem_launch(chip, 10);
    CHECK_EQUAL(only_footprint(early, key).resident, 4 * 400u);
    ttmem_launch(chip, 11);
    Collector late(false);
    const uint64_t later = attach_own(late);
    for (const Footprint& found : {only_footprint(early, key), only_footprint(late, later)}) {
        CHECK_EQUAL(found.planned, 4 * 400u);
        CHECK_EQUAL(found.resident, 4 * 100u);
        CHECK(!found.is_estimated && !found.has_strangers);
    }
    ttmem_binary_status(chip, 11, TTMEM_COMMITTED, 4096);  // entered again: its launches come along
    CHECK_EQUAL(only_footprint(early, key).resident, 4 * 100u);
}

TEST(more_cores_than_any_program_has_are_not_added_up) {
    track({16'384, 256});
    const uint16_t chip = open_chip(7);
    Collector collector(false);
    const uint64_t key = attach_own(collector);
    for (uint16_t id = 1; id < 8000; ++id) {
        ttmem_circular_buffer cb = a_cb(chip, id, 4096, 4096, id, 0);
        cb.core_count = static_cast<uint16_t>(id * 8);
        ttmem_cb_alloc(&cb);
    }
    settle(collector, key);
    with_process(collector, key, [](const Process& process) { CHECK_EQUAL(footprints_of(process.book).size(), 0u); });
}

TEST(views_take_nothing_and_unknown_cores_are_an_estimate) {
    track({256, 256});
    const uint16_t chip = open_chip(7);
    Collector collector(false);
    const uint64_t key = attach_own(collector);
    ttmem_circular_buffer view = a_cb(chip, 1, 1000, 400, 10, interned("0,0-1,1"));
    view.options = TTMEM_VIEW;
    ttmem_cb_alloc(&view);
    const ttmem_circular_buffer unplaced = a_cb(chip, 2, 1000, 100, 0, 0);
    ttmem_cb_alloc(&unplaced);
    const Footprint found = only_footprint(collector, key);
    CHECK_EQUAL(found.planned, 4 * 100u);
    CHECK(found.is_estimated && found.has_strangers);
}

}  // namespace ttmem
