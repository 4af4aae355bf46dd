// Versions of rows: numbers that are never given twice. A row has another one whenever anything in it may have changed:
//
//   a process   when something of it or its book changed, of what it reports besides by socket, or how a chip of it is
//               described: rows name chips in their order
//   a chip      when it changed by itself, or any process that has something there did
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace ttmem {

struct Process;
class Devices;

class Versions {
public:
    /// Brings the versions of all processes and chips up to date; returns the numbers of chips that got another one.
    std::vector<uint32_t> update(const std::vector<std::unique_ptr<Process>>& processes, Devices& devices);

private:
    uint64_t last_ = 0;
};

}  // namespace ttmem
