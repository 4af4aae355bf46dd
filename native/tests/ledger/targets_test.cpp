// Totals and the chips they stand for: meshes fan out, targets move, the dead give everything back.
#include <cstring>

#include "ledger/book/book.hpp"
#include "support/check.hpp"
#include "support/journals.hpp"

namespace ttmem {
namespace {

int64_t used_on(const Devices& devices, uint32_t number) { return devices.all()[number].cell.pools[TTMEM_DRAM].used; }

/// An arena by hand: item id -> bytes.
struct Arena {
    std::map<uint32_t, std::pair<Item, std::string>> items;
    static std::string find(const void* from, uint32_t id, Item kind) {
        const auto& arena = *static_cast<const Arena*>(from);
        const auto item = arena.items.find(id);
        return item != arena.items.end() && item->second.first == kind ? item->second.second : std::string();
    }
    void add_mesh(uint32_t id, const std::vector<uint64_t>& chips) {
        const MeshDescriptor head{id, 1, static_cast<uint16_t>(chips.size()), static_cast<uint32_t>(chips.size())};
        std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
        bytes.append(reinterpret_cast<const char*>(chips.data()), chips.size() * sizeof(uint64_t));
        items[id] = {Item::mesh, bytes};
    }
    void add_chip(uint32_t id, uint64_t unique_id, const char* arch) {
        DeviceDescriptor facts{};
        facts.unique_id = unique_id;
        std::strncpy(facts.arch, arch, sizeof facts.arch - 1);
        items[id] = {Item::device, std::string(reinterpret_cast<const char*>(&facts), sizeof facts)};
    }
};

/// A process with a hand-made arena.
struct Process1 {
    explicit Process1(uint64_t key, Devices& devices) : book(key, devices) { book.set_arena(Arena::find, &arena); }
    void apply(const RecordCopy& words) { book.apply(words, nullptr, 1); }
    void open(uint16_t target, uint64_t unique_id, uint32_t descriptor) {
        RecordCopy words;
        words.tag = Tag{Type::target_opened, 0, TTMEM_POOL_UNKNOWN, 0, 0}.pack();
        words.id = descriptor;
        words.address = unique_id;
        words.reserved = in::kTarget.pack(target);
        apply(a_record(Type::target_opened, ++sequence, words));
    }
    void close(uint16_t target) {
        RecordCopy words;
        words.tag = Tag{Type::target_closed, 0, TTMEM_POOL_UNKNOWN, 0, 0}.pack();
        words.reserved = in::kTarget.pack(target);
        apply(a_record(Type::target_closed, ++sequence, words));
    }
    RecordCopy allocate(uint16_t target, uint64_t id, uint64_t bytes) {
        const RecordCopy words = a_record(Type::allocated, ++sequence, a_buffer(target, id, bytes));
        apply(words);
        return words;
    }
    Arena arena;
    Book book;
    uint64_t sequence = 0;
};

TargetCounters counters(uint32_t state, uint64_t unique_id, uint64_t used, uint64_t count) {
    TargetCounters words;
    words.state = state;
    words.unique_id = unique_id;
    words.pools[TTMEM_DRAM].used = used;
    words.pools[TTMEM_DRAM].allocs = count;
    return words;
}

}  // namespace

TEST(a_mesh_allocation_counts_once_on_each_of_its_chips) {
    Devices devices;
    Process1 process(1, devices);
    process.arena.add_mesh(5, {100, 101, 102, 101});  // a chip named twice is there once
    process.open(1, 77, 5);
    const RecordCopy made = process.allocate(1, 7, 10);
    CHECK_EQUAL(process.book.table().size(), 1u);
    CHECK_EQUAL(devices.all().size(), 3u);
    for (uint32_t chip = 0; chip < 3; ++chip) CHECK_EQUAL(used_on(devices, chip), 10);
    process.apply(a_free(++process.sequence, made));
    for (uint32_t chip = 0; chip < 3; ++chip) CHECK_EQUAL(used_on(devices, chip), 0);
}

TEST(a_chip_and_a_mesh_over_it_add_up_on_the_chip) {
    Devices devices;
    Process1 process(1, devices);
    process.arena.add_mesh(5, {100, 101});
    process.open(1, 100, 0);
    process.open(2, 77, 5);
    process.allocate(1, 7, 10);
    process.allocate(2, 7, 100);
    CHECK_EQUAL(used_on(devices, 0), 110);
    CHECK_EQUAL(used_on(devices, 1), 100);
    CHECK_EQUAL(process.book.cells().at(0).pools[TTMEM_DRAM].peak, 110);
    process.close(2);
    CHECK_EQUAL(used_on(devices, 0), 10);
    CHECK_EQUAL(used_on(devices, 1), 0);
}

TEST(what_was_reported_before_the_opening_moves_to_the_chip) {
    Devices devices;
    Process1 process(1, devices);
    process.allocate(3, 7, 10);
    CHECK(!devices.all()[0].is_known);
    CHECK_EQUAL(used_on(devices, 0), 10);
    process.open(3, 100, 0);
    CHECK_EQUAL(used_on(devices, 0), 0);
    CHECK(devices.all()[1].is_known);
    CHECK_EQUAL(used_on(devices, 1), 10);
}

TEST(a_target_that_becomes_other_chips_takes_its_totals_along_and_closes_them_all) {
    Devices devices;
    Process1 process(1, devices);
    process.arena.add_mesh(5, {100, 101});
    process.arena.add_mesh(6, {101, 102});
    process.open(1, 77, 5);
    process.allocate(1, 7, 10);
    process.open(1, 77, 6);
    CHECK_EQUAL(used_on(devices, 0), 0);
    CHECK_EQUAL(used_on(devices, 1), 10);
    CHECK_EQUAL(used_on(devices, 2), 10);
    CHECK_EQUAL(devices.all()[0].open_count, 0);
    CHECK_EQUAL(devices.all()[1].open_count, 1);
    CHECK_EQUAL(devices.all()[2].open_count, 1);
    process.close(1);
    for (uint32_t chip = 0; chip < 3; ++chip) CHECK_EQUAL(devices.all()[chip].open_count, 0);
}

TEST(opening_again_and_closing_again_count_once) {
    Devices devices;
    Process1 one(1, devices), two(2, devices);
    one.open(1, 100, 0);
    one.open(1, 100, 0);
    two.open(4, 100, 0);
    CHECK_EQUAL(devices.all()[0].open_count, 2);
    one.close(1);
    one.close(1);
    CHECK_EQUAL(devices.all()[0].open_count, 1);
    two.book.leave();
    two.book.leave();
    CHECK_EQUAL(devices.all()[0].open_count, 0);
}

TEST(targets_learned_from_counters_open_and_close_chips_once_however_often_they_are_read) {
    Devices devices;
    Process1 other(9, devices);
    other.open(1, 100, 0);
    Process1 process(1, devices);
    const std::vector<TargetCounters> open = {counters(kTargetUnnamed, 0, 0, 0), counters(kTargetOpen, 100, 0, 0)};
    const std::vector<TargetCounters> closed = {counters(kTargetClosed, 0, 0, 0), counters(kTargetClosed, 100, 0, 0)};
    for (int i = 0; i < 3; ++i) process.book.learn_targets(open, 1);
    CHECK_EQUAL(devices.all()[0].open_count, 2);
    process.allocate(0, 7, 1);  // the nameless target has a place of its own
    for (int i = 0; i < 3; ++i) process.book.learn_targets(closed, 1);
    CHECK_EQUAL(devices.all()[0].open_count, 1);
    for (const Device& device : devices.all()) CHECK(device.open_count >= 0);
}

TEST(counters_take_the_place_of_the_list_and_a_new_list_that_of_the_counters) {
    Devices devices;
    Process1 process(1, devices);
    process.open(1, 100, 0);
    process.allocate(1, 7, 10);
    std::vector<TargetCounters> words = {counters(kTargetUnnamed, 0, 0, 0), counters(kTargetOpen, 100, 500, 5)};
    process.book.adopt_counters(words, 1);
    CHECK(!process.book.is_counting());
    CHECK_EQUAL(used_on(devices, 0), 500);
    CHECK_EQUAL(process.book.targets()[1].totals.kinds[TTMEM_BUFFER].used, 500);
    process.allocate(1, 8, 10);  // listed, but the counters have it already
    CHECK_EQUAL(used_on(devices, 0), 500);
    process.book.rebuild({a_record(Type::allocated, 1, a_buffer(1, 7, 30))}, {}, 1);
    CHECK(process.book.is_counting());
    CHECK_EQUAL(used_on(devices, 0), 30);
    CHECK_EQUAL(process.book.table().size(), 1u);
}

TEST(impossible_counters_are_clamped_and_come_off_again) {
    Devices devices;
    Process1 honest(9, devices), process(1, devices);
    honest.open(1, 100, 0);
    honest.allocate(1, 7, 10);
    for (const uint64_t absurd : {~uint64_t{0}, uint64_t{1} << 63, (uint64_t{1} << 63) - 1}) {
        TargetCounters one = counters(kTargetOpen, 100, absurd, absurd);
        for (auto& pool : one.pools) pool = {absurd, absurd, absurd, absurd, 0, {absurd}};
        for (auto& kind : one.kinds) kind = {absurd, absurd};
        process.book.learn_targets(std::vector<TargetCounters>(kTargets, one), 1);
        process.book.adopt_counters(std::vector<TargetCounters>(kTargets, one), 1);
        CHECK(used_on(devices, 0) >= 10);
    }
    process.book.leave();
    CHECK_EQUAL(used_on(devices, 0), 10);
    CHECK_EQUAL(devices.all()[0].open_count, 1);
}

TEST(the_dead_give_everything_back_and_only_that) {
    Devices devices;
    Process1 one(1, devices), two(2, devices);
    for (Process1* process : {&one, &two}) {
        process->arena.add_mesh(5, {100, 101});
        process->open(1, 100, 0);
        process->open(2, 77, 5);
        process->allocate(1, 7, 10);
        process->allocate(2, 7, 100);
        process->allocate(3, 7, 1000);
    }
    CHECK_EQUAL(used_on(devices, 0), 220);
    one.book.leave();
    CHECK_EQUAL(used_on(devices, 0), 110);
    CHECK_EQUAL(used_on(devices, 1), 100);
    CHECK_EQUAL(one.book.cells().at(0).pools[TTMEM_DRAM].used, 110);  // its last figures stay readable
    two.book.leave();
    for (const Device& device : devices.all()) {
        CHECK_EQUAL(device.cell.pools[TTMEM_DRAM].used, 0);
        CHECK_EQUAL(device.cell.pools[TTMEM_DRAM].count, 0);
        CHECK_EQUAL(device.cell.kinds[TTMEM_BUFFER].used, 0);
        CHECK_EQUAL(device.open_count, 0);
    }
    CHECK_EQUAL(devices.all()[0].cell.pools[TTMEM_DRAM].peak, 220);
}

TEST(sums_of_several_hostile_processes_come_off_exactly) {
    Devices devices;
    Process1 honest(9, devices);
    honest.open(1, 100, 0);
    honest.allocate(1, 7, 10);
    std::vector<std::unique_ptr<Process1>> hostile;
    for (uint64_t key = 1; key <= 3; ++key) {
        hostile.push_back(std::make_unique<Process1>(key, devices));
        hostile.back()->open(1, 100, 0);
        std::vector<RecordCopy> alive;
        for (uint64_t id = 0; id < kTableMost; ++id)
            alive.push_back(a_record(Type::allocated, id + 1, a_buffer(1, id, kSizeMost)));
        hostile.back()->book.rebuild(alive, {}, 1);
    }
    for (const auto& process : hostile) process->book.leave();
    CHECK_EQUAL(used_on(devices, 0), 10);
}

TEST(a_process_cannot_name_devices_without_end) {
    Devices devices;
    Process1 process(1, devices);
    for (uint64_t unique_id = 0; unique_id < 5000; ++unique_id)
        process.open(static_cast<uint16_t>(1 + unique_id % 255), unique_id, 0);
    CHECK(devices.all().size() <= 1500);
}

TEST(what_others_said_about_an_open_chip_stands) {
    Devices devices;
    Process1 one(1, devices), two(2, devices);
    one.arena.add_chip(3, 100, "blackhole");
    two.arena.add_chip(3, 100, "nonsense");
    one.open(1, 100, 3);
    two.open(1, 100, 3);
    CHECK_EQUAL(std::string(devices.all()[0].facts.arch), std::string("blackhole"));
}

}  // namespace ttmem
