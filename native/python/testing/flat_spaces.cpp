// What lies where on every chip, as flat rows.
#include <optional>

#include "python/testing/flat_rows.hpp"

namespace nb = nanobind;

namespace ttmem {
namespace {

nb::tuple gap_row(uint32_t number, uint32_t pool, const Taken& taken, const Gaps& gaps) {
    return nb::make_tuple(number, pool, taken.unplaced, taken.count, gaps.used, gaps.lowest, gaps.highest, gaps.largest,
                          gaps.count);
}

template <typename Number>
nb::object known_or_none(const std::optional<Number>& value) {
    return value ? nb::cast(*value) : nb::object(nb::none());
}

// (number, least of cores that have both, highest end of circular buffers where there is no buffer, lowest buffer where
// there are no circular buffers, lowest buffer of all other cores, how many cores that are not, programs that reach into a
// buffer as (process, program))
nb::tuple headroom_row(uint32_t number, const Headroom& headroom) {
    nb::list programs;
    for (const auto& [process, program] : headroom.programs)
        programs.append(nb::make_tuple(process, program_object(program)));
    return nb::make_tuple(number, known_or_none(headroom.least), known_or_none(headroom.cb_end),
                          known_or_none(headroom.own), known_or_none(headroom.lowest), headroom.core_count,
                          nb::tuple(programs));
}

}  // namespace

void space_rows(Atlas& atlas, const Processes& processes, const Devices& devices, nb::dict& rows) {
    nb::list spaces, cores, headrooms;
    const auto all = atlas.look(processes, devices);
    for (uint32_t number = 0; number < all.size(); ++number) {
        static const Places nothing;
        const Places& places = all[number].places == nullptr ? nothing : *all[number].places;
        for (uint32_t pool = 0; pool < kPlacedPools && places.is_followed; ++pool)
            spaces.append(gap_row(number, pool, places.pools[pool], places.gaps[pool]));
        const bool has_worst = !places.cores.empty();
        const uint32_t core = has_worst ? places.cores[places.worst].core : 0;
        if (places.is_followed)
            cores.append(nb::make_tuple(number, has_worst, core % 256, core / 256,
                                        has_worst ? places.cores[places.worst].used : places.buffers));
        if (places.is_followed && places.headroom.is_known) headrooms.append(headroom_row(number, places.headroom));
    }
    rows["spaces"] = spaces;
    rows["worst_cores"] = cores;
    rows["headrooms"] = headrooms;
}

}  // namespace ttmem
