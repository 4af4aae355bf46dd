// What a sampler of the course of things wants to know once a second, and no more: sums of chips, who lives, what happened.
#include <nanobind/nanobind.h>

#include "python/rows/rows.hpp"

namespace nb = nanobind;

namespace ttmem {
namespace {

nb::tuple chip_row(Devices& devices, uint32_t number) {
    const Device& device = devices.all()[number];
    nb::list pools;
    for (uint32_t p = 0; p < kPools; ++p) {
        const PeakAmount& pool = device.cell.pools[p];
        const bool is_always_listed = p == TTMEM_DRAM || p == TTMEM_L1;  // that nothing is there is worth knowing
        if (!is_always_listed && pool.peak == 0 && pool.count == 0 && pool.high == 0) continue;
        const int64_t used = std::max<int64_t>(pool.used, 0);
        const int64_t highest = std::max<int64_t>(devices.take_high(number, p), used);
        pools.append(nb::make_tuple(p, used, highest, device.facts.capacity_bytes[p]));
    }
    const nb::object unique_id = device.is_known ? nb::object(nb::int_(device.unique_id)) : nb::none();
    return nb::make_tuple(number, unique_id, text(device.name.substr(0, device.name.find('@'))), nb::tuple(pools));
}

const char* word_of(Type what) {
    switch (what) {
        case Type::out_of_memory:
            return "out_of_memory";
        case Type::clashed:
            return "clash";
        case Type::phase_began:
            return "phase_began";
        default:
            return "phase_ended";
    }
}

void event_rows(Process& process, const Timebase& time, nb::list& rows) {
    for (const RecentEvent& one : process.book.take_recent_events()) {
        const bool is_phase = one.what == Type::phase_began || one.what == Type::phase_ended;
        nb::object figure = nb::int_(one.figure);
        if (is_phase && process.has_names())
            figure = text(process.book.text(static_cast<uint32_t>(one.figure)).substr(0, 256));
        if (one.what == Type::clashed && one.figure == TTMEM_PROGRAM_ZERO) figure = nb::int_(0);
        const nb::object device = is_phase ? nb::none() : nb::object(nb::int_(one.device));
        rows.append(
            nb::make_tuple(process.key, word_of(one.what), device, one.pool, figure, process.realtime(one.raw, time)));
    }
}

}  // namespace

nb::tuple sample_rows(Books& books) {
    return books.glance([](Processes& processes, Devices& devices, const Timebase& time, const auto&) {
        nb::list chips, lives, events;
        for (uint32_t number = 0; number < devices.all().size(); ++number) {
            const Device& device = devices.all()[number];
            if (device.is_known || device.user_count > 0) chips.append(chip_row(devices, number));
        }
        for (const auto& process : processes) {
            if (process->shadowed_by != 0) continue;
            lives.append(nb::make_tuple(process->key, process->pid,
                                        text(process->label.empty() ? process->command : process->label),
                                        !process->is_over(), process->started_ns, process->ended_ns));
            if (process->is_verified) event_rows(*process, time, events);
        }
        return nb::make_tuple(nanoseconds(CLOCK_REALTIME), nb::tuple(chips), nb::tuple(lives), nb::tuple(events));
    });
}

}  // namespace ttmem
