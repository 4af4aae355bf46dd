// The one door between Python and the native core: `_native`. Its manual is ttmem/_native.pyi.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "python/layouts.hpp"
#include "python/reports.hpp"
#include "python/rows.hpp"
#include "ttmem/client.h"
#include "writer/owner.hpp"

namespace nb = nanobind;
using namespace ttmem;

namespace {

uint16_t open_device(uint64_t unique_id, int32_t index, const std::string& arch, const std::string& board,
                     const nb::tuple& grid, const nb::tuple& banks, const nb::tuple& capacities,
                     uint32_t kernel_ring_bytes) {
    ttmem_device device{};
    device.unique_id = unique_id;
    device.index = index;
    device.arch = arch.c_str();
    device.board = board.c_str();
    device.grid_x = nb::cast<uint16_t>(grid[0]);
    device.grid_y = nb::cast<uint16_t>(grid[1]);
    device.dram_banks = nb::cast<uint16_t>(banks[0]);
    device.l1_banks = nb::cast<uint16_t>(banks[1]);
    device.kernel_ring_bytes = kernel_ring_bytes;
    for (size_t i = 0; i < capacities.size() && i < kPools; ++i)
        device.capacity_bytes[i] = nb::cast<uint64_t>(capacities[i]);
    return ttmem_device_open(&device);
}

uint16_t open_mesh(uint64_t mesh_id, uint16_t rows, uint16_t columns, const nb::tuple& chips) {
    std::vector<uint16_t> targets;
    for (nb::handle chip : chips) targets.push_back(nb::cast<uint16_t>(chip));
    return ttmem_mesh_open(mesh_id, rows, columns, targets.data(), static_cast<uint32_t>(targets.size()));
}

void add_client(nb::module_& module) {
    nb::module_ client = module.def_submodule("client", "Reports of this process.");
    if (!add_reports(client.ptr())) throw nb::python_error();
    client.def(
        "enable",
        [](nb::object directory) {
            return ttmem_enable(directory.is_none() ? nullptr : nb::cast<std::string>(directory).c_str()) != 0;
        },
        nb::arg("directory") = nb::none());
    client.def("disable", [] { ttmem_disable(); });
    client.def("is_enabled", [] { return owner().would_write() != 0; });
    client.def("journal_path", [] { return std::string(ttmem_journal_path()); });
    client.def("open_device", open_device);
    client.def("open_mesh", open_mesh);
    client.def("close_target", [](uint16_t target) { ttmem_device_close(target); });
    client.def("intern",
               [](const std::string& text) { return ttmem_intern(text.data(), static_cast<uint32_t>(text.size())); });
    client.def("begin_phase", [](uint32_t name) { return ttmem_phase_begin(name); });
    client.def("end_phase", [](uint32_t phase) { ttmem_phase_end(phase); });
    client.def("set_label", [](const std::string& text) { ttmem_label(text.c_str()); });
}

nb::tuple attach(Collector& collector, const std::string& path, uint64_t device, uint64_t inode) {
    std::string error;
    uint64_t key = 0;
    {
        nb::gil_scoped_release released;
        key = collector.attach(path, device, inode, error);
    }
    return nb::make_tuple(key, error);
}

nb::tuple taken(Collector& collector, uint64_t process) {
    std::string records, arena;
    collector.taken(process, records, arena);
    return nb::make_tuple(nb::bytes(records.data(), records.size()), nb::bytes(arena.data(), arena.size()));
}

uint64_t feed(Collector& collector, nb::bytes records, nb::bytes arena, const nb::tuple& identity) {
    return collector.feed(std::string(records.c_str(), records.size()), std::string(arena.c_str(), arena.size()),
                          nb::cast<uint32_t>(identity[0]), nb::cast<uint32_t>(identity[1]),
                          nb::cast<uint64_t>(identity[2]), nb::cast<std::string>(identity[3]));
}

void add_ledger(nb::module_& module) {
    using Unlocked = nb::call_guard<nb::gil_scoped_release>;
    nb::class_<Collector>(module, "Ledger", "Balances of every process whose journal was attached.")
        .def(nb::init<bool>(), nb::arg("tap") = false)
        .def("attach", attach, nb::arg("path"), nb::arg("device"), nb::arg("inode"))
        .def("drain", &Collector::drain, Unlocked())
        .def("run", &Collector::run, nb::arg("seconds"), Unlocked())
        .def("stop", &Collector::stop)
        .def("snapshot", snapshot_rows)
        .def("allocations", allocation_rows, nb::arg("process"))
        .def("alive_at_peak", alive_at_peak_rows, nb::arg("process"), nb::arg("device"), nb::arg("pool"))
        .def("taken", taken, nb::arg("process"))
        .def("feed", feed, nb::arg("records"), nb::arg("arena"), nb::arg("identity"))
        .def("end", &Collector::end, nb::arg("process"), Unlocked())
        .def("forget_ended", &Collector::forget_ended, Unlocked());
}

}  // namespace

NB_MODULE(_native, module) {
    module.doc() = "The native core of ttmem: journals and ledger.";
    add_client(module);
    add_ledger(module);
    module.def("layout", layouts);
}
