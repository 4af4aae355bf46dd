// Incidents as a ledger keeps them: whenever it comes, whatever the ring has lost, and whatever a head says.
#include <unistd.h>

#include <cstring>

#include "ledger/incidents.hpp"
#include "ledger/rows/incidents/incident_copy.hpp"
#include "ledger/rows/making.hpp"
#include "support/check.hpp"
#include "support/collecting.hpp"
#include "support/incidents.hpp"

namespace ttmem {
namespace {

constexpr Sizes kSmall{256, 16};

std::vector<uint64_t> numbers_of(const KnownIncidents& incidents) {
    std::vector<uint64_t> numbers;
    for (const KnownIncident& one : incidents.heads) numbers.push_back(one.words.number());
    return numbers;
}

KnownIncidents incidents_of(Collector& collector, uint64_t key) {
    settle(collector, key);
    return with_process(collector, key, [](const Process& process) { return process.incidents; });
}

void lap(uint16_t chip, uint64_t records) {
    for (uint64_t i = 0; i < records / 2; ++i) {
        report_buffer(chip, 1'000'000, 1);
        report_free(chip, 1'000'000);
    }
}

/// The head of an incident in this process's own journal, to be written over.
Incident& head_at(uint32_t slot) { return const_cast<Incident&>(incident_slots()[slot]); }

std::vector<uint64_t> read_numbers() {
    std::vector<IncidentHead> heads;
    uint64_t count = 0;
    REQUIRE(own_reader()->incidents(heads, count));
    std::vector<uint64_t> numbers;
    for (const IncidentHead& head : heads) numbers.push_back(head.number());
    return numbers;
}

void check_viewers_agree(bool is_wrapped_before, bool is_wrapped_after) {
    track(kSmall);
    const uint16_t chip = open_chip(7);
    Collector early(false);
    const uint64_t early_key = attach_own(early);
    if (is_wrapped_before) lap(chip, 100);
    for (uint64_t i = 0; i < 3; ++i) refuse(chip, TTMEM_L1, 1000 + i, "no room");
    if (is_wrapped_after) lap(chip, 100);
    Collector late(false);
    const KnownIncidents a = incidents_of(early, early_key), b = incidents_of(late, attach_own(late));
    CHECK(numbers_of(a) == (std::vector<uint64_t>{1, 2, 3}));
    CHECK(numbers_of(b) == numbers_of(a));
    CHECK_EQUAL(a.count, 3u);
    for (size_t i = 0; i < 3; ++i) CHECK(a.heads[i].words == b.heads[i].words);
    CHECK_EQUAL(b.heads[2].words.requested, 1002u);
    CHECK_EQUAL(b.heads[2].words.said(), std::string("no room"));
    const uint64_t since = the_writer.header->next_sequence.load() - b.heads[2].words.sequence_after;
    CHECK_EQUAL(since, is_wrapped_after ? 100u : 0u);
}

}  // namespace

TEST(viewers_before_and_after_see_the_same_incidents) { check_viewers_agree(false, false); }
TEST(incidents_after_the_ring_was_wrapped_are_seen) { check_viewers_agree(true, false); }
TEST(incidents_before_the_ring_was_wrapped_are_seen) { check_viewers_agree(false, true); }
TEST(incidents_between_wraps_of_the_ring_are_seen) { check_viewers_agree(true, true); }

TEST(a_copy_is_found_by_pid_key_and_number) {
    track(kSmall);
    const uint16_t chip = open_chip(7);
    report_buffer(chip, 1, 4096);
    refuse(chip, TTMEM_DRAM, 5, "no room");
    Collector collector(false);
    const uint64_t key = attach_own(collector);
    settle(collector, key);
    const auto pid = static_cast<uint32_t>(getpid());
    const auto copy_of = [&](uint32_t whose, uint64_t by_key, uint64_t number) {
        return collector.look(
            [&](const Processes& processes, const Devices& devices, const Timebase& time, const Besides&) {
                return incident_copy_of(processes, devices, time, whose, by_key, number);
            });
    };
    const auto copy = copy_of(pid, 0, 1);
    REQUIRE(copy.has_value());
    CHECK_EQUAL(copy->pid, pid);
    CHECK_EQUAL(copy->incident.requested.value(), 5u);
    REQUIRE(copy->entries.size() == 1);
    CHECK_EQUAL(copy->entries[0].reserved, 4096u);
    CHECK(copy->entries[0].chips.empty());  // those of the incident
    CHECK(copy_of(0, key, 1).has_value());
    CHECK(!copy_of(pid, key + 1, 1).has_value());
    CHECK(!copy_of(pid, 0, 2).has_value());
    CHECK(!copy_of(pid + 1, 0, 1).has_value());
}

TEST(a_process_is_found_by_its_pid_and_counted_while_it_lives) {
    track(kSmall);
    open_chip(7);
    Collector collector(false);
    CHECK_EQUAL(collector.journal_count(), 0u);
    const uint64_t key = attach_own(collector);
    settle(collector, key);
    CHECK(!collector.is_settling());
    CHECK_EQUAL(collector.journal_count(), 1u);
    const auto key_of = [&](uint32_t pid, uint64_t by_key) {
        return collector.look([&](const Processes& processes, const Devices&, const Timebase&, const Besides&) {
            const Process* found = find_process(processes, pid, by_key);
            return found != nullptr ? found->key : uint64_t{0};
        });
    };
    const auto pid = static_cast<uint32_t>(getpid());
    CHECK_EQUAL(key_of(pid, 0), key);
    CHECK_EQUAL(key_of(pid, key), key);
    CHECK_EQUAL(key_of(pid, key + 1), key);  // no such process: one that lives
    CHECK_EQUAL(key_of(pid + 1, 0), 0u);
}

TEST(a_repetition_is_seen_at_the_next_look) {
    track(kSmall);
    const uint16_t chip = open_chip(7);
    Collector collector(false);
    const uint64_t key = attach_own(collector);
    refuse(chip, TTMEM_DRAM, 5);
    CHECK_EQUAL(incidents_of(collector, key).heads.at(0).words.repeats, 0u);
    const uint64_t before = with_process(collector, key, [](const Process& process) { return process.figures; });
    refuse(chip, TTMEM_DRAM, 5);
    CHECK_EQUAL(incidents_of(collector, key).heads.at(0).words.repeats, 1u);
    CHECK(with_process(collector, key, [](const Process& process) { return process.figures; }) > before);
    CHECK_EQUAL(incidents_of(collector, key).count, 1u);
}

TEST(what_was_alive_is_read_with_its_head) {
    track(kSmall);
    const uint16_t chip = open_chip(7);
    for (uint64_t id = 0; id < 5; ++id) report_buffer(chip, id, 100 + id);
    refuse(chip, TTMEM_DRAM, 5);
    report_free(chip, 3);
    std::vector<IncidentHead> heads;
    uint64_t count = 0;
    const auto reader = own_reader();
    REQUIRE(reader->incidents(heads, count));
    std::vector<RecordCopy> entries;
    REQUIRE(reader->incident_copy(heads.at(0), entries));
    CHECK_EQUAL(entries.size(), 5u);
    uint64_t bytes = 0;
    for (const RecordCopy& entry : entries) bytes += entry.reserved_bytes();
    CHECK_EQUAL(bytes, 510u);
}

TEST(the_copy_of_a_slot_that_was_taken_by_a_later_incident_is_not_told_as_its_own) {
    track(kSmall);
    const uint16_t chip = open_chip(7);
    for (uint64_t i = 0; i < 3; ++i) refuse(chip, TTMEM_DRAM, 5 + i);
    std::vector<IncidentHead> heads;
    uint64_t count = 0;
    const auto reader = own_reader();
    REQUIRE(reader->incidents(heads, count));
    for (uint64_t i = 0; i < 6; ++i) refuse(chip, TTMEM_DRAM, 50 + i);
    std::vector<RecordCopy> entries;
    CHECK(reader->incident_copy(heads.at(0), entries));   // the first two stay
    CHECK(!reader->incident_copy(heads.at(2), entries));  // the third gave its slot to the ninth
    CHECK(read_numbers() == (std::vector<uint64_t>{1, 2, 4, 5, 6, 7, 8, 9}));
}

TEST(heads_that_are_not_whole_or_make_no_sense_are_counted_and_not_listed) {
    track(kSmall);
    const uint16_t chip = open_chip(7);
    for (uint64_t i = 0; i < 4; ++i) refuse(chip, TTMEM_DRAM, 5 + i);
    CHECK(read_numbers() == (std::vector<uint64_t>{1, 2, 3, 4}));
    head_at(0).commit = busy(1);        // its writer was killed inside
    head_at(1).commit = committed(3);   // of another slot
    head_at(2).place = 0xff;            // no such kind
    head_at(3).commit = committed(10);  // beyond the counter
    CHECK(read_numbers().empty());
    head_at(3).commit = committed(4);
    head_at(3).text_bytes = ~uint64_t{0};
    head_at(3).entries = ~uint64_t{0};
    Collector collector(false);
    const KnownIncidents kept = incidents_of(collector, attach_own(collector));
    CHECK_EQUAL(kept.count, 4u);
    CHECK(numbers_of(kept) == (std::vector<uint64_t>{4}));
    CHECK_EQUAL(kept.heads.at(0).words.said().size(), size_t{kIncidentTextBytes});
    CHECK_EQUAL(kept.heads.at(0).words.entry_count(), uint64_t{kIncidentEntries});
}

TEST(a_late_viewer_takes_the_refusals_that_the_ring_still_has_and_counts_each_once) {
    track(kSmall);
    const uint16_t chip = open_chip(7);
    for (uint64_t id = 0; id < 20; ++id) report_buffer(chip, id, 100);
    ttmem_clash(chip, 5, 0x9'0000, 0x8'f000);
    refuse(chip, TTMEM_L1, 77);
    report_buffer(chip, 50, 1);
    Collector late(false);
    const uint64_t key = attach_own(late);
    settle(late, key);
    const auto refusals = [&] {
        return with_process(late, key, [](const Process& process) { return process.book.out_of_memory().size(); });
    };
    const auto clashes = [&] {
        return with_process(late, key, [](const Process& process) { return process.book.clashes().size(); });
    };
    CHECK_EQUAL(refusals(), 1u);
    CHECK_EQUAL(clashes(), 1u);
    lap(chip, 40);  // it is lapped: what it has read already is not taken again
    refuse(chip, TTMEM_L1, 78);
    settle(late, key);
    CHECK_EQUAL(refusals(), 2u);
    CHECK_EQUAL(clashes(), 1u);
    CHECK(alive_in(late, key) == alive_in(the_writer));
}

TEST(an_incident_keeps_the_operation_of_its_program_when_that_has_ended) {
    track(kSmall);
    const uint16_t chip = open_chip(7);
    const uint32_t operation =
        ttmem_stack_node(0, static_cast<uint8_t>(Node::device_operation), "MatmulDeviceOperation", "", 0);
    ttmem_binary_status(chip, 5, TTMEM_IN_FLIGHT, 4096);
    ttmem_program_operation(chip, 5, operation);
    ttmem_clash(chip, 5, 0x9'0000, 0x8'f000);
    Collector collector(false);
    const uint64_t key = attach_own(collector);
    CHECK_EQUAL(incidents_of(collector, key).heads.at(0).operation, std::string("MatmulDeviceOperation"));
    ttmem_program_end(chip, 5);
    CHECK_EQUAL(incidents_of(collector, key).heads.at(0).operation, std::string("MatmulDeviceOperation"));
}

TEST(phases_and_cores_are_told_by_their_names) {
    track(kSmall);
    const uint16_t chip = open_chip(7);
    const uint32_t phase = ttmem_phase_begin(ttmem_intern("decode", 6));
    report_buffer(chip, 1, 100);
    ttmem_incident told = an_incident(chip, TTMEM_L1, 512);
    told.core_set = ttmem_intern("0,0-7,7", 7);
    ttmem_report_incident(&told);
    ttmem_phase_end(phase);
    Collector collector(false);
    const KnownIncident kept = incidents_of(collector, attach_own(collector)).heads.at(0);
    CHECK_EQUAL(kept.phase, std::string("decode"));
    CHECK_EQUAL(kept.cores, std::string("0,0-7,7"));
    CHECK(kept.phase_began != 0 && kept.phase_began <= kept.words.time);
    CHECK_EQUAL(kept.thread, static_cast<uint32_t>(getpid()));
}

}  // namespace ttmem
