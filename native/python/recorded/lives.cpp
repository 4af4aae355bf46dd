// `_native.recording.Lives`: a recording as lives and events, in columns of 64-bit words.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <stdexcept>

#include "python/buffers.hpp"
#include "python/recorded/recording.hpp"
#include "python/released.hpp"
#include "recording/lives/reader.hpp"

namespace nb = nanobind;

namespace ttmem {
namespace {

using namespace recording;

nb::str str_of(const std::string& text) {
    return nb::steal<nb::str>(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

StoredBlock plain_block(const View& view) {
    std::string error;
    const auto block = block_of(view.bytes(), error);
    if (!block) throw std::invalid_argument(error);
    if (block->head.codec != Codec::plain)
        throw std::invalid_argument("a block that is packed is not read: unpack it first");
    return *block;
}

void make_lives(LifeReader* self, uint64_t from_ns, uint64_t until_ns, uint64_t events, int wanted) {
    new (self) LifeReader(LifeReader::Range{from_ns, until_ns, events, static_cast<WantedLives>(wanted)});
}

void read_life_names(LifeReader& reader, nb::handle buffer) {
    const View view(buffer);
    std::string error;
    if (!reader.read_names_of(plain_block(view), error)) throw std::invalid_argument(error);
}

bool apply_block(LifeReader& reader, nb::handle buffer) {
    const View view(buffer);
    std::string error;
    bool is_read = false;
    {
        const Released released;
        const StoredBlock block = plain_block(view);
        is_read = reader.apply(block, error);
    }
    if (!is_read) throw std::invalid_argument(error);
    return reader.has_stopped();
}

// All columns as bytes; then they are empty.
template <typename Name>
nb::tuple take(Columns<Name>& columns) {
    nb::list all;
    for (size_t i = 0; i < Columns<Name>::kCount; ++i)
        all.append(nb::bytes(columns.at(i).data(), columns.at(i).size() * sizeof(uint64_t)));
    columns.clear();
    return nb::tuple(all);
}

nb::list texts_from(const LifeReader& reader, size_t from) {
    nb::list all;
    for (size_t i = from; i < reader.texts().all().size(); ++i) all.append(str_of(reader.texts().all()[i]));
    return all;
}

nb::list chip_sets_from(const LifeReader& reader, size_t from) {
    nb::list all;
    for (size_t i = from; i < reader.chip_sets().all().size(); ++i) {
        nb::list chips;
        for (const uint64_t chip : reader.chip_sets().all()[i]) chips.append(chip);
        all.append(nb::tuple(chips));
    }
    return all;
}

nb::list run_rows(const LifeReader& reader) {
    nb::list all;
    for (const PhaseRun& run : reader.phases())
        all.append(nb::make_tuple(run.process, run.name, run.run, run.parent, run.thread, run.began_ns, run.ended_ns,
                                  run.began_sequence, run.ended_sequence, run.end_mark, run.is_unsure));
    return all;
}

nb::list life_process_rows(const LifeReader& reader) {
    nb::list all;
    for (const LifeProcess& one : reader.processes()) {
        const ProcessFacts& its = one.facts;
        all.append(nb::make_tuple(its.pid, its.start_ticks, its.started_ns, its.pid_namespace, its.uid, its.is_socket,
                                  its.is_visible, str_of(its.label), str_of(its.command), one.ended_ns,
                                  one.known_until_ns, one.gap_count, one.is_lost, one.is_counted, one.was_found,
                                  one.phase_ends, one.launches));
    }
    return all;
}

nb::list told_chip_rows(const LifeReader& reader) {
    nb::list all;
    for (const auto& [unique_id, its] : reader.chips()) {
        nb::list capacities;
        for (const uint64_t bytes : its.capacity_bytes) capacities.append(bytes);
        const auto text = [](const char* from, size_t most) { return str_of(std::string(from, strnlen(from, most))); };
        all.append(nb::make_tuple(unique_id, its.index, text(its.arch, sizeof its.arch),
                                  text(its.board, sizeof its.board), its.grid_x, its.grid_y, its.dram_banks,
                                  its.l1_banks, its.kernel_ring_bytes, nb::tuple(capacities)));
    }
    return all;
}

}  // namespace

void add_lives(nb::module_& recording) {
    nb::class_<LifeReader>(recording, "Lives")
        .def("__init__", make_lives, nb::arg("from_ns") = 0, nb::arg("until_ns") = ~uint64_t{0},
             nb::arg("events") = ~uint64_t{0}, nb::arg("wanted") = 0)
        .def("begin_segment", &LifeReader::begin_segment)
        .def("read_names", read_life_names, nb::arg("block"))
        .def("apply", apply_block, nb::arg("block"))
        .def("finish", &LifeReader::finish)
        .def("life_count", [](LifeReader& reader) { return reader.lives().size(); })
        .def("event_count", [](LifeReader& reader) { return reader.events().size(); })
        .def("take_lives", [](LifeReader& reader) { return take(reader.lives()); })
        .def("take_events", [](LifeReader& reader) { return take(reader.events()); })
        .def("texts", texts_from, nb::arg("first") = 0)
        .def("chip_sets", chip_sets_from, nb::arg("first") = 0)
        .def("phases", run_rows)
        .def("processes", life_process_rows)
        .def("chips", told_chip_rows)
        .def("alive_count", &LifeReader::alive_count)
        .def("row_count", &LifeReader::row_count)
        .def("wall_offset_ns", &LifeReader::wall_offset_ns);
}

}  // namespace ttmem
