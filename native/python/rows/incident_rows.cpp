// What was alive at an incident, as nested tuples: (pid, names of chips, incident, entries, sequence before, sequence after).
#include "ledger/rows/incidents/incident_copy.hpp"
#include "python/rows/row_writer.hpp"
#include "python/rows/rows.hpp"

namespace nb = nanobind;

namespace ttmem {

nb::object incident_copy_rows(Books& books, uint32_t pid, uint64_t key, uint64_t number) {
    const std::optional<IncidentCopyRow> copy = books.without_python([&](Collector& collector) {
        return collector.look(
            [&](const Processes& processes, const Devices& devices, const Timebase& time, const Besides&) {
                return incident_copy_of(processes, devices, time, pid, key, number);
            });
    });
    const CollectionOff off;
    return nb::steal(RowWriter().object(copy));
}

}  // namespace ttmem
