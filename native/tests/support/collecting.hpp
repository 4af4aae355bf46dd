// What tests ask a collector: one process's state, the chips' sums, and to go on until something holds.
#pragma once

#include <chrono>
#include <functional>

#include "ledger/collector.hpp"
#include "support/check.hpp"
#include "support/journals.hpp"

namespace ttmem {

/// Calls `see` with the process of that key, everything held still.
template <typename See>
auto with_process(Collector& collector, uint64_t key, See see) {
    return collector.look([&](auto& processes, Devices&, const Timebase&, const auto&) {
        for (auto& process : processes)
            if (process->key == key) return see(*process);
        check::fail(__FILE__, __LINE__, "no such process");
        check::give_up();
    });
}

inline Mode mode_of(Collector& collector, uint64_t key) {
    return with_process(collector, key, [](const Process& process) { return process.mode; });
}

inline Alive alive_in(Collector& collector, uint64_t key) {
    return with_process(collector, key, [](const Process& process) { return alive_in(process.book.table()); });
}

/// What all processes together hold on a chip, in DRAM.
inline int64_t used_on(Collector& collector, uint32_t device) {
    return collector.look([=](auto&, Devices& devices, const Timebase&, const auto&) {
        return device < devices.all().size() ? devices.at(device).cell.pools[TTMEM_DRAM].used : 0;
    });
}

/// Drains until the condition holds; a test that waits longer than any machine needs has failed.
inline void drain_until(Collector& collector, const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!holds()) {
        if (std::chrono::steady_clock::now() > deadline) {
            check::fail(__FILE__, __LINE__, "what was waited for did not come");
            check::give_up();
        }
        collector.drain();
    }
}

/// Follows a quiet journal to its head. What was read before it was quiet may still be pending: one more look shows it.
inline void settle(Collector& collector, uint64_t key) {
    collector.drain();
    drain_until(collector, [&] {
        return with_process(collector, key, [](const Process& process) {
            return process.mode == Mode::following && process.reader->position() == process.hot.head;
        });
    });
}

}  // namespace ttmem
