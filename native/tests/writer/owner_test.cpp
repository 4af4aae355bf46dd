// One writer per process, however many copies of the library are loaded.
#include "writer/owner.hpp"

#include <dlfcn.h>

#include <barrier>
#include <set>
#include <thread>
#include <vector>

#include "support/check.hpp"
#include "support/incidents.hpp"
#include "support/journals.hpp"

namespace ttmem {
namespace {

void* load_copy() {
    void* library = dlopen(TTMEM_SHARED_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) check::fail(__FILE__, __LINE__, dlerror());
    REQUIRE(library != nullptr);
    return library;
}

template <typename Function>
Function* in_copy(void* library, const char* name) {
    return reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

TEST(a_program_that_carries_the_library_owns_the_journal) {
    CHECK(is_owner());
    CHECK(&owner() == &ttmem_writer_v1);
}

TEST(a_library_loaded_later_writes_into_the_same_journal) {
    void* library = load_copy();
    CHECK(dlsym(library, "ttmem_writer_v1") != &ttmem_writer_v1);
    track({64, 16});
    auto* path = in_copy<decltype(ttmem_journal_path)>(library, "ttmem_journal_path");
    auto* alloc = in_copy<decltype(ttmem_buffer_alloc_on)>(library, "ttmem_buffer_alloc_on");
    CHECK_EQUAL(std::string(path()), std::string(ttmem_journal_path()));
    const uint16_t chip = open_chip(1);
    ttmem_buffer buffer{};
    buffer.target = chip;
    buffer.id = 5;
    buffer.requested_bytes = 100;
    const ttmem_handle handle = alloc(&buffer);
    CHECK(alive_in(the_writer) == (Alive{{{chip, TTMEM_BUFFER, 5}, 100}}));
    ttmem_free(handle);
    CHECK(alive_in(the_writer).empty());
}

TEST(an_incident_that_a_copy_tells_is_kept_by_the_owner) {
    void* library = load_copy();
    track({64, 16});
    const ttmem_incident told = an_incident(open_chip(1), TTMEM_DRAM, 5);
    in_copy<decltype(ttmem_incident_on)>(library, "ttmem_incident_on")(&told);
    CHECK_EQUAL(the_writer.header->incidents.load(), 1u);
    CHECK_EQUAL(stored_incident(1).requested, 5u);
}

TEST(a_trace_that_a_copy_captures_is_compared_with_the_owners_buffers) {
    void* library = load_copy();
    track({64, 64});
    const uint16_t chip = open_chip(1);
    ttmem_buffer buffer{};
    buffer.target = chip;
    buffer.address = 0x1000;
    buffer.requested_bytes = buffer.per_bank_bytes = 0x100;
    in_copy<decltype(ttmem_trace_begin_on)>(library, "ttmem_trace_begin_on")(chip, 4, 0);
    ttmem_free(ttmem_buffer_alloc(&buffer));
    in_copy<decltype(ttmem_trace_program_on)>(library, "ttmem_trace_program_on")(chip, 4, 1);
    in_copy<decltype(ttmem_trace_end_on)>(library, "ttmem_trace_end_on")(chip, 4, 0);
    ttmem_buffer_alloc(&buffer);
    in_copy<decltype(ttmem_trace_replay_on)>(library, "ttmem_trace_replay_on")(chip, 4);
    CHECK_EQUAL(the_writer.header->incidents.load(), 1u);
    in_copy<decltype(ttmem_trace_release_on)>(library, "ttmem_trace_release_on")(chip, 4);
    CHECK_EQUAL(the_writer.trace_count, 0u);
}

TEST(a_copy_sets_the_source_of_sites_for_the_owner) {
    void* library = load_copy();
    track({64, 16});
    in_copy<decltype(ttmem_set_site_source)>(library, "ttmem_set_site_source")([]() -> uint32_t { return 9; });
    report_buffer(open_chip(1), 5, 100);
    ttmem_set_site_source(nullptr);
    report_buffer(open_chip(1), 6, 100);
    std::map<uint64_t, uint32_t> sites;
    std::vector<RecordCopy> alive;
    own_reader()->scan(alive);
    for (const RecordCopy& words : alive) sites[words.id] = words.site();
    CHECK((sites == std::map<uint64_t, uint32_t>{{5, 9}, {6, 0}}));
}

TEST(turning_the_owner_on_and_off_turns_the_copies) {
    void* library = load_copy();
    const int* copy = in_copy<int>(library, "ttmem_tracking");
    auto* path = in_copy<decltype(ttmem_journal_path)>(library, "ttmem_journal_path");
    track({64, 16});
    path();  // its first call finds the owner
    CHECK_EQUAL(*copy, 1);
    ttmem_disable();
    CHECK_EQUAL(*copy, 0);
    CHECK_EQUAL(ttmem_enable(nullptr), 1);
    CHECK_EQUAL(*copy, 1);
}

TEST(more_copies_than_places_are_left_undecided_not_wrong) {
    std::vector<int> switches(20, 2);
    track({64, 16});
    for (int& one : switches) share_switch(&one);
    ttmem_disable();
    for (size_t i = 0; i < switches.size(); ++i) CHECK_EQUAL(switches[i], i < 16 ? 0 : 2);
}

TEST(a_copy_that_asks_twice_takes_one_place) {
    int copy = 2;
    std::vector<int> others(15, 2);
    track({64, 16});
    for (int i = 0; i < 20; ++i) share_switch(&copy);
    for (int& one : others) share_switch(&one);
    ttmem_disable();
    for (const int one : others) CHECK_EQUAL(one, 0);
}

TEST(threads_that_ask_first_at_the_same_time_agree) {
    constexpr int kAskers = 8;
    std::barrier start(kAskers);
    std::vector<const WriterTable*> answers(kAskers);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < kAskers; ++i)
        threads.emplace_back([&, i] {
            start.arrive_and_wait();
            answers[i] = &owner();
        });
    for (std::thread& thread : threads) thread.join();
    for (const WriterTable* answer : answers) CHECK(answer == &ttmem_writer_v1);
}

TEST(threads_that_report_first_at_the_same_time_make_one_journal) {
    constexpr int kReporters = 8;
    setenv("TTMEM", "1", 1);
    setenv("TTMEM_TABLE", "64", 1);
    setenv("TTMEM_RING", "256", 1);
    std::barrier start(kReporters);
    std::vector<std::thread> threads;
    std::atomic<int> recorded{0};
    for (uint64_t i = 0; i < kReporters; ++i)
        threads.emplace_back([&, i] {
            start.arrive_and_wait();
            recorded += report_buffer(0, i, 1) != 0;
        });
    for (std::thread& thread : threads) thread.join();
    CHECK_EQUAL(recorded.load(), kReporters);
    CHECK_EQUAL(alive_in(the_writer).size(), size_t{kReporters});
    CHECK_EQUAL(the_writer.header->threads_used.load(), uint32_t{kReporters});
}

}  // namespace ttmem
