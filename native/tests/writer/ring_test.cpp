// The ring: a slot is taken by one writer at a time, and a slow one never scribbles on a newer record.
#include "support/check.hpp"
#include "support/interleaving.hpp"
#include "support/journals.hpp"

namespace ttmem {
namespace {

RecordCopy numbered(uint64_t number) {
    RecordCopy words;
    words.time = words.id = words.address = number;
    words.tag = Tag{Type::allocated, TTMEM_BUFFER, TTMEM_DRAM, 0, static_cast<uint32_t>(number)}.pack();
    words.reserved = words.requested = words.per_bank = number;
    return words;
}

/// The number that all words of a slot agree on.
uint64_t number_in(const Record& slot) {
    const uint64_t number = slot.time.load();
    CHECK_EQUAL(slot.id.load(), number);
    CHECK_EQUAL(tag_of(slot).site, number);
    CHECK_EQUAL(slot.address.load(), number);
    CHECK_EQUAL(slot.reserved.load(), number);
    CHECK_EQUAL(slot.requested.load(), number);
    CHECK_EQUAL(slot.per_bank.load(), number);
    return number;
}

}  // namespace

TEST(each_lap_overwrites_the_one_before) {
    BareJournal journal({64, 16});
    for (uint64_t sequence = 1; sequence <= 100; ++sequence) publish(journal.writer, sequence, numbered(sequence));
    for (uint64_t sequence = 85; sequence <= 100; ++sequence) {
        const Record& slot = journal.writer.ring[sequence & 15];
        CHECK_EQUAL(slot.commit.load(), committed(sequence));
        CHECK_EQUAL(number_in(slot), sequence);
    }
    CHECK_EQUAL(journal.header().skipped.load(), 0u);
}

TEST(a_busy_slot_is_left_alone_and_counted) {
    BareJournal journal({64, 16});
    publish(journal.writer, 3, numbered(3));
    journal.writer.ring[3].commit.store(busy(19));
    publish(journal.writer, 35, numbered(35));
    CHECK_EQUAL(journal.header().skipped.load(), 1u);
    CHECK_EQUAL(journal.writer.ring[3].commit.load(), busy(19));
    CHECK_EQUAL(number_in(journal.writer.ring[3]), 3u);
}

TEST(an_old_sequence_never_scribbles_on_a_newer_record) {
    BareJournal journal({64, 16});
    publish(journal.writer, 35, numbered(35));
    for (const uint64_t old : {3u, 19u, 35u}) publish(journal.writer, old, numbered(old));
    CHECK_EQUAL(journal.header().skipped.load(), 3u);
    CHECK_EQUAL(journal.writer.ring[3].commit.load(), committed(35));
    CHECK_EQUAL(number_in(journal.writer.ring[3]), 35u);
}

TEST(a_writer_overtaken_between_its_look_and_its_claim_gives_way) {
    BareJournal journal({64, 16});
    ParkedThread late(steps::slot_seen, [&] { publish(journal.writer, 3, numbered(3)); });
    publish(journal.writer, 19, numbered(19));
    late.finish();
    CHECK_EQUAL(journal.header().skipped.load(), 1u);
    CHECK_EQUAL(journal.writer.ring[3].commit.load(), committed(19));
    CHECK_EQUAL(number_in(journal.writer.ring[3]), 19u);
}

TEST(a_writer_stopped_inside_a_slot_costs_the_others_that_slot_only) {
    BareJournal journal({64, 16});
    ParkedThread late(steps::slot_half_written, [&] { publish(journal.writer, 3, numbered(3)); });
    for (uint64_t sequence = 4; sequence < 3 + 16 * 4; ++sequence)
        publish(journal.writer, sequence, numbered(sequence));
    CHECK_EQUAL(journal.header().skipped.load(), 3u);
    late.finish();
    CHECK_EQUAL(number_in(journal.writer.ring[3]), 3u);
    CHECK_EQUAL(journal.writer.ring[3].commit.load(), committed(3));
    publish(journal.writer, 3 + 16 * 4, numbered(67));
    CHECK_EQUAL(number_in(journal.writer.ring[3]), 67u);
}

TEST(a_lapped_operation_still_counts_in_live_state_and_counters) {
    track({64, 16});
    const uint16_t chip = open_chip(1);
    ParkedThread late(steps::sequence_taken, [chip] { report_buffer(chip, 1, 10); });
    for (uint64_t id = 2; id < 34; ++id) {
        report_buffer(chip, id, 1);
        report_free(chip, id);
    }
    late.finish();
    CHECK_EQUAL(the_writer.header->skipped.load(), 1u);
    CHECK(alive_in(the_writer) == (Alive{{{chip, TTMEM_BUFFER, 1}, 10}}));
    CHECK_EQUAL(the_writer.targets[chip].pools[TTMEM_DRAM].used.load(), 10u);
}

}  // namespace ttmem
