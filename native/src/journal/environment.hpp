// The variables of the environment that decide about tracking.
#pragma once

namespace ttmem {

/// The value of a variable, or null. Null for all of them in a program that runs with more rights than its caller (setuid,
/// setgid, file capabilities): the caller, who sets them, must not choose where such a program writes.
const char* environment(const char* name) noexcept;

/// Whether a word means off: empty, 0, off, false or no, in any case. Every other word means on.
bool is_off_word(const char* word) noexcept;

/// Whether the environment turns tracking on: TTMEM decides if it is set and not empty; else TT_ALLOC_TRACKING_ENABLED,
/// the switch of the allocation server's client, which is on for 1 alone.
bool is_tracking_asked_for() noexcept;

}  // namespace ttmem
