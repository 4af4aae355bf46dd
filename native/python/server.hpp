// The allocation server, as Python sees it.
#pragma once

#include <nanobind/nanobind.h>

namespace ttmem {

void add_server(nanobind::module_& module);

}  // namespace ttmem
