// Memory that was refused, circular buffers that clashed, unsafe replays of a trace: numbered from 1 within their process.
// `incidents` in the header moves first, so anyone who is killed inside leaves at least a count. Incident n has the slot
// slot_of(n), taken as a ring slot is: committed(older) --CAS--> busy(n) --stores--> committed(n). Anyone who finds busy or newer
// leaves the slot alone. A repetition (same thread, target, site, kind, pool, size, end of circular buffers, trace and address, within
// a second; or the same trace replayed over the same buffer, at any time) only raises `repeats` and `last_time` of its slot.
//
// The records of an incident are given out before its copy is made, and each repetition gives out one: what came after it
// is next_sequence - sequence_after - repeats.
//
// The copy of what was alive is in `copies`, at the place of the same slot: whole entries of the slab as they were, each
// judged by its commit word before and after it was copied. It counts only together with a committed head that says how
// many entries it has.
#pragma once

#include "journal/bits.hpp"
#include "journal/sizes.hpp"

namespace ttmem {

inline constexpr uint32_t slot_of(uint64_t number) {
    if (number <= kIncidentsFirst) return static_cast<uint32_t>(number - 1);
    return kIncidentsFirst + static_cast<uint32_t>((number - 1 - kIncidentsFirst) % (kIncidentSlots - kIncidentsFirst));
}

enum IncidentFlags : uint32_t {
    kReadLater = 1,  // figures were asked for a moment after the refusal, when other threads may have gone on
    kNoCopy = 2,     // no pages for the copy: what was alive is not kept
    kHasText = 4,    // figures are those of the runtime's own text
    kPerCore = 8,    // asked of single cores: per_bank and banks are bytes of a core, and how many cores
    kMayOverlap =
        16,  // of an unsafe replay: the ranges of the trace were merged, or a size in its bank is an upper bound
};

inline constexpr uint64_t kUnknownFigure = ~0ull;

//   field               writer                                     reader                      order
//   commit              owner of the slot                          any, before and after copy  release / acquire
//   repeats, last_time  any thread that repeats it, while committed any                        relaxed
//   others              owner only, between busy and committed     any, judged by commit       relaxed
struct Incident {
    AtomicU64 commit;
    AtomicU64 repeats;    // how often it happened again
    AtomicU64 last_time;  // of the newest repetition, 0: none
    AtomicU64 time;
    AtomicU64 place;                    // see IncidentPlace
    AtomicU64 site_and_phase;           // see SiteAndPhase
    AtomicU64 other_site_and_cores;     // see OtherSiteAndCores
    AtomicU64 requested, per_bank;      // asked for: in all banks, of each bank
    AtomicU64 free, largest;            // in all banks
    AtomicU64 bank_free, bank_largest;  // of one bank
    AtomicU64 banks;                    // how many, 0 unknown
    AtomicU64 space_begin, space_end;   // addresses of the allocator that refused, in each bank; both 0 unknown
    AtomicU64 program;
    AtomicU64 cb_end, lowest_buffer;  // addresses
    AtomicU64 trace, address;         // of an unsafe replay: the trace, and the buffer that lies where it writes
    AtomicU64 launches;               // on its target, before it
    AtomicU64 sequence_before, sequence_after;  // what had been given out before and after the copy was made
    AtomicU64 entries;                          // in the copy
    AtomicU64 left_out, left_out_bytes;         // what was alive beyond them
    AtomicU64 text_bytes;
    AtomicU64 spare[36];
    char text[kIncidentTextBytes];  // what the runtime said, its beginning
};
static_assert(sizeof(Incident) == 1024 && offsetof(Incident, text) == 512);

struct IncidentPlace {
    uint8_t kind = 0, pool = 0;
    uint16_t target = 0, thread = 0, flags = 0;

    static constexpr Bits kKind{0, 8}, kPool{8, 8}, kTarget{16, 16}, kThread{32, 16}, kFlags{48, 16};
    constexpr uint64_t pack() const noexcept {
        return kKind.pack(kind) | kPool.pack(pool) | kTarget.pack(target) | kThread.pack(thread) | kFlags.pack(flags);
    }
    static constexpr IncidentPlace unpack(uint64_t word) noexcept {
        return {kKind.as<uint8_t>(word), kPool.as<uint8_t>(word), kTarget.as<uint16_t>(word),
                kThread.as<uint16_t>(word), kFlags.as<uint16_t>(word)};
    }
    bool operator==(const IncidentPlace&) const = default;
};

struct SiteAndPhase {
    uint32_t site = 0, phase = 0;  // the second: its name

    constexpr uint64_t pack() const noexcept { return kLowHalf.pack(site) | kHighHalf.pack(phase); }
    static constexpr SiteAndPhase unpack(uint64_t word) noexcept {
        return {kLowHalf.as<uint32_t>(word), kHighHalf.as<uint32_t>(word)};
    }
    bool operator==(const SiteAndPhase&) const = default;
};

/// The site of the other side of an unsafe replay, and the text of a set of cores.
struct OtherSiteAndCores {
    uint32_t site = 0, core_set = 0;

    constexpr uint64_t pack() const noexcept { return kLowHalf.pack(site) | kHighHalf.pack(core_set); }
    static constexpr OtherSiteAndCores unpack(uint64_t word) noexcept {
        return {kLowHalf.as<uint32_t>(word), kHighHalf.as<uint32_t>(word)};
    }
    bool operator==(const OtherSiteAndCores&) const = default;
};

}  // namespace ttmem
