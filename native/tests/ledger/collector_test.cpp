// The collector on real journals: its own process's, a killed child's, one that is cut while it is read.
#include "ledger/collector.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "support/check.hpp"
#include "support/collecting.hpp"
#include "support/interleaving.hpp"

namespace ttmem {
namespace {

uint64_t attach_file(Collector& collector, const std::string& path, std::string& error) {
    struct stat facts{};
    stat(path.c_str(), &facts);
    return collector.attach(path, facts.st_dev, facts.st_ino, error);
}

uint64_t attach_file(Collector& collector, const std::string& path) {
    std::string error;
    const uint64_t key = attach_file(collector, path, error);
    CHECK_EQUAL(error, std::string());
    REQUIRE(key != 0);
    return key;
}

class Child;
Child* this_child = nullptr;

/// A child that reports, says the path of its journal, and then waits or does as it is reported.
class Child {
public:
    explicit Child(const std::function<void()>& report, const std::function<void()>& then = [] {}) {
        REQUIRE(pipe(ready_) == 0 && pipe(go_) == 0);
        pid_ = fork();
        if (pid_ == 0) {
            this_child = this;
            close(go_[1]);
            report();
            tell(ttmem_journal_path());
            then();
            char sign;
            while (read(go_[0], &sign, 1) > 0) {
            }
            _exit(0);
        }
        close(go_[0]);
        path = wait_for_word();
    }
    ~Child() {
        kill_it();
        for (const int end : {ready_[0], ready_[1], go_[1]}) close(end);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    void kill_it() {
        if (pid_ <= 0) return;
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }
    void tell(const char* words) { CHECK(write(ready_[1], words, std::char_traits<char>::length(words) + 1) > 0); }
    std::string wait_for_word() {
        std::string word;
        char letter = 0;
        while (read(ready_[0], &letter, 1) == 1 && letter != '\0') word += letter;
        return word;
    }

    std::string path;

private:
    int ready_[2]{}, go_[2]{};
    pid_t pid_ = 0;
};

steps::Step killing_step = steps::nowhere;

/// Says the parent and stands still for ever.
void stop_for_good(steps::Step step) noexcept {
    if (step != killing_step) return;
    this_child->tell("here");
    for (;;) pause();
}

const Alive kBase = {{{1, TTMEM_BUFFER, 1}, 10}, {{1, TTMEM_BUFFER, 2}, 20}, {{1, TTMEM_BUFFER, 3}, 30}};

void report_base() {
    track({64, 64});
    CHECK_EQUAL(open_chip(7), 1u);
    for (uint64_t id = 1; id <= 3; ++id) report_buffer(1, id, id * 10);
}

}  // namespace

TEST(a_process_reads_its_own_journal_through_its_mapping) {
    report_base();
    Collector collector(false);
    const uint64_t key = attach_own(collector);
    settle(collector, key);
    CHECK(alive_in(collector, key) == kBase);
    CHECK_EQUAL(used_on(collector, 0), 60);
    CHECK(with_process(collector, key, [](const Process& process) { return process.file == nullptr; }));
    CHECK(with_process(collector, key, [](const Process& process) { return process.mismatch.empty(); }));
}

TEST(two_collectors_agree) {
    report_base();
    Collector one(false), two(true);
    const uint64_t key = attach_own(one);
    settle(one, key);
    report_free(1, 2);
    const uint64_t late = attach_own(two);
    settle(one, key);
    settle(two, late);
    CHECK(alive_in(one, key) == alive_in(two, late));
    CHECK_EQUAL(used_on(one, 0), used_on(two, 0));
}

TEST(a_full_table_is_read_from_the_counters_and_says_so) {
    track({64, 64});
    const uint16_t chip = open_chip(7);
    Collector collector(false);
    const uint64_t key = attach_own(collector);
    for (uint64_t id = 0; id < 70; ++id) report_buffer(chip, id, 10);
    settle(collector, key);
    CHECK_EQUAL(used_on(collector, 0), 700);
    with_process(collector, key, [](const Process& process) {
        CHECK(process.is_table_full && !process.book.is_counting());
        CHECK_EQUAL(process.book.cells().at(0).pools[TTMEM_DRAM].count, 70);
        CHECK_EQUAL(process.book.table().size(), 64u);
    });
}

TEST(writers_faster_than_the_collector_are_outrun_shown_by_counters_and_exact_when_they_slow_down) {
    track({256, 16});
    const uint16_t chip = open_chip(7);
    report_buffer(chip, 1, 1000);
    Collector collector(false);
    const uint64_t key = attach_own(collector);
    std::atomic<bool> should_stop{false};
    std::thread writer([&] {
        while (!should_stop.load()) {
            report_buffer(chip, 2, 1);
            report_free(chip, 2);
        }
    });
    drain_until(collector, [&] { return mode_of(collector, key) == Mode::outrun; });
    const int64_t shown = used_on(collector, 0);
    CHECK(shown == 1000 || shown == 1001);
    should_stop.store(true);
    writer.join();
    settle(collector, key);
    CHECK(alive_in(collector, key) == (Alive{{{chip, TTMEM_BUFFER, 1}, 1000}}));
    CHECK_EQUAL(used_on(collector, 0), 1000);
    CHECK(with_process(collector, key, [](const Process& p) { return p.lost_records > 0 && p.mismatch.empty(); }));
}

TEST(an_allocation_that_overlaps_the_close_of_its_target_is_the_same_everywhere) {
    for (const steps::Step step :
         {steps::sequence_taken, steps::entry_committed, steps::entry_indexed, steps::charged}) {
        track({64, 64});
        const uint16_t chip = open_chip(7);
        Collector collector(false);
        const uint64_t key = attach_own(collector);
        ParkedThread parked(step, [chip] { report_buffer(chip, 1, 10); });
        ttmem_device_close(chip);
        parked.finish();
        settle(collector, key);
        const Alive alive = alive_in(the_writer);
        CHECK(alive_in(collector, key) == alive);
        CHECK_EQUAL(the_writer.targets[chip].pools[TTMEM_DRAM].used.load(), alive.empty() ? 0u : 10u);
        CHECK_EQUAL(taken_slots(the_writer), alive.size());
        CHECK(with_process(collector, key, [](const Process& process) { return process.mismatch.empty(); }));
        open_chip(7);
        ttmem_device_close(chip);
        CHECK(alive_in(the_writer).empty());
    }
}

TEST(a_writer_killed_inside_a_call_counts_it_or_does_not_and_nothing_else) {
    const std::function<void()> allocate = [] { report_buffer(1, 4, 40); }, release = [] { report_free(1, 3); },
                                replace = [] { report_buffer(1, 3, 300); };
    const std::map<std::string, std::pair<const std::function<void()>*, Alive>> calls = {
        {"allocate", {&allocate, {{{1, TTMEM_BUFFER, 4}, 40}}}}, {"free", {&release, {}}}, {"replace", {&replace, {}}}};
    for (const auto& [name, call] : calls)
        for (int step = steps::sequence_taken; step <= steps::slot_half_written; ++step) {
            const std::function<void()>& act = *call.first;
            Child child(report_base, [&] {
                killing_step = static_cast<steps::Step>(step);
                steps::hook.store(stop_for_good);
                act();
                this_child->tell("passed");  // this call does not come by that point
            });
            child.wait_for_word();
            Collector follower(false);
            const uint64_t followed = attach_file(follower, child.path);
            follower.drain();
            child.kill_it();
            Collector late(false);
            const uint64_t found = attach_file(late, child.path);
            for (auto& [collector, key] : {std::pair{&follower, followed}, std::pair{&late, found}}) {
                drain_until(*collector, [&, c = collector, k = key] { return mode_of(*c, k) == Mode::ended; });
                Alive alive = alive_in(*collector, key);
                CHECK_EQUAL(used_on(*collector, 0), 0);  // a dead process holds nothing
                for (const uint64_t id : {1u, 2u}) CHECK_EQUAL(alive.erase({1, TTMEM_BUFFER, id}), 1u);
                const size_t third = alive.erase({1, TTMEM_BUFFER, 3});
                if (name != "free") CHECK_EQUAL(third, 1u);
                if (name == "allocate") alive.erase({1, TTMEM_BUFFER, 4});
                CHECK(alive.empty());
            }
        }
}

TEST(a_journal_cut_while_it_is_read_is_damage_to_nobody_else) {
    Child good(report_base), bad(report_base);
    Collector collector(false);
    const uint64_t first = attach_file(collector, good.path), second = attach_file(collector, bad.path);
    drain_until(collector, [&] { return used_on(collector, 0) == 120; });
    CHECK(truncate(bad.path.c_str(), 5000) == 0);
    drain_until(collector, [&] { return mode_of(collector, second) == Mode::damaged; });
    CHECK_EQUAL(used_on(collector, 0), 60);
    CHECK(mode_of(collector, first) == Mode::following);
    CHECK(alive_in(collector, first) == kBase);
    collector.look([&](auto&, auto&, auto&, const Besides& besides) {
        REQUIRE(besides.damaged.size() == 1);
        CHECK_EQUAL(besides.damaged.at(geteuid()).newest.at(0).first, bad.path);
    });
}

TEST(what_is_no_journal_is_refused_by_name) {
    Collector collector(false);
    std::string error;
    const std::string path = check::directory() + "/some";
    CHECK_EQUAL(collector.attach(path, 0, 0, error), 0u);
    CHECK(!error.empty());
    CHECK(mkfifo(path.c_str(), 0600) == 0);
    CHECK_EQUAL(attach_file(collector, path, error), 0u);
    CHECK_EQUAL(error, std::string("not a regular file"));
    unlink(path.c_str());
    close(open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    CHECK_EQUAL(attach_file(collector, path, error), 0u);
    CHECK(error.find("too short") != std::string::npos);
    error.clear();
    CHECK_EQUAL(collector.attach(path, 1, 1, error), 0u);  // was another file when it was looked for
    CHECK(!error.empty());
    CHECK(symlink(path.c_str(), (path + "2").c_str()) == 0);
    CHECK_EQUAL(attach_file(collector, path + "2", error), 0u);
    CHECK(error.find("cannot be opened") == 0);
}

TEST(records_taken_from_one_collector_make_another_say_the_same) {
    report_base();
    Collector live(true), replay(false);
    const uint64_t key = attach_own(live);
    report_free(1, 2);
    report_buffer(1, 3, 300);
    settle(live, key);
    std::string records, arena;
    CHECK(live.taken(key, records, arena));
    const uint64_t fed = replay.feed(records, arena, 1, 1, 1, "again");
    CHECK(alive_in(replay, fed) == alive_in(live, key));
    CHECK_EQUAL(used_on(replay, 0), used_on(live, 0));
    replay.end(fed);
    CHECK_EQUAL(used_on(replay, 0), 0);
    replay.forget_ended();
    CHECK(replay.look([](auto& processes, auto&, auto&, auto&) { return processes.empty(); }));
}

TEST(the_dead_that_came_before_us_never_held_anything_on_our_chips) {
    std::string path;
    {
        Child child(report_base);
        path = child.path;
    }
    Collector collector(false);
    const uint64_t key = attach_file(collector, path);
    drain_until(collector, [&] { return mode_of(collector, key) == Mode::ended; });
    CHECK(alive_in(collector, key) == kBase);
    CHECK_EQUAL(used_on(collector, 0), 0);
}

}  // namespace ttmem
