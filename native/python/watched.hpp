// What a watched replay has found, as rows.
//
//   watched   (fullest, room, extents, traces); times are of CLOCK_MONOTONIC
//     fullest   ((chip, bytes, core as (x, y) or None, rows, time_ns), ...)
//     room      ((chip, floor or None, its life, its process, time_ns, least room or None, time_ns, program, its process,
//                 end of its circular buffers, lowest buffer or 0, its life, has_unplaced), ...)
//     extents   ((chip, pool, lowest, time_ns, highest, time_ns, begin, end, has_unplaced), ...)
//     traces    ((process, trace, type, bytes, sequence, time_ns, chips), ...), type as in the journal
#pragma once

#include <nanobind/nanobind.h>

#include "python/books.hpp"
#include "recording/replay.hpp"

namespace ttmem {

void watch(recording::Replay& replay, Books& ledger, bool is_measuring);
nanobind::tuple watched(recording::Replay& replay, Books& ledger);

}  // namespace ttmem
