// What the ledger knows, as plain Python rows. The meaning of each row is written in ttmem/snapshot.py.
#pragma once

#include <nanobind/nanobind.h>

#include "ledger/collector.hpp"

namespace ttmem {

nanobind::dict snapshot_rows(Collector& collector);
/// `most`: only so many, the largest; 0 for all.
nanobind::list allocation_rows(Collector& collector, uint64_t process, size_t most);
nanobind::tuple alive_at_peak_rows(Collector& collector, uint64_t process, uint32_t device, uint8_t pool);

}  // namespace ttmem
