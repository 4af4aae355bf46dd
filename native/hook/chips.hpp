// The chips of this process: the runtime's number of each, its unique id, its name in the journal, its board.
//
// The unique id comes from the runtime's own counters when they are made for a chip, else from its description of the
// cluster. A chip nobody knows the id of gets one that no real chip has.
#pragma once

#include <cstdint>

namespace ttmem::hook {

inline constexpr uint32_t kNameRoom = 32;

uint64_t unique_id_of(int chip) noexcept;

/// The runtime's own words, cut to their room; "" where this release does not tell.
void name_of_arch(int arch, char (&name)[kNameRoom]) noexcept;
void name_of_board(int chip, char (&name)[kNameRoom]) noexcept;

/// What a chip is called in the journal; 0 if it was never opened.
uint16_t chip_target(int chip) noexcept;
void note_chip_target(int chip, uint16_t target) noexcept;

}  // namespace ttmem::hook
