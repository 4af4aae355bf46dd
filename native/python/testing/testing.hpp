// `_native.testing`: what only tests ask of a ledger.
#pragma once

#include <nanobind/nanobind.h>

namespace ttmem {

void add_testing(nanobind::module_& module);

}  // namespace ttmem
