// Phases: each has the peaks of its own stretch, however stretches nest, overlap and race.
#include <barrier>
#include <thread>

#include "support/check.hpp"
#include "support/interleaving.hpp"
#include "support/journals.hpp"

namespace ttmem {
namespace {

struct Row {
    uint64_t peak = 0, runs = 0;
    bool operator==(const Row&) const = default;
};

/// (name, target) -> its row in DRAM, as a viewer reads them.
std::map<std::pair<std::string, uint16_t>, Row> rows() {
    std::map<std::pair<std::string, uint16_t>, Row> found;
    const auto reader = own_reader();
    std::vector<uint64_t> words;
    CHECK(reader->phase_rows(words));
    for (size_t i = 0; i + 3 < words.size(); i += 4) {
        if (words[i + 3] == 0 || static_cast<uint8_t>(words[i] >> 48) != TTMEM_DRAM) continue;
        if (static_cast<uint16_t>(words[i] >> 32) == kNoTarget) continue;
        const std::string name = reader->item(static_cast<uint32_t>(words[i]), Item::text);
        const bool is_new =
            found.try_emplace({name, static_cast<uint16_t>(words[i] >> 32)}, Row{words[i + 1], words[i + 3]}).second;
        CHECK(is_new);
    }
    return found;
}

/// How many phases of each name are open, as a viewer reads them.
std::map<std::string, uint64_t> open_counts() {
    std::map<std::string, uint64_t> found;
    const auto reader = own_reader();
    std::vector<uint64_t> words;
    CHECK(reader->phase_rows(words));
    for (size_t i = 0; i + 3 < words.size(); i += 4)
        if (words[i + 3] != 0 && static_cast<uint16_t>(words[i] >> 32) == kNoTarget && words[i + 1] != 0)
            found[reader->item(static_cast<uint32_t>(words[i]), Item::text)] = words[i + 1];
    return found;
}

uint32_t begin(const std::string& name) {
    return ttmem_phase_begin(ttmem_intern(name.data(), static_cast<uint32_t>(name.size())));
}

}  // namespace

TEST(a_phase_has_the_peak_of_its_own_stretch) {
    track({64, 64});
    const uint16_t chip = open_chip(7);
    report_buffer(chip, 1, 1000);
    report_free(chip, 1);  // before the phase
    const uint32_t phase = begin("load");
    report_buffer(chip, 2, 100);
    report_buffer(chip, 3, 50);
    report_free(chip, 2);
    ttmem_phase_end(phase);
    report_buffer(chip, 4, 5000);  // after it
    CHECK_EQUAL(rows().at({"load", chip}).peak, 150u);
}

TEST(what_was_there_at_its_beginning_belongs_to_its_peak) {
    track({64, 64});
    const uint16_t chip = open_chip(7);
    report_buffer(chip, 1, 1000);
    const uint32_t phase = begin("quiet");
    report_free(chip, 1);
    ttmem_phase_end(phase);
    CHECK_EQUAL(rows().at({"quiet", chip}).peak, 1000u);
}

TEST(nested_and_overlapping_phases_each_have_their_own) {
    track({64, 64});
    const uint16_t chip = open_chip(7);
    const uint32_t outer = begin("outer");
    report_buffer(chip, 1, 100);
    const uint32_t inner = begin("inner");
    report_free(chip, 1);
    report_buffer(chip, 2, 30);
    ttmem_phase_end(inner);
    const uint32_t last = begin("last");
    report_buffer(chip, 3, 20);
    ttmem_phase_end(outer);
    report_buffer(chip, 4, 500);
    ttmem_phase_end(last);
    const auto found = rows();
    CHECK_EQUAL(found.at({"outer", chip}).peak, 100u);
    CHECK_EQUAL(found.at({"inner", chip}).peak, 100u);
    CHECK_EQUAL(found.at({"last", chip}).peak, 550u);
}

TEST(a_phase_run_again_keeps_its_highest_peak_and_counts) {
    track({64, 64});
    const uint16_t chip = open_chip(7);
    for (const uint64_t bytes : {10u, 300u, 20u}) {
        const uint32_t phase = begin("step");
        report_buffer(chip, 1, bytes);
        report_free(chip, 1);
        ttmem_phase_end(phase);
    }
    CHECK(rows().at({"step", chip}) == (Row{300, 3}));
}

TEST(phases_that_did_not_end_are_told_by_name) {
    track({64, 64});
    const uint32_t outer = begin("outer");
    const uint32_t first = begin("step");
    const uint32_t second = begin("step");
    CHECK(open_counts() == (std::map<std::string, uint64_t>{{"outer", 1}, {"step", 2}}));
    ttmem_phase_end(first);
    CHECK(open_counts() == (std::map<std::string, uint64_t>{{"outer", 1}, {"step", 1}}));
    ttmem_phase_end(second);
    ttmem_phase_end(outer);
    CHECK(open_counts().empty());
    CHECK(begin("outer") != 0);
    CHECK(open_counts() == (std::map<std::string, uint64_t>{{"outer", 1}}));
}

TEST(more_open_phases_than_places_are_counted_as_lost_and_places_come_back) {
    track({64, 256});
    report_buffer(open_chip(7), 1, 10);
    std::vector<uint32_t> open;
    for (int i = 0; i < 40; ++i) open.push_back(begin("p" + std::to_string(i)));
    CHECK_EQUAL(the_writer.header->phases_refused.load(), 8u);
    for (const uint32_t phase : open) ttmem_phase_end(phase);
    CHECK_EQUAL(rows().size(), 32u);
    CHECK(begin("again") != 0);
}

TEST(ending_twice_or_what_never_began_does_nothing) {
    track({64, 64});
    report_buffer(open_chip(7), 1, 10);
    const uint32_t phase = begin("once");
    ttmem_phase_end(phase);
    ttmem_phase_end(phase);
    ttmem_phase_end(4711);
    ttmem_phase_end(0);
    CHECK_EQUAL(rows().at({"once", 1}).runs, 1u);
}

TEST(phases_of_many_threads_all_end) {
    track({256, 256});
    const uint16_t chip = open_chip(7);
    report_buffer(chip, 1'000'000, 1);
    const RandomYields yields(10);
    std::atomic<uint64_t> begun{0};
    std::vector<std::thread> threads;
    for (uint64_t self = 0; self < 4; ++self)
        threads.emplace_back([&, self] {
            for (int i = 0; i < 40; ++i) {
                const uint32_t phase = begin("shared");
                begun += phase != 0;
                report_buffer(chip, self, 10);
                report_free(chip, self);
                ttmem_phase_end(phase);
            }
        });
    for (std::thread& thread : threads) thread.join();
    ttmem_phase_end(begin("last"));  // anyone who comes last ends what could not wait
    CHECK_EQUAL(rows().at({"shared", chip}).runs, begun.load());
    CHECK(rows().at({"shared", chip}).peak >= 11);
    CHECK(rows().at({"shared", chip}).peak <= 41);
}

TEST(threads_that_name_one_text_at_once_get_one_id) {
    constexpr int kThreadsHere = 4, kTexts = 400;
    track({64, 64});
    std::vector<std::vector<uint32_t>> ids(kThreadsHere);
    std::barrier start(kThreadsHere);
    std::vector<std::thread> threads;
    for (auto& own : ids)
        threads.emplace_back([&] {
            for (int i = 0; i < kTexts; ++i) {
                const std::string text = "text " + std::to_string(i);
                start.arrive_and_wait();
                own.push_back(ttmem_intern(text.data(), static_cast<uint32_t>(text.size())));
            }
        });
    for (std::thread& thread : threads) thread.join();
    for (const auto& own : ids) CHECK(own == ids[0]);
    CHECK(ids[0][0] != 0);
    CHECK_EQUAL(own_reader()->item(ids[0][7], Item::text), std::string("text 7"));
}

// ---- the peak that the process itself asks for

namespace {

uint64_t own_peak(uint16_t chip) { return the_writer.targets[chip].pools[TTMEM_DRAM].own_peak.load(); }

void use_for_a_moment(uint16_t chip, uint64_t id, uint64_t bytes) {
    report_buffer(chip, id, bytes);
    report_free(chip, id);
}

}  // namespace

TEST(a_reset_starts_the_own_peak_over_at_what_is_used_and_touches_no_other) {
    track({64, 64});
    const uint16_t chip = open_chip(7), other = open_chip(8);
    const uint32_t phase = begin("load");
    report_buffer(chip, 1, 100);
    use_for_a_moment(chip, 2, 900);
    use_for_a_moment(other, 2, 50);
    CHECK_EQUAL(own_peak(chip), 1000u);
    ttmem_reset_peaks(chip);
    CHECK_EQUAL(own_peak(chip), 100u);
    CHECK_EQUAL(own_peak(other), 50u);
    use_for_a_moment(chip, 3, 200);
    CHECK_EQUAL(own_peak(chip), 300u);
    ttmem_phase_end(phase);
    CHECK_EQUAL(rows().at({"load", chip}).peak, 1000u);
    CHECK_EQUAL(the_writer.targets[chip].pools[TTMEM_DRAM].peak.load(), 1000u);
}

TEST(a_phase_takes_nothing_from_the_own_peak) {
    track({64, 64});
    const uint16_t chip = open_chip(7);
    use_for_a_moment(chip, 1, 500);
    ttmem_phase_end(begin("empty"));
    CHECK_EQUAL(own_peak(chip), 500u);
    use_for_a_moment(chip, 2, 400);
    CHECK_EQUAL(own_peak(chip), 500u);
    ttmem_reset_peaks(chip);
    ttmem_phase_end(begin("empty"));
    use_for_a_moment(chip, 2, 400);
    CHECK_EQUAL(own_peak(chip), 400u);
}

// The own peak is at least the window's, always: an allocation that is below the window is below it, too.
TEST(resets_and_phases_that_race_with_allocations_never_leave_the_own_peak_below_what_comes_later) {
    track({1024, 1024});
    const uint16_t chip = open_chip(7);
    std::atomic<bool> is_over{false};
    std::vector<std::thread> threads;
    for (uint64_t t = 1; t <= 2; ++t)
        threads.emplace_back([&, t] {
            for (uint64_t i = 0; !is_over; ++i) use_for_a_moment(chip, t << 32 | i, 1 + i % 1000);
        });
    threads.emplace_back([&] {
        while (!is_over) ttmem_phase_end(begin("busy"));
    });
    for (int i = 0; i < 2000; ++i) ttmem_reset_peaks(chip);
    is_over = true;
    for (std::thread& thread : threads) thread.join();
    ttmem_reset_peaks(chip);
    CHECK_EQUAL(own_peak(chip), 0u);
    for (uint64_t size = 1; size < 3000; size += 100) {
        use_for_a_moment(chip, 5, size);
        CHECK_EQUAL(own_peak(chip), size);
    }
}

TEST(resets_of_what_was_never_opened_and_while_off_do_nothing) {
    ttmem_reset_peaks(1);
    track({64, 64});
    ttmem_reset_peaks(9999);
    ttmem_reset_peaks(200);
    CHECK_EQUAL(own_peak(200), 0u);
}

}  // namespace ttmem
