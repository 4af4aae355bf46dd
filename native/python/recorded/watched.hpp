// What a watched replay has found, as rows.
//
//   watched   (fullest, room, extents); times are of CLOCK_MONOTONIC
//     fullest   ((chip, bytes, core as (x, y) or None, rows, time_ns), ...)
//     room      ((chip, floor or None, its life, its process, time_ns, least room or None, time_ns, program, its process,
//                 end of its circular buffers, lowest buffer or 0, its life, has_unplaced), ...)
//     extents   ((chip, pool, lowest, time_ns, highest, time_ns, begin, end, has_unplaced), ...)
#pragma once

#include <nanobind/nanobind.h>

#include "python/books.hpp"
#include "recording/replay.hpp"

namespace ttmem {

/// `core`: y * 256 + x of the only one that counts, below 0: the fullest.
void watch(recording::Replay& replay, Books& ledger, bool is_measuring, int64_t core);
nanobind::tuple watched(recording::Replay& replay, Books& ledger);
/// What lies on a core now: ((process, kind, id, sequence, pool, address, bytes, program), ...), of circular buffers those of
/// the program that ran there last.
nanobind::list on_core(Books& ledger, uint32_t device, uint32_t core);

}  // namespace ttmem
