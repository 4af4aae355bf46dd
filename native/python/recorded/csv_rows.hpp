// `_native.recording.csv_rows`: columns of numbers as lines of CSV.
#pragma once

#include <nanobind/nanobind.h>

namespace ttmem {

void add_csv_rows(nanobind::module_& module);

}  // namespace ttmem
