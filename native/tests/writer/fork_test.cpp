// A forked child: a journal of its own, its parent's names, none of its parent's memory.
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <cstring>
#include <functional>
#include <thread>

#include "support/check.hpp"
#include "support/journals.hpp"

namespace ttmem {
namespace {

uint64_t dram_used(uint16_t target) { return the_writer.targets[target].pools[TTMEM_DRAM].used.load(); }

}  // namespace

TEST(a_child_makes_its_own_journal_at_its_first_report) {
    track({64, 16});
    const uint16_t chip = open_chip(1);
    report_buffer(chip, 1, 10);
    const std::string parents = ttmem_journal_path();
    check::in_child([&] {
        CHECK_EQUAL(std::string(ttmem_journal_path()), std::string());
        report_buffer(chip, 2, 20);
        CHECK(parents != ttmem_journal_path());
        CHECK(alive_in(the_writer) == (Alive{{{chip, TTMEM_BUFFER, 2}, 20}}));
        CHECK_EQUAL(dram_used(chip), 20u);
        CHECK_EQUAL(the_writer.header->identity.pid, static_cast<uint32_t>(getpid()));
    });
    CHECK_EQUAL(parents, std::string(ttmem_journal_path()));
    CHECK(alive_in(the_writer) == (Alive{{{chip, TTMEM_BUFFER, 1}, 10}}));
}

TEST(a_childs_sequences_lie_above_all_of_its_parents) {
    track({64, 16});
    for (uint64_t i = 0; i < 100; ++i) report_buffer(0, i % 7, 1);
    const uint64_t parents = the_writer.header->next_sequence.load();
    check::in_child([&] {
        report_buffer(0, 1, 1);
        CHECK(the_writer.header->identity.first_sequence > parents);
        const uint64_t childs = the_writer.header->next_sequence.load();
        check::in_child([&] {
            report_buffer(0, 1, 1);
            CHECK(the_writer.header->identity.first_sequence > childs);
        });
    });
}

TEST(handles_and_ids_from_before_the_fork_are_excused) {
    track({64, 16});
    const uint16_t chip = open_chip(1);
    const ttmem_handle by_handle = report_buffer(chip, 1, 10);
    report_buffer(chip, 2, 20);
    check::in_child([&] {
        const ttmem_handle own = report_buffer(chip, 3, 30);
        ttmem_free(by_handle);
        report_free(chip, 2);
        CHECK_EQUAL(the_writer.header->unmatched_frees.load(), 0u);
        ttmem_free(own);
        CHECK(alive_in(the_writer).empty());
    });
    CHECK_EQUAL(dram_used(chip), 30u);
    ttmem_free(by_handle);
    CHECK_EQUAL(dram_used(chip), 20u);
}

TEST(a_child_knows_its_parents_targets_and_names) {
    track({64, 16});
    const uint16_t chip = open_chip(0xabc);
    const uint32_t site = ttmem_intern("model.py:12", 11);
    ttmem_label("parent");
    check::in_child([&] {
        CHECK_EQUAL(open_chip(0xabc), chip);
        CHECK_EQUAL(ttmem_intern("model.py:12", 11) != 0, true);
        const auto reader = own_reader();
        Hot hot;
        CHECK(reader->look(hot));
        CHECK_EQUAL(reader->item(site, Item::text), std::string("model.py:12"));
        CHECK_EQUAL(reader->item(hot.label, Item::text), std::string("parent"));
    });
}

TEST(a_reader_from_before_the_fork_survives_the_childs_own_journal) {
    track({64, 16});
    report_buffer(0, 1, 1);
    Follower parents(own_reader());
    parents.catch_up();
    CHECK_EQUAL(parents.book.table().size(), 1u);
    check::in_child([&] {
        report_buffer(0, 2, 1);
        CHECK(parents.read() != ReadResult::ok);
        std::vector<RecordCopy> alive;
        CHECK(parents.reader->scan(alive) == ReadResult::damaged);
        Follower own(own_reader());
        own.catch_up();
        CHECK_EQUAL(own.book.table().size(), 1u);
    });
}

TEST(a_childs_journal_lies_beside_its_parents) {
    const std::string chosen = check::directory() + "/chosen", other = check::directory() + "/other";
    REQUIRE(ttmem_enable(chosen.c_str()) == 1);
    setenv("TTMEM_DIR", other.c_str(), 1);
    check::in_child([&] {
        report_buffer(0, 1, 1);
        CHECK_EQUAL(std::string(ttmem_journal_path()).substr(0, chosen.size() + 1), chosen + "/");
    });
}

TEST(threads_of_a_child_that_report_first_at_the_same_time_make_one_journal) {
    track({64, 256});
    const uint16_t chip = open_chip(1);
    check::in_child([&] {
        constexpr int kReporters = 6;
        std::barrier start(kReporters);
        std::vector<std::thread> threads;
        std::atomic<int> recorded{0};
        for (uint64_t i = 0; i < kReporters; ++i)
            threads.emplace_back([&, i] {
                start.arrive_and_wait();
                recorded += report_buffer(chip, i, 1) != 0;
            });
        for (std::thread& thread : threads) thread.join();
        CHECK_EQUAL(recorded.load(), kReporters);
        CHECK_EQUAL(alive_in(the_writer).size(), size_t{kReporters});
    });
}

TEST(a_child_of_an_untracked_program_stays_untracked) {
    CHECK_EQUAL(report_buffer(0, 1, 1), 0u);
    check::in_child([] {
        CHECK_EQUAL(report_buffer(0, 1, 1), 0u);
        CHECK_EQUAL(std::string(ttmem_journal_path()), std::string());
    });
}

TEST(a_child_may_be_turned_off_without_its_parent_noticing) {
    track({64, 16});
    report_buffer(0, 1, 1);
    check::in_child([] {
        ttmem_disable();
        CHECK_EQUAL(report_buffer(0, 2, 1), 0u);
    });
    CHECK(report_buffer(0, 2, 1) != 0);
    CHECK_EQUAL(alive_in(the_writer).size(), 2u);
}

}  // namespace ttmem
