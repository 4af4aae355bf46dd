// What has happened since a ledger began, as rows: see ledger/lifetime.hpp.
#include "ledger/lifetime.hpp"

#include <nanobind/nanobind.h>

#include "python/rows/rows.hpp"

namespace nb = nanobind;

namespace ttmem {
namespace {

template <size_t N>
nb::tuple all_of(const uint64_t (&figures)[N]) {
    nb::list list;
    for (const uint64_t figure : figures) list.append(figure);
    return nb::tuple(list);
}

nb::tuple chip_row(uint32_t number, const ChipLifetime& chip) {
    nb::list caches;
    for (const Activity::Cache& cache : chip.activity.caches) caches.append(all_of(cache.outcomes));
    return nb::make_tuple(number, chip.launches, chip.clashes, all_of(chip.allocations), all_of(chip.frees),
                          all_of(chip.refusals), all_of(chip.activity.stalls), nb::tuple(caches));
}

nb::tuple intake_row(const Intake& intake) {
    return nb::make_tuple(intake.events, intake.lost, intake.skipped, intake.untabled, intake.processes,
                          intake.last_ns);
}

}  // namespace

nb::tuple lifetime_rows(Books& books) {
    const Lifetime sums = books.without_python([](Collector& collector) { return collector.lifetime(); });
    nb::list chips;
    for (const auto& [number, chip] : sums.chips) chips.append(chip_row(number, chip));
    nb::list incidents;
    for (uint32_t kind = 0; kind < kIncidentKinds; ++kind)
        for (uint32_t pool = 0; pool < kPools; ++pool)
            if (sums.incidents[kind][pool] != 0)
                incidents.append(nb::make_tuple(kind, pool, sums.incidents[kind][pool]));
    return nb::make_tuple(nb::tuple(chips), intake_row(sums.journals), intake_row(sums.sockets), nb::tuple(incidents));
}

}  // namespace ttmem
