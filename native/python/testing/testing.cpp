#include "python/testing/testing.hpp"

#include <nanobind/stl/string.h>

#include <string>

#include "python/ledger.hpp"
#include "python/testing/flat_rows.hpp"

namespace nb = nanobind;

namespace ttmem {
namespace {

nb::tuple taken(Books& books, uint64_t process) {
    std::string records, arena;
    books.without_python([&](Collector& collector) { return collector.taken(process, records, arena); });
    return nb::make_tuple(nb::bytes(records.data(), records.size()), nb::bytes(arena.data(), arena.size()));
}

uint64_t feed(Books& books, nb::bytes records, nb::bytes arena, const nb::tuple& identity) {
    const std::string all(records.c_str(), records.size()), names(arena.c_str(), arena.size());
    const auto pid = nb::cast<uint32_t>(identity[0]), uid = nb::cast<uint32_t>(identity[1]);
    const auto start = nb::cast<uint64_t>(identity[2]);
    const auto label = nb::cast<std::string>(identity[3]);
    return books.without_python(
        [&](Collector& collector) { return collector.feed(all, names, pid, uid, start, label); });
}

}  // namespace

void add_testing(nb::module_& module) {
    nb::module_ testing = module.def_submodule("testing", "What only tests ask of a ledger.");
    testing.def("flat_rows", flat_rows, nb::arg("ledger"), nb::arg("devices") = nb::none());
    testing.def("alike", alike_rows, nb::arg("ledger"));
    testing.def("tally", tally_rows, nb::arg("ledger"), nb::arg("process"));
    testing.def("alive_at_peak", alive_at_peak_rows, nb::arg("ledger"), nb::arg("process"), nb::arg("device"),
                nb::arg("pool"));
    testing.def("tapped_ledger", [] { return new Ledger(true); }, nb::rv_policy::take_ownership);
    testing.def("taken", taken, nb::arg("ledger"), nb::arg("process"));
    testing.def("feed", feed, nb::arg("ledger"), nb::arg("records"), nb::arg("arena"), nb::arg("identity"));
    testing.def("end", without_python<&Collector::end, uint64_t>, nb::arg("ledger"), nb::arg("process"));
    testing.def("forget_ended", without_python<&Collector::forget_ended>, nb::arg("ledger"));
}

}  // namespace ttmem
