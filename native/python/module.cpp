// The one door between Python and the native core: `_native`. Its manual is ttmem/_native.pyi.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <sys/auxv.h>

#include <limits>
#include <string>
#include <vector>

#include "python/client/allocation_client.hpp"
#include "python/client/library.hpp"
#include "python/client/own_journal.hpp"
#include "python/client/reports.hpp"
#include "python/client/socket_reports.hpp"
#include "python/layouts.hpp"
#include "python/ledger.hpp"
#include "python/recorded/csv_rows.hpp"
#include "python/recorded/recording.hpp"
#include "python/recorded/timeline.hpp"
#include "python/released.hpp"
#include "python/rows/rows.hpp"
#include "python/rows/whole_rows.hpp"
#include "python/server.hpp"
#include "python/testing/testing.hpp"
#include "ttmem/client.h"
#include "writer/owner.hpp"

namespace nb = nanobind;
using namespace ttmem;

namespace {

// Numbers and texts are taken as they come: what a program reports must never raise. Out of range is unknown.
uint64_t word_of(nb::handle value) {
    uint64_t word = 0;
    if (!read_word(value.ptr(), word)) throw nb::python_error();
    return word;
}

template <typename Small>
Small small_of(nb::handle value, Small unknown) {
    const uint64_t word = word_of(value);
    return word <= static_cast<uint64_t>(std::numeric_limits<Small>::max()) ? static_cast<Small>(word) : unknown;
}

uint16_t target_of(nb::handle value) { return small_of<uint16_t>(value, 0xffff); }

std::string text_of(nb::str value) {
    const nb::bytes bytes = nb::steal<nb::bytes>(PyUnicode_AsEncodedString(value.ptr(), "utf-8", "replace"));
    if (!bytes.is_valid()) throw nb::python_error();
    return {bytes.c_str(), bytes.size()};
}

// File names are bytes, whatever they spell.
std::string path_of(nb::handle value) {
    PyObject* bytes = nullptr;
    if (PyUnicode_FSConverter(value.ptr(), &bytes) == 0) throw nb::python_error();
    const auto path = nb::steal<nb::bytes>(bytes);
    return {path.c_str(), path.size()};
}

uint16_t open_device(nb::handle unique_id, nb::handle index, nb::str arch, nb::str board, nb::tuple grid,
                     nb::tuple banks, nb::tuple capacities, nb::handle kernel_ring_bytes) {
    const std::string arch_text = text_of(arch), board_text = text_of(board);
    ttmem_device device{};
    device.unique_id = word_of(unique_id);
    device.index = small_of<int32_t>(index, -1);
    device.arch = arch_text.c_str();
    device.board = board_text.c_str();
    device.grid_x = small_of<uint16_t>(grid[0], 0);
    device.grid_y = small_of<uint16_t>(grid[1], 0);
    device.dram_banks = small_of<uint16_t>(banks[0], 0);
    device.l1_banks = small_of<uint16_t>(banks[1], 0);
    device.kernel_ring_bytes = small_of<uint32_t>(kernel_ring_bytes, 0);
    for (size_t i = 0; i < capacities.size() && i < kPools; ++i)
        device.capacity_bytes[i] = size_from(nb::handle(capacities[i]).ptr(), word_of(capacities[i]));
    return ttmem_device_open(&device);
}

uint16_t open_mesh(nb::handle mesh_id, nb::handle rows, nb::handle columns, nb::tuple chips) {
    std::vector<uint16_t> targets;
    for (nb::handle chip : chips) targets.push_back(target_of(chip));
    return ttmem_mesh_open(word_of(mesh_id), small_of<uint16_t>(rows, 0), small_of<uint16_t>(columns, 0),
                           targets.data(), static_cast<uint32_t>(targets.size()));
}

bool enable(nb::object directory) {
    return ttmem_enable(directory.is_none() ? nullptr : path_of(directory).c_str()) != 0;
}

uint32_t intern_text(nb::str text) {
    const std::string bytes = text_of(text);
    return ttmem_intern(bytes.data(), static_cast<uint32_t>(bytes.size()));
}

void add_client(nb::module_& module) {
    using nb::sig;
    nb::module_ client = module.def_submodule("client", "Reports of this process.");
    if (!add_reports(client.ptr())) throw nb::python_error();
    client.def("enable", enable, nb::arg() = nb::none(), sig("def enable(directory: str | None = None, /) -> bool"));
    client.def("disable", [] { ttmem_disable(); });
    client.def("is_enabled", [] { return owner().would_write() != 0; });
    client.def("ignores_environment", [] { return getauxval(AT_SECURE) != 0; });
    client.def(
        "journal_path", [] { return nb::steal(PyUnicode_DecodeFSDefault(ttmem_journal_path())); },
        sig("def journal_path() -> str"));
    client.def("open_device", open_device,
               sig("def open_device(unique_id: int, index: int, arch: str, board: str, grid: tuple, banks: tuple, "
                   "capacities: tuple, kernel_ring_bytes: int, /) -> int"));
    client.def("open_mesh", open_mesh,
               sig("def open_mesh(mesh_id: int, rows: int, columns: int, chips: tuple, /) -> int"));
    client.def(
        "close_target", [](nb::handle target) { ttmem_device_close(target_of(target)); },
        sig("def close_target(target: int, /) -> None"));
    client.def("intern", intern_text, sig("def intern(text: str, /) -> int"));
    client.def(
        "begin_phase", [](nb::handle name) { return ttmem_phase_begin(small_of<uint32_t>(name, 0)); },
        sig("def begin_phase(name: int, /) -> int"));
    client.def(
        "end_phase", [](nb::handle phase) { ttmem_phase_end(small_of<uint32_t>(phase, 0)); },
        sig("def end_phase(phase: int, /) -> None"));
    client.def(
        "set_label", [](nb::str text) { ttmem_label(text_of(text).c_str()); },
        sig("def set_label(text: str, /) -> None"));
}

void add_older_client(nb::module_& module) {
    nb::module_ client = module.def_submodule("allocation_client", "The older client's calls, into the journal.");
    if (!add_allocation_client(client.ptr()) || !add_socket_reports(client.ptr())) throw nb::python_error();
}

nb::tuple attach(Books& books, nb::object file, uint64_t device, uint64_t inode) {
    const std::string path = path_of(file);
    std::string error;
    const uint64_t key =
        books.without_python([&](Collector& collector) { return collector.attach(path, device, inode, error); });
    return nb::make_tuple(key, error);
}

nb::object take_checkpoint(Ledger& ledger) {
    Released released;
    std::unique_lock one_at_a_time(ledger.checkpointing);
    const std::string& bytes = ledger.checkpoint.take();
    released.end([&] { one_at_a_time.unlock(); });
    return bytes.empty() ? nb::none() : nb::object(nb::bytes(bytes.data(), bytes.size()));
}

nb::tuple restore_checkpoint(Ledger& ledger, nb::bytes bytes) {
    const std::string all(bytes.c_str(), bytes.size());
    std::string error;
    const uint32_t count = ledger.without_python([&](Collector&) { return ledger.checkpoint.restore(all, error); });
    return nb::make_tuple(count, error);
}

nb::tuple take_log(Ledger& ledger, double wait_seconds) {
    std::string text;
    {
        const Released released;
        text = ledger.log().wait(wait_seconds);
    }
    return nb::make_tuple(nb::bytes(text.data(), text.size()), ledger.log().dropped());
}

void add_ledger(nb::module_& module) {
    nb::class_<Books>(module, "Books");
    nb::class_<Ledger, Books>(module, "Ledger", "Balances of every process that reports by journal or socket.")
        .def(nb::init<>())
        .def("attach", attach, nb::arg("path"), nb::arg("device"), nb::arg("inode"))
        .def("drain", without_python<&Collector::drain>)
        .def("run", without_python<&Collector::run, double>, nb::arg("seconds"))
        .def("stop", &Ledger::stop)
        .def("look", whole_rows, nb::arg("details") = nb::none(), nb::arg("chips") = nb::dict(),
             nb::arg("processes") = nb::dict(), nb::arg("detailed") = nb::dict())
        .def("is_settling", without_python<&Collector::is_settling>)
        .def("journal_count", without_python<&Collector::journal_count>)
        .def("set_bank_sizes", without_python<&Collector::set_bank_sizes, std::string, uint64_t, uint64_t>,
             nb::arg("arch"), nb::arg("dram_bytes"), nb::arg("l1_bytes"))
        .def("process", process_rows, nb::arg("pid"), nb::arg("key"), nb::arg("most"))
        .def("sample", sample_rows)
        .def("lifetime", lifetime_rows)
        .def("allocations", allocation_rows, nb::arg("process"), nb::arg("most") = 0, nb::arg("first") = 0,
             nb::arg("count") = ~size_t{0})
        .def("chip", chip_rows, nb::arg("device"), nb::arg("most"))
        .def("kernels", kernel_rows, nb::arg("device"), nb::arg("most"))
        .def("incident", incident_copy_rows, nb::arg("pid"), nb::arg("key"), nb::arg("number"),
             nb::sig("def incident(self, pid: int, key: int, number: int) -> tuple | None"))
        .def("log_events", [](Ledger& ledger) { ledger.log().turn_on(); })
        .def("take_log", take_log, nb::arg("wait_seconds"))
        .def("reset_peaks", without_python<&Collector::reset_peaks>)
        .def("describe_by_driver",
             without_python<&Collector::describe_by_driver, uint64_t, std::string, std::string, uint64_t, uint64_t>,
             nb::arg("unique_id"), nb::arg("arch"), nb::arg("board"), nb::arg("dram_bytes"), nb::arg("l1_bytes"))
        .def("checkpoint", take_checkpoint, nb::sig("def checkpoint(self) -> bytes | None"))
        .def("restore", restore_checkpoint, nb::arg("checkpoint"));
}

}  // namespace

NB_MODULE(_native, module) {
    // A ledger that lives until the interpreter ends is no reason to print in the program that uses it.
    nb::set_leak_warnings(false);
    const std::string trouble = open_library();
    if (!trouble.empty()) throw nb::import_error(trouble.c_str());
    module.doc() = "The native core of ttmem: journals and ledger.";
    add_client(module);
    add_older_client(module);
    add_own_journal(module);
    add_ledger(module);
    add_server(module);
    add_recording(module);
    add_csv_rows(module);
    add_timeline(module);
#ifdef TTMEM_WITH_TESTING
    add_testing(module);
#endif
    module.def("layout", layouts);
}
