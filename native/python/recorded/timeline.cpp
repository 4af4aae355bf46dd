#include "python/recorded/timeline.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "python/books.hpp"
#include "timeline/perfetto.hpp"
#include "timeline/timeline.hpp"

namespace nb = nanobind;

namespace ttmem {
namespace {

using namespace timeline;

bool play(Timeline& timeline, Books& ledger, recording::Replay& replay, nb::bytes buffer, uint64_t horizon_ns) {
    std::string error;
    const auto block = recording::block_of({buffer.c_str(), buffer.size()}, error);
    if (!block) throw std::invalid_argument(error);
    if (block->head.codec != recording::Codec::plain) throw std::invalid_argument("a packed block: unpack it first");
    bool has_stopped = false;
    const bool is_read = ledger.without_python(
        [&](Collector& collector) { return timeline.play(collector, replay, *block, horizon_ns, has_stopped, error); });
    if (!is_read) throw std::invalid_argument(error);
    return has_stopped;
}

// Whatever another process called itself.
nb::str shown_text(const std::string& value) {
    return nb::steal<nb::str>(PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), "replace"));
}

nb::list series_rows(const Timeline& timeline) {
    nb::list rows;
    const auto is_lower = [](const Point& a, const Point& b) { return a.value < b.value; };
    for (size_t i = 0; i < timeline.series().size(); ++i) {
        const std::vector<Point>& points = timeline.points().of(i);
        const auto highest = std::max_element(points.begin(), points.end(), is_lower);
        const Series& its = timeline.series()[i];
        rows.append(nb::make_tuple(its.chip, shown_text(its.name), its.pool, points.size(),
                                   points.empty() ? 0 : highest->value, points.empty() ? 0 : highest->time_ns));
    }
    return rows;
}

nb::list process_rows_of(const Timeline& timeline) {
    nb::list rows;
    for (const Who& who : timeline.processes())
        rows.append(nb::make_tuple(who.pid, who.started_ns, shown_text(who.label), shown_text(who.command)));
    return rows;
}

nb::list track_rows(const Timeline& timeline) {
    nb::list rows;
    for (const Track& track : timeline.tracks()) rows.append(nb::make_tuple(track.process, track.thread));
    return rows;
}

nb::list phase_rows_of(const Timeline& timeline) {
    nb::list rows;
    for (const Phase& phase : timeline.phases())
        rows.append(nb::make_tuple(phase.track, shown_text(phase.name), phase.began_ns, phase.ended_ns));
    return rows;
}

nb::list gap_rows(const Timeline& timeline) {
    nb::list rows;
    for (const Gap& gap : timeline.gaps()) rows.append(nb::make_tuple(gap.process, gap.began_ns, gap.ended_ns));
    return rows;
}

nb::bytes counters(const Timeline& timeline, size_t series, size_t first, size_t most, uint64_t track) {
    if (series >= timeline.series().size()) throw nb::index_error();
    const std::string trace = counter_packets(timeline.points().of(series), first, most, track);
    return nb::bytes(trace.data(), trace.size());
}

nb::bytes launches(const Timeline& timeline, size_t first, size_t most, const std::vector<uint64_t>& tracks) {
    if (tracks.size() < timeline.tracks().size()) throw std::invalid_argument("a number for each track, please");
    const std::string trace = launch_packets(timeline, first, most, tracks);
    return nb::bytes(trace.data(), trace.size());
}

nb::tuple counts(const Timeline& timeline) {
    return nb::make_tuple(timeline.points().count(), timeline.points().slot_ns(), timeline.launches().size(),
                          timeline.launch_count(), timeline.core_changes(), timeline.core_looks());
}

void make_timeline(Timeline* self, uint64_t from_ns, uint64_t until_ns, uint64_t points, uint64_t rows) {
    new (self) Timeline(Limits{from_ns, until_ns, points, rows});
}

void end_segment(Timeline& timeline, Books& ledger, uint64_t at_ns) {
    ledger.without_python([&](Collector& collector) { timeline.end_segment(collector, at_ns); });
}

}  // namespace

void add_timeline(nb::module_& module) {
    nb::class_<Timeline>(module.attr("recording"), "Timeline")
        .def("__init__", make_timeline, nb::arg("from_ns"), nb::arg("until_ns"), nb::arg("points"), nb::arg("rows"))
        .def("begin_segment", &Timeline::begin_segment)
        .def("play", play, nb::arg("ledger"), nb::arg("replay"), nb::arg("block"), nb::arg("horizon_ns") = ~uint64_t{0})
        .def("end_segment", end_segment, nb::arg("ledger"), nb::arg("at_ns"))
        .def("series", series_rows)
        .def("processes", process_rows_of)
        .def("tracks", track_rows)
        .def("phases", phase_rows_of)
        .def("gaps", gap_rows)
        .def("counts", counts)
        .def("counter_packets", counters, nb::arg("series"), nb::arg("first"), nb::arg("most"), nb::arg("track"))
        .def("launch_packets", launches, nb::arg("first"), nb::arg("most"), nb::arg("tracks"));
}

}  // namespace ttmem
