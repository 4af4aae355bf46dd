// What lies on one core: buffers of all cores, its own, and the circular buffers of the program that ran there last.
#pragma once

#include <vector>

#include "ledger/collector.hpp"

namespace ttmem::recording {

struct CoreEntry {
    RecordCopy words;
    uint64_t address = 0, bytes = 0, program = 0;  // bytes on this core
};

/// Of a process, on a device and a core (y * 256 + x); the largest first.
std::vector<CoreEntry> entries_on(const Book& book, const Devices& devices, uint32_t device, uint32_t core);

}  // namespace ttmem::recording
