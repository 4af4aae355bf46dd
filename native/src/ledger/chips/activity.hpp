// What goes on on a target besides memory changing hands, as events say it: for a process whose counters no process can
// read, because it is replayed from its records.
#pragma once

#include "reader/journal.hpp"

namespace ttmem {

/// What a record of the ring's own would say, of a launch that says how it left the ring.
RecordCopy ring_of_launch(const RecordCopy& launch);

/// Applies a record of the ring or of a cache; false if it makes no sense.
bool apply_activity(Activity& activity, const RecordCopy& event);

/// Adds what goes on on another target of the same chip.
void add_activity(Activity& sum, const Activity& own);

/// Nothing is held on a closed target.
void end_activity(Activity& activity);

}  // namespace ttmem
