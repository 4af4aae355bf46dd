// Writers and readers on one mapping, with a ring so small and yields so many that laps and skips happen all the time: at
// every quiet point the ledger has exactly what the writers' own notes say.
#include <barrier>
#include <mutex>
#include <thread>

#include "support/check.hpp"
#include "support/collecting.hpp"
#include "support/interleaving.hpp"

namespace ttmem {
namespace {

/// What a writer knows about something it made.
struct Note {
    ttmem_handle handle = 0;
    uint64_t bytes = 0;
    uint64_t launches = 0;
    uint8_t status = 0;
    bool is_by_handle = false;  // not in the index: to be freed by its handle
};
using Place = std::tuple<uint16_t, uint8_t, uint64_t>;
using Notes = std::map<Place, Note>;

/// Things whose maker leaves them to anyone who comes by: made by one thread, freed by another.
class Bag {
public:
    void put(const Place& place, const Note& note) {
        const std::lock_guard lock(mutex_);
        things_.emplace_back(place, note);
    }
    bool take(std::pair<Place, Note>& thing, Random& random) {
        const std::lock_guard lock(mutex_);
        if (things_.empty()) return false;
        std::swap(things_[random.below(things_.size())], things_.back());
        thing = things_.back();
        things_.pop_back();
        return true;
    }
    Notes notes() {
        const std::lock_guard lock(mutex_);
        return Notes(things_.begin(), things_.end());
    }

private:
    std::mutex mutex_;
    std::vector<std::pair<Place, Note>> things_;
};

/// One thread of a host: reports at random and writes down what must be alive.
class Host {
public:
    Host(uint64_t self, const std::vector<uint16_t>& targets, Bag& bag)
        : random_(self + 1), targets_(targets), bag_(bag), next_id_(self << 40) {}

    void act() {
        if (notes.size() > kHeldMost) return free_own();
        switch (random_.below(16)) {
            case 0:
            case 1:
            case 2:
            case 3:
                return make_buffer(random_.below(4) == 0 ? uint8_t{TTMEM_BY_HANDLE} : uint8_t{0});
            case 4:
            case 5:
                return make_cb();
            case 6:
                return make_kernel();
            case 7:
                return make_again();
            case 8:
                return change_program();
            case 9:
                return launch();
            case 10:
                return pass_on();
            case 11:
                return free_anothers();
            case 12:
                if (random_.below(50) == 0) mark_phase();
                return;
            default:
                return free_own();
        }
    }

    Notes notes;

private:
    static constexpr size_t kHeldMost = 150;

    uint16_t a_target() { return targets_[random_.below(targets_.size())]; }
    uint64_t a_size() { return 1 + random_.below(1 << 20); }

    void make_buffer(uint8_t options) {
        const Place place{a_target(), TTMEM_BUFFER, ++next_id_};
        const uint64_t bytes = a_size();
        Note& note = notes[place] = {report_buffer(std::get<0>(place), next_id_, bytes, options), bytes};
        note.is_by_handle = (options & TTMEM_BY_HANDLE) != 0;
    }
    void make_cb() {
        ttmem_circular_buffer cb{};
        cb.target = a_target();
        cb.id = ++next_id_;
        cb.size_per_core_bytes = a_size();
        cb.core_count = static_cast<uint16_t>(1 + random_.below(64));
        notes[{cb.target, TTMEM_CIRCULAR_BUFFER, cb.id}] = {ttmem_cb_alloc(&cb),
                                                            cb.size_per_core_bytes * cb.core_count};
    }
    void make_kernel() {
        ttmem_kernel kernel{};
        kernel.target = a_target();
        kernel.id = ++next_id_;
        kernel.kind = static_cast<uint8_t>(TTMEM_KERNEL_APPLICATION + random_.below(3));
        kernel.exact_bytes = a_size();
        notes[{kernel.target, kernel.kind, kernel.id}] = {ttmem_kernel_load(&kernel), kernel.exact_bytes};
    }
    /// The same id once more: the runtime reused it, its free was lost.
    void make_again() {
        const auto old = one_of_kind(TTMEM_BUFFER);
        if (old == notes.end() || old->second.is_by_handle) return;
        const auto [target, kind, id] = old->first;
        old->second.bytes = a_size();
        old->second.handle = report_buffer(target, id, old->second.bytes);
    }
    void change_program() {
        const auto known = random_.below(2) == 0 ? one_of_kind(TTMEM_PROGRAM_BINARY) : notes.end();
        const Place place = known != notes.end() ? known->first : Place{a_target(), TTMEM_PROGRAM_BINARY, ++next_id_};
        Note& note = notes[place];
        note.status = static_cast<uint8_t>(random_.below(3));
        const uint64_t bytes = random_.below(3) == 0 ? a_size() : 0;
        if (bytes != 0) note.bytes = bytes;
        ttmem_binary_status(std::get<0>(place), std::get<2>(place), note.status, bytes);
    }
    void launch() {
        const auto known = one_of_kind(TTMEM_PROGRAM_BINARY);
        if (known == notes.end()) return;
        ++known->second.launches;
        ttmem_launch(std::get<0>(known->first), std::get<2>(known->first));
    }
    void pass_on() {
        if (notes.empty()) return;
        const auto thing = one();
        bag_.put(thing->first, thing->second);
        notes.erase(thing);
    }
    void free_anothers() {
        std::pair<Place, Note> thing;
        if (bag_.take(thing, random_)) end(thing.first, thing.second);
    }
    void free_own() {
        if (notes.empty()) return;
        const auto thing = one();
        end(thing->first, thing->second);
        notes.erase(thing);
    }
    void end(const Place& place, const Note& note) {
        const auto [target, kind, id] = place;
        if (note.is_by_handle || (note.handle != 0 && random_.below(2) == 0)) return ttmem_free(note.handle);
        ttmem_free_id(target, kind, id, TTMEM_POOL_UNKNOWN, 0);
    }
    void mark_phase() {
        const uint32_t phase = ttmem_phase_begin(ttmem_intern("step", 4));
        make_cb();
        ttmem_phase_end(phase);
    }
    Notes::iterator one() { return std::next(notes.begin(), static_cast<long>(random_.below(notes.size()))); }
    Notes::iterator one_of_kind(uint8_t kind) {
        if (notes.empty()) return notes.end();
        const auto found = one();
        return std::get<1>(found->first) == kind ? found : notes.end();
    }

    Random random_;
    const std::vector<uint16_t>& targets_;
    Bag& bag_;
    uint64_t next_id_;
};

/// The book says what the notes say, to the byte, the status and the launch.
void check_book(const Book& book, const Notes& notes) {
    size_t listed = 0;
    book.table().for_each([&](const RecordCopy& words) {
        ++listed;
        const auto note = notes.find({words.target(), words.kind(), words.id});
        if (note == notes.end())
            return check::fail(__FILE__, __LINE__, "listed, but nobody has it: " + std::to_string(words.id));
        CHECK_EQUAL(words.reserved_bytes(), note->second.bytes);
        if (words.kind() != TTMEM_PROGRAM_BINARY) return;
        CHECK_EQUAL(words.status(), note->second.status);
        CHECK_EQUAL(words.launches(), note->second.launches);
    });
    CHECK_EQUAL(listed, notes.size());
    std::map<uint16_t, int64_t> used;
    for (const auto& [place, note] : notes) used[std::get<0>(place)] += static_cast<int64_t>(note.bytes);
    for (uint16_t target = 1; target < 4; ++target) {
        int64_t total = 0;
        for (const Amount& pool : book.targets()[target].totals.pools) total += pool.used;
        CHECK_EQUAL(total, used[target]);
    }
}

struct Crowd {
    Sizes sizes;
    uint32_t yields_one_in;  // 0: none
    int hosts, rounds, acts;
};

struct Outcome {
    uint64_t lost_records = 0;  // by the collector that read only when all was quiet
    uint64_t skipped = 0;
    int scan_count = 0;  // of the bare follower, which did likewise
};

/// Writers run and stand still, again and again. One collector reads all the while, another and a bare follower when the
/// writers stand still; then all three must have what the writers have.
Outcome tell(const Crowd& crowd) {
    track(crowd.sizes);
    std::vector<uint16_t> targets = {open_chip(1), open_chip(2)};
    targets.push_back(ttmem_mesh_open(9, 1, 2, targets.data(), 2));
    const RandomYields yields(crowd.yields_one_in);
    Collector collector(false), second(false);
    const uint64_t key = attach_own(collector), other_key = attach_own(second);
    Follower follower(own_reader());
    Bag bag;
    std::vector<std::unique_ptr<Host>> hosts;
    for (int i = 0; i < crowd.hosts; ++i)
        hosts.push_back(std::make_unique<Host>(static_cast<uint64_t>(i) + 1, targets, bag));
    std::barrier meeting(crowd.hosts + 1);
    std::vector<std::thread> threads;
    for (auto& host : hosts)
        threads.emplace_back([&, own = host.get()] {
            for (int round = 0; round < crowd.rounds; ++round) {
                for (int act = 0; act < crowd.acts; ++act) own->act();
                meeting.arrive_and_wait();  // quiet: main compares
                meeting.arrive_and_wait();
            }
        });
    std::atomic<bool> should_stop{false};
    std::thread reading([&] {
        while (!should_stop.load()) {
            collector.drain();
            std::this_thread::yield();
        }
    });
    for (int round = 0; round < crowd.rounds; ++round) {
        meeting.arrive_and_wait();
        Notes notes = bag.notes();
        for (auto& host : hosts) notes.insert(host->notes.begin(), host->notes.end());
        settle(collector, key);
        with_process(collector, key, [&](const Process& process) {
            check_book(process.book, notes);
            CHECK_EQUAL(process.mismatch, std::string());
            CHECK_EQUAL(process.hot.unmatched_frees, 0u);
            CHECK_EQUAL(process.hot.untabled_allocs, 0u);
        });
        settle(second, other_key);  // has not read since the last round
        with_process(second, other_key, [&](const Process& process) { check_book(process.book, notes); });
        follower.catch_up();
        check_book(follower.book, notes);
        CHECK_EQUAL(taken_slots(the_writer) <= notes.size(), true);
        meeting.arrive_and_wait();
    }
    should_stop.store(true);
    reading.join();
    for (std::thread& thread : threads) thread.join();
    const uint64_t lost = with_process(second, other_key, [](const Process& process) { return process.lost_records; });
    return {lost, the_writer.header->skipped.load(), follower.scan_count};
}

}  // namespace

TEST(six_threads_in_a_ring_of_256_with_forced_yields_are_followed_exactly) {
    const Outcome outcome = tell({.sizes = {4096, 256}, .yields_one_in = 6, .hosts = 6, .rounds = 8, .acts = 500});
    CHECK(outcome.lost_records > 0);  // or this has shown nothing
}

TEST(eight_threads_in_the_smallest_ring_skip_and_lap_and_end_exact) {
    const Outcome outcome = tell({.sizes = {4096, 16}, .yields_one_in = 3, .hosts = 8, .rounds = 6, .acts = 250});
    CHECK(outcome.skipped > 0);
    CHECK(outcome.scan_count > 0);
}

TEST(four_threads_at_full_speed_outrun_their_readers_and_end_exact) {
    const Outcome outcome = tell({.sizes = {4096, 256}, .yields_one_in = 0, .hosts = 4, .rounds = 6, .acts = 5000});
    CHECK(outcome.lost_records > 0);
}

TEST(in_a_ring_that_is_large_enough_nothing_is_lost) {
    const Outcome outcome = tell({.sizes = {4096, 65'536}, .yields_one_in = 6, .hosts = 6, .rounds = 5, .acts = 1000});
    CHECK_EQUAL(outcome.lost_records, 0u);
    CHECK_EQUAL(outcome.scan_count, 0);
}

}  // namespace ttmem
