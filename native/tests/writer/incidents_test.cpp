// Incidents: numbered, counted, kept with what was alive; repeated ones are one; anyone who is killed inside leaves a count.
#include "writer/incidents.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <cstring>
#include <map>
#include <set>

#include "support/check.hpp"
#include "support/incidents.hpp"
#include "support/interleaving.hpp"
#include "support/journals.hpp"

namespace ttmem {
namespace {

constexpr Sizes kMedium{1024, 64};

uint64_t counted(uint8_t kind, uint8_t pool) { return the_writer.header->incident_counts[kind][pool].load(); }

}  // namespace

TEST(the_first_two_and_the_last_six_incidents_are_kept) {
    track(kMedium);
    const uint16_t chip = open_chip(7);
    for (uint64_t number = 1; number <= 20; ++number) {
        refuse(chip, TTMEM_DRAM, 1000 + number);
        std::set<uint64_t> expected;
        for (uint64_t kept = 1; kept <= number; ++kept)
            if (kept <= 2 || kept + 6 > number) expected.insert(kept);
        CHECK(stored_numbers() == expected);
        CHECK_EQUAL(stored_incident(number).requested, 1000 + number);
    }
    CHECK_EQUAL(the_writer.header->incidents.load(), 20u);
    CHECK_EQUAL(counted(TTMEM_INCIDENT_OUT_OF_MEMORY, TTMEM_DRAM), 20u);
    CHECK_EQUAL(the_writer.targets[chip].refusals.load(), 20u);
}

TEST(an_incident_keeps_all_that_was_told_of_it) {
    track(kMedium);
    const uint16_t chip = open_chip(7);
    ttmem_launch(chip, 3);
    ttmem_launch(chip, 3);
    ttmem_incident told = an_incident(chip, TTMEM_L1, 512);
    told.per_bank_bytes = 8;
    told.free_bytes = 400;
    told.largest_free_bytes = 300;
    told.bank_free_bytes = 6;
    told.bank_largest_free_bytes = 5;
    told.bank_count = 64;
    told.core_set = ttmem_intern("0,0-7,7", 7);
    told.space_begin_address = 0x1'0000;
    told.space_end_address = 0x18'0000;
    told.program = 12;
    told.cb_end_address = 0x5'1000;
    told.buffer_address = 0x4'e000;
    told.trace = 9;
    told.address = 0x77;
    told.site = 5;
    told.other_site = 6;
    told.options = TTMEM_FIGURES_OF_TEXT | TTMEM_PER_CORE;
    const std::string text(700, 'x');
    told.text = text.data();
    told.text_bytes = static_cast<uint32_t>(text.size());
    const uint32_t phase = ttmem_phase_begin(ttmem_intern("decode", 6));
    ttmem_report_incident(&told);
    ttmem_phase_end(phase);
    const Kept kept = stored_incident(1);
    CHECK_EQUAL(kept.kind, TTMEM_INCIDENT_OUT_OF_MEMORY);
    CHECK_EQUAL(kept.pool, TTMEM_L1);
    CHECK_EQUAL(kept.target, chip);
    CHECK_EQUAL(kept.flags, static_cast<uint32_t>(kHasText | kPerCore));
    CHECK_EQUAL(kept.text, std::string(512, 'x'));
    CHECK_EQUAL(kept.phase, ttmem_intern("decode", 6));
    CHECK_EQUAL(kept.head.site_and_phase.load() & 0xffff'ffff, 5u);
    CHECK_EQUAL(kept.head.other_site_and_cores.load(), (OtherSiteAndCores{6, told.core_set}.pack()));
    const uint64_t figures[] = {512, 8, 400, 300, 6, 5, 64, 0x1'0000, 0x18'0000, 12, 0x5'1000, 0x4'e000, 9, 0x77, 2};
    const AtomicU64* found = &kept.head.requested;
    for (const uint64_t figure : figures) CHECK_EQUAL(found++->load(), figure);
    CHECK_EQUAL(kept.head.repeats.load(), 0u);
    CHECK(kept.head.time.load() != 0);
    CHECK_EQUAL(kept.head.sequence_before.load(), kept.head.sequence_after.load());
}

TEST(what_is_not_known_or_impossible_is_not_made_up) {
    track(kMedium);
    const uint16_t chip = open_chip(7);
    ttmem_incident told{};
    told.struct_bytes = 8;  // all that this caller knows of: target, kind, pool
    told.target = chip;
    told.kind = TTMEM_INCIDENT_OUT_OF_MEMORY;
    told.pool = TTMEM_DRAM;
    told.requested_bytes = 77;
    ttmem_report_incident(&told);
    CHECK_EQUAL(stored_incident(1).head.requested.load(), kUnknownFigure);
    CHECK_EQUAL(stored_incident(1).head.banks.load(), 0u);
    told.struct_bytes = sizeof told + 64;  // of a newer interface: read as far as it is known
    told.pool = 200;
    told.target = 60000;
    ttmem_report_incident(&told);
    CHECK_EQUAL(stored_incident(2).head.requested.load(), 77u);
    CHECK_EQUAL(stored_incident(2).pool, TTMEM_POOL_UNKNOWN);
    CHECK_EQUAL(stored_incident(2).target, 0u);
    told.struct_bytes = 7;
    ttmem_report_incident(&told);
    told.struct_bytes = sizeof told;
    for (const int kind : {0, static_cast<int>(kIncidentKinds), 255}) {
        told.kind = static_cast<uint8_t>(kind);
        ttmem_report_incident(&told);
    }
    CHECK_EQUAL(the_writer.header->incidents.load(), 2u);
}

TEST(the_older_calls_are_incidents_too) {
    track(kMedium);
    const uint16_t chip = open_chip(7);
    ttmem_out_of_memory(chip, TTMEM_L1, 100, 90, 80);
    ttmem_clash(chip, 12, 0x5'1000, 0x4'e000);
    CHECK_EQUAL(counted(TTMEM_INCIDENT_OUT_OF_MEMORY, TTMEM_L1), 1u);
    CHECK_EQUAL(counted(TTMEM_INCIDENT_CLASH, TTMEM_L1), 1u);
    CHECK_EQUAL(the_writer.targets[chip].refusals.load(), 1u);
    CHECK_EQUAL(the_writer.targets[chip].clashes.load(), 1u);
    CHECK_EQUAL(stored_incident(1).head.largest.load(), 80u);
    CHECK_EQUAL(stored_incident(2).head.program.load(), 12u);
    CHECK_EQUAL(stored_incident(2).head.cb_end.load(), 0x5'1000u);
    CHECK_EQUAL(stored_incident(2).head.requested.load(), kUnknownFigure);
    Follower follower(own_reader());
    std::vector<RecordCopy> batch;
    REQUIRE(follower.reader->read(batch, 100) == ReadResult::ok);
    std::vector<Type> types;
    for (const RecordCopy& words : batch) types.push_back(words.type());
    const std::vector<Type> expected{Type::target_opened, Type::out_of_memory, Type::incident, Type::clashed,
                                     Type::incident};
    CHECK(types == expected);
    CHECK_EQUAL(batch[1].id, 100u);
    CHECK_EQUAL(batch[1].address, 90u);
    CHECK_EQUAL(batch[2].id, 1u);
    CHECK_EQUAL(batch[4].address, uint64_t{TTMEM_INCIDENT_CLASH});
}

TEST(a_repetition_raises_the_count_of_the_one_before) {
    track(kMedium);
    const uint16_t chip = open_chip(7);
    const ttmem_incident same = an_incident(chip, TTMEM_DRAM, 5);
    for (int i = 0; i < 10'000; ++i) note_incident_at(same, 1);
    CHECK_EQUAL(the_writer.header->incidents.load(), 1u);
    CHECK_EQUAL(stored_incident(1).head.repeats.load(), 9'999u);
    CHECK(stored_incident(1).head.last_time.load() >= stored_incident(1).head.time.load());
    CHECK_EQUAL(the_writer.targets[chip].refusals.load(), 10'000u);
    // Each gives out one sequence: what came after is reported from them.
    const Kept kept = stored_incident(1);
    CHECK_EQUAL(the_writer.header->next_sequence.load() - kept.head.sequence_after.load(), kept.head.repeats.load());
    std::thread([=] { note_incident_at(same, 1); }).join();  // another process's
    CHECK_EQUAL(the_writer.header->incidents.load(), 2u);
    note_incident_at(same, 1);
    CHECK_EQUAL(stored_incident(1).head.repeats.load(), 10'000u);
}

TEST(each_repetition_gives_out_one_sequence_whatever_its_kind) {
    track(kMedium);
    const uint16_t chip = open_chip(7);
    for (const int kind : {TTMEM_INCIDENT_OUT_OF_MEMORY, TTMEM_INCIDENT_CLASH, TTMEM_INCIDENT_UNSAFE_REPLAY}) {
        ttmem_incident same = an_incident(chip, TTMEM_L1, 5);
        same.kind = static_cast<uint8_t>(kind);
        for (int i = 0; i < 5; ++i) note_incident_at(same, 1);
        const Kept kept = stored_incident(the_writer.header->incidents.load());
        CHECK_EQUAL(kept.head.repeats.load(), 4u);
        CHECK_EQUAL(the_writer.header->next_sequence.load() - kept.head.sequence_after.load(), 4u);
    }
}

TEST(what_differs_or_comes_later_is_no_repetition) {
    track(kMedium);
    const uint16_t chip = open_chip(7), other = open_chip(8);
    const ttmem_incident first = an_incident(chip, TTMEM_DRAM, 5);
    const auto differs = [&](auto change) {
        note_incident_at(first, 1);
        const uint64_t before = the_writer.header->incidents.load();
        ttmem_incident again = first;
        change(again);
        note_incident_at(again, 2);
        CHECK_EQUAL(the_writer.header->incidents.load(), before + 1);
    };
    differs([](ttmem_incident& again) { again.site = 1; });
    differs([](ttmem_incident& again) { again.pool = TTMEM_L1; });
    differs([](ttmem_incident& again) { again.requested_bytes = 6; });
    differs([&](ttmem_incident& again) { again.target = other; });
    differs([](ttmem_incident& again) { again.kind = TTMEM_INCIDENT_CLASH; });
    differs([](ttmem_incident& again) { again.cb_end_address = 4; });
    const uint64_t before = the_writer.header->incidents.load();
    note_incident_at(first, 10);
    note_incident_at(first, 1'000'000'009);  // within a second of the one before
    note_incident_at(first, 2'000'000'008);
    CHECK_EQUAL(the_writer.header->incidents.load(), before + 1);
    CHECK_EQUAL(stored_incident(before + 1).head.repeats.load(), 2u);
    note_incident_at(first, 3'000'000'008);
    CHECK_EQUAL(the_writer.header->incidents.load(), before + 2);
}

TEST(a_repetition_whose_slot_is_taken_is_an_incident_of_its_own) {
    track(kMedium);
    const uint16_t chip = open_chip(7);
    refuse(chip, TTMEM_DRAM, 1);
    refuse(chip, TTMEM_DRAM, 2);
    refuse(chip, TTMEM_DRAM, 3);
    std::thread([=] {
        for (uint64_t i = 0; i < 6; ++i) refuse(chip, TTMEM_DRAM, 100 + i);
    }).join();
    refuse(chip, TTMEM_DRAM, 3);
    CHECK_EQUAL(the_writer.header->incidents.load(), 10u);
    CHECK_EQUAL(stored_incident(10).requested, 3u);
}

TEST(a_slot_that_is_busy_is_left_alone) {
    track(kMedium);
    const uint16_t chip = open_chip(7);
    ParkedThread slow(steps::incident_half_written, [=] {
        refuse(chip, TTMEM_DRAM, 1);
        refuse(chip, TTMEM_DRAM, 2);
        refuse(chip, TTMEM_DRAM, 3);
    });
    slow.move_on(steps::incident_half_written);
    slow.move_on(steps::incident_half_written);  // the third
    for (uint64_t i = 4; i <= 9; ++i) refuse(chip, TTMEM_DRAM, i);
    CHECK(stored_numbers() == (std::set<uint64_t>{1, 2, 4, 5, 6, 7, 8}));
    slow.finish();
    CHECK(stored_numbers() == (std::set<uint64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
    CHECK_EQUAL(stored_incident(3).requested, 3u);
    CHECK_EQUAL(the_writer.header->incidents.load(), 9u);
}

TEST(the_phase_is_the_innermost_of_the_thread_else_the_newest) {
    track(kMedium);
    const uint16_t chip = open_chip(7);
    const uint32_t outer = ttmem_intern("outer", 5), inner = ttmem_intern("inner", 5),
                   others = ttmem_intern("others", 6);
    refuse(chip, TTMEM_DRAM, 1);
    const uint32_t first = ttmem_phase_begin(outer), second = ttmem_phase_begin(inner);
    uint32_t third = 0;
    std::thread([&] { third = ttmem_phase_begin(others); }).join();
    refuse(chip, TTMEM_DRAM, 2);
    ttmem_phase_end(second);
    refuse(chip, TTMEM_DRAM, 3);
    ttmem_phase_end(first);
    refuse(chip, TTMEM_DRAM, 4);
    ttmem_phase_end(third);
    refuse(chip, TTMEM_DRAM, 5);
    const uint32_t expected[] = {0, inner, outer, others, 0};
    for (uint64_t i = 0; i < 5; ++i) CHECK_EQUAL(stored_incident(i + 1).phase, expected[i]);
}

TEST(four_threads_refused_at_once_have_each_their_own) {
    track({1024, 4096});
    const uint16_t chip = open_chip(7);
    const RandomYields yields(3);
    std::barrier<> together(4);
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (uint64_t i = 0; i < 50; ++i) {
                together.arrive_and_wait();
                refuse(chip, TTMEM_DRAM, t << 32 | i, std::string(100 + t, static_cast<char>('a' + t)));
            }
        });
    for (std::thread& thread : threads) thread.join();
    CHECK_EQUAL(the_writer.header->incidents.load(), 200u);
    CHECK_EQUAL(counted(TTMEM_INCIDENT_OUT_OF_MEMORY, TTMEM_DRAM), 200u);
    std::set<uint64_t> asked;
    for (const uint64_t number : stored_numbers()) {
        const Kept kept = stored_incident(number);
        const uint64_t t = kept.requested >> 32;
        CHECK(asked.insert(kept.requested).second);
        CHECK_EQUAL(kept.text, std::string(100 + t, static_cast<char>('a' + t)));
    }
    CHECK(asked.size() >= 2);
}

TEST(a_forked_child_begins_without_incidents) {
    track(kMedium);
    const uint16_t chip = open_chip(7);
    const uint32_t phase = ttmem_phase_begin(ttmem_intern("parents", 7));
    report_buffer(chip, 1, 10);
    refuse(chip, TTMEM_DRAM, 5);
    check::in_child([=] {
        report_buffer(chip, 2, 20);
        CHECK_EQUAL(the_writer.header->incidents.load(), 0u);
        CHECK(stored_numbers().empty());
        refuse(chip, TTMEM_DRAM, 5);  // as its parent, within a second
        CHECK_EQUAL(the_writer.header->incidents.load(), 1u);
        CHECK_EQUAL(stored_incident(1).head.repeats.load(), 0u);
        CHECK_EQUAL(stored_incident(1).phase, 0u);
        CHECK(stored_incident(1).ids() == (std::multiset<uint64_t>{2}));
    });
    CHECK_EQUAL(the_writer.header->incidents.load(), 1u);
    CHECK_EQUAL(stored_incident(1).head.repeats.load(), 0u);
    ttmem_phase_end(phase);
}

TEST(a_signal_handler_on_a_small_stack_may_be_refused) {
    track({65'536, 64});
    static uint16_t chip = open_chip(7);
    for (uint64_t id = 1; id <= 5000; ++id) report_buffer(chip, id, id);
    static char stack[16 << 10];
    stack_t place{};
    place.ss_sp = stack;
    place.ss_size = sizeof stack;
    REQUIRE(sigaltstack(&place, nullptr) == 0);
    struct sigaction action{};
    action.sa_handler = [](int) {
        errno = 4711;
        refuse(chip, TTMEM_DRAM, 5);
        refuse(chip, TTMEM_DRAM, 6);
        if (errno != 4711) _exit(1);
    };
    action.sa_flags = SA_ONSTACK;
    REQUIRE(sigaction(SIGUSR1, &action, nullptr) == 0);
    raise(SIGUSR1);
    CHECK_EQUAL(the_writer.header->incidents.load(), 2u);
    CHECK_EQUAL(stored_incident(2).head.entries.load(), 4096u);
    CHECK_EQUAL(stored_incident(2).head.left_out.load(), 904u);
}

TEST(whoever_is_killed_inside_leaves_the_count) {
    static steps::Step deadly;
    const std::pair<steps::Step, bool> points[] = {{steps::incident_counted, false},
                                                   {steps::slot_claimed, false},
                                                   {steps::incident_claimed, false},
                                                   {steps::incident_half_written, false},
                                                   {steps::entry_copied, false},
                                                   {steps::incident_copied, false},
                                                   {steps::nowhere, true}};
    for (const auto& [step, is_whole] : points) {
        const std::string directory = check::directory() + "/" + std::to_string(step);
        int told[2];
        REQUIRE(pipe(told) == 0);
        const pid_t child = fork();
        if (child == 0) {
            if (ttmem_enable(directory.c_str()) != 1) _exit(1);
            const uint16_t chip = open_chip(7);
            report_buffer(chip, 1, 10);
            if (write(told[1], ttmem_journal_path(), strlen(ttmem_journal_path())) < 0) _exit(1);
            deadly = step;
            steps::hook.store([](steps::Step at) noexcept {
                if (at == deadly) kill(getpid(), SIGKILL);
            });
            refuse(chip, TTMEM_DRAM, 5);
            kill(getpid(), SIGKILL);
        }
        int status = 0;
        waitpid(child, &status, 0);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        char path[512] = {};
        REQUIRE(read(told[0], path, sizeof path - 1) > 0);
        const DeadIncidents dead(path);
        CHECK_EQUAL(dead.count, 1u);
        CHECK_EQUAL(dead.counted, 1u);
        CHECK_EQUAL(is_committed(dead.first_commit), is_whole);
        close(told[0]);
        close(told[1]);
    }
}

namespace {

const WriterTable* older_table() {
    static WriterTable older = ttmem_own_writer;
    older.bytes = offsetof(WriterTable, incident);
    return &older;
}

}  // namespace

TEST(an_owner_of_before_incidents_is_told_what_it_knows) {
    track(kMedium);
    const uint16_t chip = open_chip(7);
    found_owner.store(older_table());
    ttmem_incident told = an_incident(chip, TTMEM_DRAM, 100);
    ttmem_report_incident(&told);
    told.kind = TTMEM_INCIDENT_CLASH;
    told.program = 4;
    ttmem_report_incident(&told);
    told.kind = TTMEM_INCIDENT_UNSAFE_REPLAY;  // it has no words for it
    ttmem_report_incident(&told);
    found_owner.store(&ttmem_own_writer);
    CHECK_EQUAL(the_writer.targets[chip].refusals.load(), 1u);
    CHECK_EQUAL(the_writer.targets[chip].clashes.load(), 1u);
    CHECK_EQUAL(the_writer.header->incidents.load(), 2u);
    CHECK_EQUAL(stored_incident(1).head.per_bank.load(), kUnknownFigure);
    CHECK_EQUAL(stored_incident(1).requested, 100u);
}

}  // namespace ttmem
