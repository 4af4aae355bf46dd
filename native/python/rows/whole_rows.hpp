// Chips and processes whole, as nested tuples: `Ledger.look`.
#pragma once

#include <nanobind/nanobind.h>

#include "python/books.hpp"

namespace ttmem {

nanobind::tuple whole_rows(Books& books, nanobind::object details, nanobind::dict chips, nanobind::dict processes,
                           nanobind::dict detailed);

}  // namespace ttmem
