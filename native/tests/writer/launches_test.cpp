// Launches by a host that was reported where its program is listed: never counted at a stranger, never twice, never lost.
#include <thread>

#include "support/check.hpp"
#include "support/journals.hpp"

namespace ttmem {
namespace {

constexpr uint64_t kProgram = 5, kStranger = 6;

/// Launches of a program as its entry says; ~0 if it is not listed.
uint64_t launches_of(uint16_t target, uint64_t program) {
    const Key key{program, target, TTMEM_PROGRAM_BINARY};
    const Found found = find(the_writer, key, hash_of(key));
    if (found.entry == kNoEntry) return ~uint64_t{0};
    return ProgramRecord::launches_in(the_writer.slab[found.entry].per_bank.load());
}

/// The site of its operation as its entry says; 0 if that is not known, or it is not listed.
uint32_t operation_of(uint16_t target, uint64_t program) {
    const Key key{program, target, TTMEM_PROGRAM_BINARY};
    const Found found = find(the_writer, key, hash_of(key));
    return found.entry == kNoEntry ? 0 : static_cast<uint32_t>(the_writer.slab[found.entry].requested.load());
}

uint16_t a_target() {
    track({1024, 64});
    return open_chip(1);
}

}  // namespace

TEST(a_launch_is_counted_where_the_program_was_found_before) {
    const uint16_t target = a_target();
    uint32_t listed_at = count_launch(target, kProgram, 0);
    CHECK_EQUAL(listed_at, 0u);  // it was entered just now
    for (int i = 0; i < 4; ++i) listed_at = count_launch(target, kProgram, listed_at);
    CHECK_EQUAL(listed_at != 0, true);
    CHECK_EQUAL(launches_of(target, kProgram), 5u);
    CHECK_EQUAL(the_writer.targets[target].launches.load(), 5u);
}

TEST(a_place_that_somebody_else_has_by_now_is_not_believed) {
    const uint16_t target = a_target();
    count_launch(target, kProgram, 0);
    const uint32_t listed_at = count_launch(target, kProgram, 0);
    ttmem_program_end(target, kProgram);
    count_launch(target, kStranger, 0);  // takes the entry that was given back
    CHECK_EQUAL(count_launch(target, kStranger, listed_at), listed_at);
    CHECK_EQUAL(count_launch(target, kProgram, listed_at), 0u);
    CHECK_EQUAL(launches_of(target, kStranger), 2u);
    CHECK_EQUAL(launches_of(target, kProgram), 1u);
}

TEST(a_place_without_meaning_is_not_believed) {
    const uint16_t target = a_target();
    count_launch(target, kProgram, 0);
    const uint32_t listed_at = count_launch(target, kProgram, 0);
    for (const uint32_t wrong : {listed_at + 1, 1024u, 1025u, ~0u})
        CHECK_EQUAL(count_launch(target, kProgram, wrong), listed_at);
    CHECK_EQUAL(launches_of(target, kProgram), 6u);
}

TEST(a_program_that_is_entered_anew_keeps_its_launches) {
    const uint16_t target = a_target();
    count_launch(target, kProgram, 0);
    uint32_t listed_at = count_launch(target, kProgram, 0);
    ttmem_binary_status(target, kProgram, TTMEM_COMMITTED, 4096);
    listed_at = count_launch(target, kProgram, listed_at);
    CHECK_EQUAL(count_launch(target, kProgram, listed_at), listed_at);
    CHECK_EQUAL(launches_of(target, kProgram), 4u);
}

TEST(a_program_of_a_closed_target_is_not_counted_there) {
    const uint16_t target = a_target();
    count_launch(target, kProgram, 0);
    const uint32_t listed_at = count_launch(target, kProgram, 0);
    ttmem_device_close(target);
    const uint16_t again = open_chip(1);
    CHECK_EQUAL(count_launch(again, kProgram, listed_at), 0u);
    CHECK_EQUAL(launches_of(again, kProgram), 1u);
}

TEST(threads_that_launch_one_program_lose_no_launch) {
    const uint16_t target = a_target();
    count_launch(target, kProgram, 0);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread)
        threads.emplace_back([target] {
            uint32_t listed_at = 0;
            for (int i = 0; i < 5'000; ++i) listed_at = count_launch(target, kProgram, listed_at);
        });
    for (std::thread& thread : threads) thread.join();
    CHECK_EQUAL(launches_of(target, kProgram), 20'001u);
    CHECK_EQUAL(the_writer.targets[target].launches.load(), 20'001u);
}

TEST(a_program_keeps_the_name_of_its_operation_when_it_is_entered_anew) {
    const uint16_t target = a_target();
    const uint32_t site = ttmem_stack_node(0, TTMEM_DEVICE_OPERATION, "MatmulDeviceOperation", "", 0);
    ttmem_program_operation(target, kProgram, site);  // nothing is listed yet: only a record says it
    CHECK_EQUAL(operation_of(target, kProgram), 0u);
    ttmem_binary_status(target, kProgram, TTMEM_NOT_SENT, 0);
    ttmem_program_operation(target, kProgram, site);
    CHECK_EQUAL(operation_of(target, kProgram), site);
    ttmem_binaries_placed(target, kProgram, TTMEM_IN_FLIGHT, 4096, 64);
    count_launch(target, kProgram, 0);
    CHECK_EQUAL(operation_of(target, kProgram), site);
    CHECK_EQUAL(launches_of(target, kProgram), 1u);
    const uint32_t other = ttmem_stack_node(0, TTMEM_DEVICE_OPERATION, "SoftmaxDeviceOperation", "", 0);
    ttmem_program_operation(target, kProgram, other);
    CHECK_EQUAL(operation_of(target, kProgram), other);
    ttmem_program_end(target, kProgram);
    ttmem_program_operation(target, kProgram, site);
    CHECK_EQUAL(operation_of(target, kProgram), 0u);
}

}  // namespace ttmem
