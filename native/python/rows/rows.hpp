// What the ledger knows, as plain Python rows. The meaning of each row is written in ttmem/snapshot/.
#pragma once

#include <nanobind/nanobind.h>

#include "ledger/rows/making.hpp"
#include "python/books.hpp"

namespace ttmem {

/// Names come from other processes and may be anything.
nanobind::str text(const std::string& bytes);

nanobind::tuple size_row(const std::vector<uint64_t>& sizes);

/// The runtime's number of a program, as it was reported; None unknown.
nanobind::object program_object(uint64_t reported);

/// One process close up: its `most` largest and oldest allocations, and where in its program they were made. `key`: which of
/// several of that pid; 0 for the one that lives. Empty if there is none.
nanobind::dict process_rows(Books& books, uint32_t pid, uint64_t key, size_t most);
/// What every chip was at its highest, and what happened, since this was last asked; and who lives.
nanobind::tuple sample_rows(Books& books);
/// Sums that never fall, of chips and of all that was read.
nanobind::tuple lifetime_rows(Books& books);
/// `most`: only that many, the largest; 0 for all.
nanobind::list allocation_rows(Books& books, uint64_t process, size_t most, size_t first, size_t count);
/// What lies where on one chip; stretches of a pool beyond `most` are put together, across the smallest holes.
nanobind::dict chip_rows(Books& books, uint32_t device, size_t most);
/// The kernels on one chip, the `most` largest, and how many there are.
nanobind::tuple kernel_rows(Books& books, uint32_t device, size_t most);
/// What was alive at an incident of a process, with its head; None if it is not kept. `key`: which of several of that pid; 0
/// for one that lives.
nanobind::object incident_copy_rows(Books& books, uint32_t pid, uint64_t key, uint64_t number);

}  // namespace ttmem
