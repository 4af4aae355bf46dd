#include "python/recorded/watched.hpp"

#include "recording/watch/on_core.hpp"

namespace nb = nanobind;

namespace ttmem {
namespace {

using namespace recording;

nb::object unless(bool is_missing, const auto& value) { return is_missing ? nb::none() : nb::cast(value); }

nb::tuple fullest_rows(const Watcher& watcher, Devices& devices) {
    nb::list rows;
    for (const auto& [device, one] : watcher.fullest()) {
        nb::object core = nb::none();
        if (one.has_core) core = nb::make_tuple(one.core % 256, one.core / 256);
        rows.append(nb::make_tuple(devices.at(device).unique_id, one.bytes, core, one.rows, one.time_ns));
    }
    return nb::tuple(rows);
}

nb::tuple room_rows(const Watcher& watcher, Devices& devices) {
    nb::list rows;
    for (const auto& [device, one] : watcher.room())
        rows.append(nb::make_tuple(devices.at(device).unique_id, unless(one.floor_life == 0, one.floor), one.floor_life,
                                   one.floor_process, one.floor_ns, unless(!one.room, one.room.value_or(0)),
                                   one.room_ns, one.program, one.program_process, one.cb_end, one.lowest,
                                   one.lowest_life, one.has_unplaced));
    return nb::tuple(rows);
}

nb::tuple extent_rows(const Watcher& watcher, Devices& devices) {
    nb::list rows;
    for (const auto& [name, one] : watcher.extents())
        rows.append(nb::make_tuple(devices.at(name.first).unique_id, name.second, unless(one.highest == 0, one.lowest),
                                   one.lowest_ns, unless(one.highest == 0, one.highest), one.highest_ns, one.begin,
                                   one.end, one.has_unplaced));
    return nb::tuple(rows);
}

}  // namespace

void watch(Replay& replay, Books& ledger, bool is_measuring, int64_t core) {
    ledger.without_python([&](Collector& collector) {
        const auto held = collector.hold();
        if (core >= 0) replay.watch().set_only(static_cast<uint32_t>(core));
        replay.watch().measure(is_measuring);
    });
}

nb::tuple watched(Replay& replay, Books& ledger) {
    return ledger.look([&](const Processes&, Devices& devices, const Timebase&, const Besides&) {
        const Watcher& watcher = replay.watch();
        return nb::make_tuple(fullest_rows(watcher, devices), room_rows(watcher, devices),
                              extent_rows(watcher, devices));
    });
}

nb::list on_core(Books& ledger, uint32_t device, uint32_t core) {
    nb::list rows;
    ledger.look([&](const Processes& processes, Devices& devices, const Timebase&, const Besides&) {
        for (const auto& process : processes)
            if (process->is_counted() && !process->is_over())
                for (const CoreEntry& one : entries_on(process->book, devices, device, core))
                    rows.append(nb::make_tuple(process->key, one.words.kind(), one.words.id, one.words.sequence(),
                                               one.words.pool(), one.address, one.bytes, one.program));
        return nb::none();
    });
    return rows;
}

}  // namespace ttmem
