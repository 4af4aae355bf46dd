// Incidents: what is kept of the moments at which something was refused, with a copy of what was alive there.
//
// What is copied: entries of the incident's own target; where that is a mesh also those of its chips' own targets (buffers by
// core are reported there), where it is a chip also those of the meshes it belongs to. Each entry names its target. Of pools
// those that share addresses with what was refused: L1, L1_SMALL and circular buffers for any of them and for clashes, else
// the incident's own. A program's entry that takes no memory is left out.
#pragma once

#include <cstdint>

#include "ttmem/client.h"
#include "writer/writer.hpp"

namespace ttmem {

/// Every number in it is in range, its site is known, and its text is there as long as it says.
void note_incident(const ttmem_incident& incident) noexcept;
/// The same at a time of the monotonic clock.
void note_incident_at(const ttmem_incident& incident, uint64_t now_ns) noexcept;

/// The same of a replay; its number. Of many at once most are not kept, and need no copy of what is alive.
uint64_t note_unsafe_replay(const ttmem_incident& incident, bool wants_copy) noexcept;
/// An incident happened again, regardless of who reported it first; nothing if it is not kept any more.
void repeat_incident(uint64_t number) noexcept;

}  // namespace ttmem
