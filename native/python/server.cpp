#include "python/server.hpp"

#include <fcntl.h>
#include <nanobind/stl/string.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "python/books.hpp"
#include "server/server.hpp"

namespace nb = nanobind;

namespace ttmem {
namespace {

using server::Server;

// The caller keeps its own descriptor: ours is a copy.
void make_server(Server* self, Books& ledger, int listener, bool log_events, uint32_t device_nodes) {
    const int file = fcntl(listener, F_DUPFD_CLOEXEC, 0);
    if (file < 0) throw std::runtime_error("descriptor " + std::to_string(listener) + ": " + strerror(errno));
    ledger.without_python(
        [&](Collector& collector) { return new (self) Server(collector, file, log_events, device_nodes); });
}

nb::dict statistics(const Server& server) {
    nb::dict counts;
    for (const auto& [name, count] : server.statistics()) counts[name] = count;
    return counts;
}

nb::tuple take_log(Server& server, double wait_seconds) {
    std::string text;
    {
        const Released released;
        text = server.take_log(wait_seconds);
    }
    const auto [dumps, kernel_dumps] = server.take_dump_requests();
    return nb::make_tuple(nb::bytes(text.data(), text.size()), server.log_dropped(), dumps, kernel_dumps);
}

}  // namespace

void add_server(nb::module_& module) {
    using Unlocked = nb::call_guard<Released>;
    nb::class_<Server>(module, "AllocationServer",
                       "Serves the allocation server's socket: what is reported there goes into a ledger.")
        .def("__init__", make_server, nb::arg("ledger"), nb::arg("listener"), nb::arg("log_events") = false,
             nb::arg("device_nodes") = 0, nb::keep_alive<1, 2>())
        .def("run", &Server::run, nb::arg("seconds"), Unlocked())
        .def("stop", &Server::stop)
        .def("finish", &Server::finish, Unlocked())
        .def("statistics", statistics)
        .def("take_log", take_log, nb::arg("wait_seconds"));
}

}  // namespace ttmem
