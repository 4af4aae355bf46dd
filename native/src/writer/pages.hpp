// Pages of the journal's holes: asked for before any process writes there.
//
// A hole of a full file system ends anyone who writes into it (SIGBUS). So each page is asked for first, and where it is refused
// what would have been written there is missing, and the host goes on.
#pragma once

#include <cstdint>

namespace ttmem {

/// Whether these bytes of the journal have room in its file now, and may be written. They may have had it before. Takes no
/// lock and no memory, keeps errno, and may be called by a signal handler; only while has_journal().
bool ask_for_pages(uint64_t offset, uint64_t bytes) noexcept;

}  // namespace ttmem
