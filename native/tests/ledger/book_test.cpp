// The rules by which events change a process's book, and above all: in whatever order they are read.
#include "ledger/book/book.hpp"

#include <cstring>

#include "support/check.hpp"
#include "support/journals.hpp"

namespace ttmem {
namespace {

/// A journal whose records are published by hand, and a process who follows it: reading order is the test's choice.
class Story {
public:
    explicit Story(uint64_t sequences) : journal({256, 64}), follower(journal.reader()) {
        journal.header().next_sequence.store(sequences + 1);
    }
    /// Publishes a record; `follow` reads what is there by then.
    RecordCopy tell(uint64_t sequence, const RecordCopy& record) {
        publish(journal.writer, sequence, record);
        return a_record(record.type(), sequence, record);
    }
    void follow() { CHECK(follower.read() == ReadResult::ok); }
    Alive alive() const { return alive_in(follower.book.table()); }
    int64_t used() const { return follower.book.targets()[1].totals.pools[TTMEM_DRAM].used; }

    BareJournal journal;
    Follower follower;
};

RecordCopy made(uint64_t sequence, uint64_t id, uint64_t bytes) {
    return a_record(Type::allocated, sequence, a_buffer(1, id, bytes));
}

/// An allocation that ended another life of its id, and names it.
RecordCopy replacing(uint64_t replaced, uint64_t sequence, uint64_t id, uint64_t bytes) {
    RecordCopy words = made(sequence, id, bytes);
    words.name_replaced(replaced);
    return words;
}

RecordCopy a_program(uint64_t sequence, uint64_t id, uint8_t status) {
    RecordCopy words = made(sequence, id, 0);
    words.tag = Tag{Type::allocated, TTMEM_PROGRAM_BINARY, TTMEM_DRAM, kIndexed, 0}.pack();
    words.per_bank = ProgramRecord::with_status(0, status);
    return words;
}

RecordCopy a_program_event(Type type, uint64_t sequence, uint64_t id, uint64_t value) {
    RecordCopy words = a_program(sequence, id, 0);
    words.tag = Tag{type, TTMEM_PROGRAM_BINARY, TTMEM_DRAM, 0, 0}.pack();
    words.requested = value;
    words.per_bank = 0;
    return words;
}

RecordCopy a_closing(uint64_t sequence, uint16_t target) {
    RecordCopy words;
    words.tag = Tag{Type::target_closed, 0, TTMEM_POOL_UNKNOWN, 0, 0}.pack();
    words.reserved = in::kTarget.pack(target);
    return a_record(Type::target_closed, sequence, words);
}

const Alive kNothing;
Alive only(uint64_t id, uint64_t bytes) { return {{{uint16_t{1}, uint8_t{TTMEM_BUFFER}, id}, bytes}}; }

}  // namespace

TEST(an_event_read_twice_changes_nothing_the_second_time) {
    Devices devices;
    Book book(1, devices);
    const std::vector<RecordCopy> events = {made(1, 7, 10), made(2, 8, 20), a_free(3, made(1, 7, 10)), made(4, 7, 40)};
    for (int round = 0; round < 3; ++round) {
        for (const RecordCopy& event : events) book.apply(event, nullptr, 1);
        CHECK(alive_in(book.table()) == (Alive{{{1, TTMEM_BUFFER, 7}, 40}, {{1, TTMEM_BUFFER, 8}, 20}}));
        CHECK_EQUAL(book.targets()[1].totals.pools[TTMEM_DRAM].used, 60);
    }
}

TEST(a_free_ends_the_life_it_names_and_no_other) {
    Devices devices;
    Book book(1, devices);
    book.apply(made(1, 7, 10), nullptr, 1);
    book.apply(replacing(1, 2, 7, 20), nullptr, 1);
    book.apply(a_free(3, made(1, 7, 10)), nullptr, 1);
    CHECK(alive_in(book.table()) == only(7, 20));
    book.apply(a_free(4, made(2, 7, 20)), nullptr, 1);
    CHECK(alive_in(book.table()) == kNothing);
    CHECK_EQUAL(book.freed().size(), 2u);
}

TEST(a_free_read_before_its_pending_allocation_ends_it_all_the_same) {
    Story story(2);
    story.tell(2, a_free(2, made(1, 7, 10)));
    story.follow();
    story.tell(1, made(1, 7, 10));
    story.follow();
    CHECK(story.alive() == kNothing);
    CHECK_EQUAL(story.used(), 0);
}

TEST(a_free_of_what_a_scan_found_is_not_undone_by_its_late_record) {
    Story story(1);
    commit_entry(story.journal.writer, take_entry(story.journal.writer), 1, a_buffer(1, 7, 10));
    CHECK(story.follower.scan() == ReadResult::ok);  // the call has not returned: alive, its record pending
    CHECK(story.alive() == only(7, 10));
    story.journal.header().next_sequence.store(3);
    story.tell(2, a_free(2, made(1, 7, 10)));
    story.follow();
    CHECK(story.alive() == kNothing);
    story.tell(1, made(1, 7, 10));
    story.follow();
    CHECK(story.alive() == kNothing);
    CHECK_EQUAL(story.used(), 0);
}

TEST(a_late_record_of_a_replaced_life_does_not_come_back_to_life) {
    Story story(3);
    story.tell(2, replacing(1, 2, 7, 20));
    story.tell(3, a_free(3, made(2, 7, 20)));
    story.follow();
    CHECK(story.alive() == kNothing);
    story.tell(1, made(1, 7, 10));
    story.follow();
    CHECK(story.alive() == kNothing);
    CHECK_EQUAL(story.used(), 0);
}

TEST(a_scanned_life_that_was_replaced_is_not_begun_again_by_its_late_record) {
    Story story(1);
    commit_entry(story.journal.writer, take_entry(story.journal.writer), 1, a_buffer(1, 7, 10));
    CHECK(story.follower.scan() == ReadResult::ok);
    story.journal.header().next_sequence.store(3);
    story.tell(2, replacing(1, 2, 7, 20));
    story.follow();
    story.tell(1, made(1, 7, 10));
    story.follow();
    CHECK(story.alive() == only(7, 20));
    CHECK_EQUAL(story.used(), 20);
}

TEST(ids_freed_by_handle_only_may_be_alive_twice) {
    Devices devices;
    Book book(1, devices);
    for (const uint64_t sequence : {1u, 2u, 3u}) {
        RecordCopy words = made(sequence, 7, 10);
        words.drop_flags(kIndexed);
        book.apply(words, nullptr, 1);
    }
    CHECK_EQUAL(book.table().size(), 3u);
    book.apply(a_free(4, made(2, 7, 10)), nullptr, 1);
    CHECK_EQUAL(book.table().size(), 2u);
    CHECK_EQUAL(book.targets()[1].totals.pools[TTMEM_DRAM].used, 20);
}

TEST(a_late_older_allocation_does_not_push_a_newer_one_out) {
    Story story(2);
    story.tell(2, replacing(1, 2, 7, 20));
    story.follow();
    story.tell(1, made(1, 7, 10));
    story.follow();
    CHECK(story.alive() == only(7, 20));
    CHECK_EQUAL(story.used(), 20);
}

TEST(a_late_allocation_on_a_target_closed_meanwhile_stays_closed) {
    Story story(3);
    story.tell(2, made(2, 8, 20));
    story.tell(3, a_closing(3, 1));
    story.follow();
    story.tell(1, made(1, 7, 10));
    story.follow();
    CHECK(story.alive() == kNothing);
    CHECK_EQUAL(story.used(), 0);
}

TEST(a_close_ends_what_came_before_it_only) {
    Story story(3);
    story.tell(1, made(1, 7, 10));
    story.tell(2, a_closing(2, 1));
    story.tell(3, made(3, 8, 30));
    story.follow();
    CHECK(story.alive() == only(8, 30));
    CHECK_EQUAL(story.used(), 30);
}

TEST(the_newest_status_of_a_program_stands_whatever_is_read_last) {
    Story story(3);
    story.tell(1, a_program(1, 9, TTMEM_NOT_SENT));
    story.tell(3, a_program_event(Type::status_changed, 3, 9, TTMEM_COMMITTED));
    story.follow();
    story.tell(2, a_program_event(Type::status_changed, 2, 9, TTMEM_IN_FLIGHT));
    story.follow();
    CHECK_EQUAL(story.follower.book.table().find({9, 1, TTMEM_PROGRAM_BINARY})->status(), uint8_t{TTMEM_COMMITTED});
}

TEST(status_and_launches_of_a_program_whose_record_is_pending_are_not_lost) {
    Story story(3);
    story.tell(2, a_program_event(Type::status_changed, 2, 9, TTMEM_COMMITTED));
    story.tell(3, a_program_event(Type::launched, 3, 9, 4));
    story.follow();
    story.tell(1, a_program(1, 9, TTMEM_NOT_SENT));
    story.follow();
    const RecordCopy* program = story.follower.book.table().find({9, 1, TTMEM_PROGRAM_BINARY});
    REQUIRE(program != nullptr);
    CHECK_EQUAL(program->status(), uint8_t{TTMEM_COMMITTED});
    CHECK_EQUAL(program->launches(), 4u);
}

TEST(launches_never_go_back) {
    Devices devices;
    Book book(1, devices);
    book.apply(a_program(1, 9, 0), nullptr, 1);
    for (const uint64_t launches : {3u, 5u, 4u})
        book.apply(a_program_event(Type::launched, 1 + launches, 9, launches), nullptr, 1);
    CHECK_EQUAL(book.table().find({9, 1, TTMEM_PROGRAM_BINARY})->launches(), 5u);
}

TEST(records_that_make_no_sense_are_a_finding_and_newer_types_are_not) {
    Devices devices;
    Book book(1, devices);
    RecordCopy strange = made(1, 7, 10);
    strange.reserved = in::kReserved.pack(10) | in::kTarget.pack(0x7fff);
    book.apply(strange, nullptr, 1);
    strange = made(2, 7, 10);
    strange.reserved = in::kReserved.pack(kSizeMost + 1) | in::kTarget.pack(1);
    book.apply(strange, nullptr, 1);
    CHECK_EQUAL(book.findings().at("impossible_record"), 2u);
    strange.tag = Tag{static_cast<Type>(200), 250, 250, 255, 1}.pack();
    book.apply(strange, nullptr, 1);
    CHECK_EQUAL(book.findings().at("impossible_record"), 2u);
    CHECK(alive_in(book.table()) == kNothing);
}

TEST(a_journal_cannot_fill_the_collectors_memory) {
    Devices devices;
    Book book(1, devices);
    for (uint64_t id = 1; id <= kTableMost + 2 * kPendingMost; ++id) book.apply(made(id, id, kSizeMost), nullptr, 1);
    CHECK_EQUAL(book.table().size(), kTableMost + kPendingMost);
    CHECK_EQUAL(book.targets()[1].totals.pools[TTMEM_DRAM].count, static_cast<int64_t>(kTableMost + kPendingMost));
    CHECK(book.findings().count("impossible_record") == 1);
    book.leave();
    CHECK_EQUAL(devices.at(0).cell.pools[TTMEM_DRAM].used, 0);
}

TEST(freed_entries_are_kept_up_to_a_limit_and_what_was_dropped_is_known) {
    Devices devices;
    Book book(1, devices);
    for (uint64_t i = 0; i < kFreedMost + 10; ++i) {
        book.apply(made(2 * i + 1, 7, 1), nullptr, 1);
        book.apply(a_free(2 * i + 2, made(2 * i + 1, 7, 1)), nullptr, 1);
    }
    CHECK_EQUAL(book.freed().size(), kFreedMost);
    CHECK_EQUAL(book.freed_dropped(), 20u);
}

TEST(a_site_that_changed_before_its_buffer_was_read_is_the_newer_one) {
    Story story(3);
    RecordCopy changed = a_buffer(1, 7, 0);
    changed.tag = Tag{Type::site_changed, TTMEM_BUFFER, TTMEM_DRAM, 0, 42}.pack();
    changed.address = 1;
    story.tell(2, changed);
    story.follow();  // the first is pending
    story.tell(1, a_buffer(1, 7, 100));
    story.follow();
    uint32_t site = 0;
    story.follower.book.table().for_each([&](const RecordCopy& words) { site = words.site(); });
    CHECK_EQUAL(site, 42u);
    CHECK_EQUAL(story.used(), 100);
}

}  // namespace ttmem
