// Clears away journals whose processes are gone; done by anyone who makes a new one, so that nothing has to run for it.
//
// That happens inside a host program, in a directory that others may write to: what it costs is bounded, however many
// files are there. Of the names that are listed some are drawn at random if there are more than are examined, so that
// every start gets to other files. A file of another user, or one that is too short, is not opened.
#pragma once

#include <cstdint>

namespace ttmem {

inline constexpr uint32_t kDeadMost = 16;
inline constexpr uint32_t kDeadWithIncidentsMost = 8;
inline constexpr uint64_t kDeadBytesMost = 256ull << 20;

/// How much is kept of this user's dead journals, and how many names are listed and examined in order to find them.
struct ClearingBounds {
    uint32_t most_count = kDeadMost;
    uint64_t most_bytes = kDeadBytesMost;  // of all
    uint32_t listed_most = 8192;
    uint32_t examined_most = 512;
    uint32_t most_with_incidents = kDeadWithIncidentsMost;  // beside the others
};

/// Where there is no room for a new journal: nothing is kept, and more is done to find something.
inline constexpr ClearingBounds kMakeRoom{0, kDeadBytesMost, 65'536, 8192, 0};

inline constexpr uint32_t kRemovedMost = 64;  // files: to free their memory takes time

/// What was done.
struct Cleared {
    uint32_t listed = 0, examined = 0, opened = 0, removed = 0;
};

/// Removes this user's dead journals beyond the newest that are kept; those that report incidents go last.
Cleared remove_dead_journals(int directory, uint32_t own_uid, const ClearingBounds& bounds = {}) noexcept;

}  // namespace ttmem
