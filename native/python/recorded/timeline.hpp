// `_native.timeline`: a recording as it goes over time.
#pragma once

#include <nanobind/nanobind.h>

namespace ttmem {

void add_timeline(nanobind::module_& module);

}  // namespace ttmem
