// Rows of chips and processes: whatever happens, one that differs has another version, and the untouched keep theirs.
#include <map>
#include <random>
#include <set>

#include "ledger/rows/look.hpp"
#include "server/message_rules.hpp"
#include "support/check.hpp"
#include "support/collecting.hpp"
#include "support/server_messages.hpp"

namespace ttmem {
namespace {

constexpr uint64_t kFirstChip = 70;
constexpr int kServerChips = 3;  // chips that are known by number only

template <typename Row>
using Rows = std::map<uint64_t, Versioned<Row>>;

struct Sight {
    Rows<ChipRow> chips;
    Rows<ProcessRow> processes;
};

/// Everything made from scratch, by a clock that stands still: only versions are as they go on.
class Watcher {
public:
    explicit Watcher(Collector& collector) : collector_(collector) { time_.refresh(); }

    Sight look() {
        collector_.drain();
        return collector_.look([&](const Processes& processes, Devices& devices, const Timebase&, const Besides& told) {
            Atlas fresh;
            const Besides besides{fresh, told.damaged, told.versions};
            Asked asked;
            asked.has_all_details = true;
            Look found = look_of(asked, processes, devices, time_, besides);
            Sight sight;
            for (auto& chip : found.chips) sight.chips[chip.name] = std::move(chip);
            for (auto& process : found.processes) sight.processes[process.name] = std::move(process);
            return sight;
        });
    }

private:
    Collector& collector_;
    Timebase time_;
};

template <typename Row>
void check_versions(const Rows<Row>& before, const Rows<Row>& after, std::set<uint64_t>& given) {
    for (const auto& [name, now] : after) {
        const auto old = before.find(name);
        const bool is_same = old != before.end() && old->second.version == now.version;
        if (is_same)
            CHECK(*old->second.row == *now.row);
        else
            CHECK(given.insert(now.version).second);  // never given before
    }
}

/// A process on this machine, some that report by socket, and some that are replayed.
class Scene {
public:
    Scene() {
        track({256, 256});
        for (uint64_t id = kFirstChip; id < kFirstChip + 3; ++id) chips_.push_back(open_chip(id));
        mesh_ = ttmem_mesh_open(5, 1, 2, chips_.data(), 2);
        own_ = attach_own(collector);
        tapped_ = attach_own(tap_);
        for (int i = 0; i < 2; ++i) admit();
    }

    /// Does something; returns the key of who did it, 0 for what is no process's or every user's.
    uint64_t act(std::mt19937& dice) {
        switch (dice() % 12) {
            case 0:
                return replay();
            case 1:
                return end_one(dice);
            case 2:
                return happen(dice);
            case 3:
            case 4:
            case 5:
            case 6:
                return hear(dice);
            default:
                return report(dice);
        }
    }

    uint64_t own() const { return own_; }

    Collector collector{false};

private:
    void admit() {
        const auto held = collector.hold();
        sockets_.push_back(&collector.admit(Way::socket));
        sockets_.back()->pid = 5000 + static_cast<uint32_t>(sockets_.back()->key);
    }

    uint64_t report(std::mt19937& dice) {
        const uint64_t id = dice() % 6 + 1;
        const uint16_t target = dice() % 2 != 0 ? mesh_ : chips_[dice() % chips_.size()];
        switch (dice() % 8) {
            case 0:
                ttmem_launch(target, id);
                break;
            case 1:
                lay(target, id, dice);
                break;
            case 2:
                ttmem_out_of_memory(target, TTMEM_L1, 4096, 100, 10);
                break;
            case 3:
                ttmem_label(dice() % 2 != 0 ? "one" : "another");
                break;
            case 4:
                ttmem_phase_end(ttmem_phase_begin(ttmem_intern("phase", 5)));
                break;
            case 5:
                report_free(target, id);
                break;
            default:
                report_buffer(target, id, dice() % 100'000);
        }
        return own_;
    }

    void lay(uint16_t target, uint64_t id, std::mt19937& dice) {
        ttmem_circular_buffer cb{};
        cb.target = target;
        cb.id = id;
        cb.program = id;
        cb.address = 1024;
        cb.size_per_core_bytes = dice() % 4096;
        cb.core_count = 2;
        cb.core_set = ttmem_intern("0,0-1,0", 7);
        ttmem_cb_alloc(&cb);
    }

    uint64_t hear(std::mt19937& dice) {
        if (sockets_.empty()) admit();
        Process& by = *sockets_[dice() % sockets_.size()];
        const auto seed = static_cast<int32_t>(10 + by.key % kServerChips);
        const server::MessageType types[] = {server::MessageType::alloc, server::MessageType::free,
                                             server::MessageType::kernel_load};
        const std::string bytes = server::a_message(144, {types[dice() % 3], dice() % 4, dice() % 5000, seed});
        const auto held = collector.hold();
        server::MessageRules(collector).apply(by, bytes.data(), 1, 144, 1'000'000 + dice() % 1000);
        return by.key;
    }

    uint64_t replay() {
        tap_.drain();
        std::string records, arena;
        tap_.taken(tapped_, records, arena);
        records_ += records;
        replays_.push_back(collector.feed(records_, arena, 4000, 0, 1, "again"));
        return replays_.back();
    }

    uint64_t end_one(std::mt19937& dice) {
        if (dice() % 2 != 0 && !replays_.empty()) {
            const uint64_t key = replays_.back();
            replays_.pop_back();
            collector.end(key);
            return key;
        }
        if (sockets_.empty()) return own_;
        Process& process = *sockets_.back();
        sockets_.pop_back();
        const auto held = collector.hold();
        collector.dismiss(process);
        return process.key;
    }

    uint64_t happen(std::mt19937& dice) {
        switch (dice() % 4) {
            case 0:
                collector.reset_peaks();
                break;
            case 1:
                collector.describe_by_driver(kFirstChip + dice() % 3, "", dice() % 2 != 0 ? "board" : "card", 0, 0);
                break;
            case 2:
                collector.set_bank_sizes("", 1 << 20, (1 << 20) + dice() % 2);
                break;
            default:
                collector.forget_ended();
        }
        return 0;
    }

    Collector tap_{true};
    std::vector<uint16_t> chips_;
    uint16_t mesh_ = 0;
    uint64_t own_ = 0, tapped_ = 0;
    std::string records_;
    std::vector<Process*> sockets_;
    std::vector<uint64_t> replays_;
};

std::set<uint64_t> chips_of(const Sight& sight, uint64_t key) {
    std::set<uint64_t> chips;
    const auto found = sight.processes.find(key);
    if (found == sight.processes.end()) return chips;
    for (const HeldRow& held : found->second.row->details->held) chips.insert(held.chip);
    for (const MeshRow& mesh : found->second.row->details->meshes) chips.insert(mesh.chips.begin(), mesh.chips.end());
    return chips;
}

// Who shares no chip with anyone who acted keeps its version; so does every other chip.
void check_untouched(const Sight& before, const Sight& after, uint64_t actor) {
    std::set<uint64_t> touched = chips_of(before, actor);
    touched.merge(chips_of(after, actor));
    const auto is_same = [](const auto& rows, const auto& now) {
        const auto old = rows.find(now.first);
        return old == rows.end() || old->second.version == now.second.version;
    };
    for (const auto& process : after.processes) {
        bool is_touched = process.first == actor;
        for (const uint64_t chip : chips_of(after, process.first)) is_touched |= touched.contains(chip);
        if (!is_touched) CHECK(is_same(before.processes, process));
    }
    for (const auto& chip : after.chips)
        if (!touched.contains(chip.first) && chip.second.row->device.name.index.value_or(0) >= 10)
            CHECK(is_same(before.chips, chip));
}

}  // namespace

TEST(a_row_that_differs_has_another_version_and_the_untouched_keep_theirs) {
    std::mt19937 dice(11);
    Scene scene;
    Watcher watcher(scene.collector);
    settle(scene.collector, scene.own());
    std::set<uint64_t> given;
    Sight before = watcher.look();
    check_versions<ChipRow>({}, before.chips, given);
    check_versions<ProcessRow>({}, before.processes, given);
    for (int step = 0; step < 300 && !check::has_failed(); ++step) {
        const uint64_t actor = scene.act(dice);
        Sight after = watcher.look();
        check_versions(before.chips, after.chips, given);
        check_versions(before.processes, after.processes, given);
        if (actor != 0) check_untouched(before, after, actor);
        before = std::move(after);
    }
    Sight again = watcher.look();
    for (const auto& [key, process] : again.processes) CHECK_EQUAL(process.version, before.processes[key].version);
    for (const auto& [number, chip] : again.chips) CHECK_EQUAL(chip.version, before.chips[number].version);
}

TEST(a_row_that_the_caller_has_is_left_out_and_details_come_when_asked_for) {
    Scene scene;
    settle(scene.collector, scene.own());
    const auto look = [&](const Asked& asked) {
        return scene.collector.look(
            [&](const Processes& processes, Devices& devices, const Timebase& time, const Besides& besides) {
                return look_of(asked, processes, devices, time, besides);
            });
    };
    const Look first = look({});
    CHECK_EQUAL(first.chips.size(), 3u);
    CHECK(first.processes[0].row && !first.processes[0].row->details);
    Asked asked;
    for (const auto& chip : first.chips) asked.chips[chip.name] = chip.version;
    for (const auto& process : first.processes) asked.processes[process.name] = process.version;
    const Look second = look(asked);
    for (const auto& chip : second.chips) CHECK(!chip.row);
    for (const auto& process : second.processes) CHECK(!process.row);
    asked.details = {scene.own()};
    const Look third = look(asked);
    CHECK(third.processes[0].row && third.processes[0].row->details);  // the caller has it without
    CHECK(!third.processes[1].row);
    asked.detailed[scene.own()] = third.processes[0].version;
    CHECK(!look(asked).processes[0].row);
    asked.details.clear();
    asked.processes.clear();
    CHECK(!look(asked).processes[0].row);  // with details is more than without
}

}  // namespace ttmem
