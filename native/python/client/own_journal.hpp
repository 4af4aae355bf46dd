// Adds what Python asks about its own process: the figures of its own journal, and where its allocations are made.
#pragma once

#include <nanobind/nanobind.h>

namespace ttmem {

/// `own`: counters and live entries of this process, read where they are mapped; `own.record_sites`, `own.forget_sites`:
/// Python stacks for buffers that are reported without a site.
void add_own_journal(nanobind::module_& module);

}  // namespace ttmem
