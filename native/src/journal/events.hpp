// What the other records of the ring say, by their type: an allocated one is in journal/entries.hpp.
//
//   type              id (3)            address (4)        reserved (5)    requested (6)    per_bank (7)
//   allocated         the live entry's own words (reserved has 5 bits more: see kReplaced)
//   freed             as of the entry   maker's sequence   as above        as above         as above
//   status_changed    program           -                  -               status           -
//   launched          program           live32, retired32  ring bytes      launches so far  as ring_moved | entries24
//   target_opened     descriptor id     unique or mesh id  -               -                -
//   target_closed     entries ended     unique or mesh id  -               -                -
//   phase_began       phase number      name id            -               -                -
//   phase_peaked      phase number      name id            peak bytes      -                -            (target, pool)
//   phase_ended       phase number      name id            -               -                -
//   labelled          label id          -                  -               -                -
//   out_of_memory     requested         free               largest free    -                -            (target, pool)
//   clashed           program           end of the CBs     buffer address  -                -
//   ring_moved        live bytes        retired bytes      ring bytes      live entries     core type8 | stall8 | aside8
//   cache_answered    size asked for    held bytes         shared bytes    entries          cache8 | outcome8
//   incident          its number        kind               asked bytes     -                -            (target, pool)
//   trace_captured    trace             -                  bytes           -                -
//   trace_replayed    trace             -                  -               -                -
//   trace_released    trace             -                  -               -                -
//   program_named     program           operation's site   -               -                -
//   site_changed      as of the entry   maker's sequence   -               -                -            (new site in the tag)
//
// The ring that a launch moved is in its record where both are on one target (kWithRing). Else these words of a launch are
// 0, and the ring has a record of its own. (A reader that knows nothing of it still has the counters of the ring.)
#pragma once

#include <algorithm>

#include "journal/entries.hpp"

namespace ttmem {

/// The words of a record; its thread is added by anyone who publishes it.
inline constexpr RecordCopy words_of(Tag tag, uint16_t target, uint64_t id, uint64_t address = 0, uint64_t reserved = 0,
                                     uint64_t requested = 0, uint64_t per_bank = 0) noexcept {
    RecordCopy words;
    words.tag = tag.pack();
    words.id = id;
    words.address = address;
    words.reserved = in::kReserved.pack(reserved) | in::kTarget.pack(target);
    words.requested = in::kRequested.pack(requested);
    words.per_bank = in::kPerBank.pack(per_bank);
    return words;
}
inline constexpr Tag tag_of_program(Type type, uint8_t flags = 0) {
    return {type, TTMEM_PROGRAM_BINARY, TTMEM_DRAM, flags, 0};
}

/// A free of something that is in no table, or of nothing.
struct FreedRecord {
    uint8_t kind = 0, pool = 0, flags = 0;
    uint16_t target = 0;
    uint64_t id = 0, bytes = 0;
    uint64_t made_by = 0;  // the sequence of the life that ended, 0: unknown

    constexpr RecordCopy pack() const noexcept {
        return words_of({Type::freed, kind, pool, flags, 0}, target, id, made_by, bytes);
    }
    static constexpr FreedRecord unpack(const RecordCopy& words) noexcept {
        return {words.kind(), words.pool(),           words.flags(), words.target(),
                words.id,     words.reserved_bytes(), words.address};
    }
    /// The words of a life become those of its end.
    static constexpr void end(RecordCopy& life) noexcept {
        life.address = life.sequence();
        life.set_type(Type::freed);
    }
    bool operator==(const FreedRecord&) const = default;
};

struct StatusChangedRecord {
    uint16_t target = 0;
    uint64_t program = 0;
    uint8_t status = 0;

    constexpr RecordCopy pack() const noexcept {
        return words_of(tag_of_program(Type::status_changed), target, program, 0, 0, status);
    }
    static constexpr StatusChangedRecord unpack(const RecordCopy& words) noexcept {
        return {words.target(), words.id, static_cast<uint8_t>(words.requested_bytes() & in::kStatus.most())};
    }
    bool operator==(const StatusChangedRecord&) const = default;
};

/// Where and how a kernel ring changed: what of ttmem_ring_state is small, in one word, as its record has it.
struct RingMove {
    uint64_t word;  // core type8 | stall8 | aside8, and target16 at the top

    static constexpr RingMove of(uint16_t target, uint8_t core_type, uint8_t stall, bool is_aside) noexcept {
        return {in::kTarget.pack(target) | in::kRingCoreType.pack(core_type) | in::kStall.pack(stall) |
                in::kIsAside.pack(is_aside)};
    }
    constexpr uint64_t target() const noexcept { return in::kTarget.of(word); }
    constexpr uint64_t core_type() const noexcept { return in::kRingCoreType.of(word); }
    constexpr uint64_t stall() const noexcept { return in::kStall.of(word); }
    constexpr bool is_aside() const noexcept { return in::kIsAside.of(word) != 0; }
    bool operator==(const RingMove&) const = default;
};

/// A kernel ring after a launch, as the record of the launch has it, for a host that reports both at once.
struct LaunchedRing {
    uint64_t levels;  // live bytes32 | retired bytes32
    uint64_t total;
    uint64_t word;  // that of its move | entries24; 0: there is none

    static constexpr uint64_t levels_of(uint32_t live, uint32_t retired) noexcept {
        return in::kLive.pack(live) | in::kRetired.pack(retired);
    }
    static constexpr uint64_t word_of(RingMove move, uint32_t entries) noexcept {
        return move.word | in::kRingEntries.pack(entries);
    }
    constexpr bool is_there() const noexcept { return word != 0; }
    constexpr uint64_t live() const noexcept { return in::kLive.of(levels); }
    constexpr uint64_t retired() const noexcept { return in::kRetired.of(levels); }
    constexpr uint64_t entries() const noexcept { return in::kRingEntries.of(word); }
    constexpr RingMove move() const noexcept { return {in::kRingEntries.clear(word)}; }
    bool operator==(const LaunchedRing&) const = default;
};

struct LaunchedRecord {
    uint16_t target = 0;
    uint64_t program = 0, launches = 0;
    LaunchedRing ring{};  // of the same target, if there is one

    constexpr RecordCopy pack() const noexcept {
        return words_of(tag_of_program(Type::launched, ring.is_there() ? kWithRing : uint8_t{0}), target, program,
                        ring.levels, ring.total, launches, ring.word);
    }
    static constexpr bool has_ring(const RecordCopy& words) noexcept {
        return words.type() == Type::launched && (words.flags() & kWithRing) != 0;
    }
    static constexpr LaunchedRecord unpack(const RecordCopy& words) noexcept {
        LaunchedRecord launch{words.target(), words.id, words.requested_bytes()};
        if (has_ring(words))
            launch.ring = {words.address, in::kReserved.of(words.reserved),
                           in::kPerBank.of(words.per_bank) | in::kTarget.pack(words.target())};
        return launch;
    }
    bool operator==(const LaunchedRecord&) const = default;
};

struct RingMovedRecord {
    uint64_t live = 0, retired = 0, total = 0, entries = 0;
    RingMove move{};

    static constexpr RingMovedRecord of(const LaunchedRing& ring) noexcept {
        return {ring.live(), ring.retired(), ring.total, ring.entries(), ring.move()};
    }
    constexpr RecordCopy pack() const noexcept {
        return words_of({Type::ring_moved}, static_cast<uint16_t>(move.target()), live, retired, total, entries,
                        move.word);
    }
    static constexpr RingMovedRecord unpack(const RecordCopy& words) noexcept {
        return {words.id,
                words.address,
                in::kReserved.of(words.reserved),
                words.requested_bytes(),
                {in::kPerBank.of(words.per_bank) | in::kTarget.pack(words.target())}};
    }
    bool operator==(const RingMovedRecord&) const = default;
};

struct CacheAnsweredRecord {
    uint16_t target = 0;
    uint8_t cache = 0, outcome = 0;
    uint64_t size = 0, held = 0, shared = 0, entries = 0;

    constexpr RecordCopy pack() const noexcept {
        return words_of({Type::cache_answered}, target, size, held, shared, entries,
                        in::kCache.pack(cache) | in::kOutcome.pack(outcome));
    }
    static constexpr CacheAnsweredRecord unpack(const RecordCopy& words) noexcept {
        return {words.target(),
                in::kCache.as<uint8_t>(words.per_bank),
                in::kOutcome.as<uint8_t>(words.per_bank),
                words.id,
                words.address,
                in::kReserved.of(words.reserved),
                words.requested_bytes()};
    }
    bool operator==(const CacheAnsweredRecord&) const = default;
};

struct TargetOpenedRecord {
    uint16_t target = 0;
    uint32_t descriptor = 0;  // an item of the arena
    uint64_t unique_id = 0;

    constexpr RecordCopy pack() const noexcept {
        return words_of({Type::target_opened, 0, TTMEM_POOL_UNKNOWN}, target, descriptor, unique_id);
    }
    static constexpr TargetOpenedRecord unpack(const RecordCopy& words) noexcept {
        return {words.target(), static_cast<uint32_t>(words.id), words.address};
    }
    bool operator==(const TargetOpenedRecord&) const = default;
};

struct TargetClosedRecord {
    uint16_t target = 0;
    uint64_t ended = 0, unique_id = 0;

    constexpr RecordCopy pack() const noexcept {
        return words_of({Type::target_closed, 0, TTMEM_POOL_UNKNOWN}, target, ended, unique_id);
    }
    static constexpr TargetClosedRecord unpack(const RecordCopy& words) noexcept {
        return {words.target(), words.id, words.address};
    }
    bool operator==(const TargetClosedRecord&) const = default;
};

/// A phase began, peaked on a target, or ended. A sum that has no room is the highest there can be.
struct PhaseRecord {
    Type type = Type::phase_began;
    uint32_t number = 0, name = 0;
    uint16_t target = 0;
    uint8_t pool = 0;
    uint64_t peak = 0;

    constexpr RecordCopy pack() const noexcept {
        return words_of({type, 0, pool}, target, number, name, std::min(peak, in::kReserved.most()));
    }
    static constexpr PhaseRecord unpack(const RecordCopy& words) noexcept {
        return {words.type(), static_cast<uint32_t>(words.id), static_cast<uint32_t>(words.address), words.target(),
                words.pool(), in::kReserved.of(words.reserved)};
    }
    bool operator==(const PhaseRecord&) const = default;
};

struct LabelledRecord {
    uint32_t label = 0;

    constexpr RecordCopy pack() const noexcept { return words_of({Type::labelled, 0, TTMEM_POOL_UNKNOWN}, 0, label); }
    static constexpr LabelledRecord unpack(const RecordCopy& words) noexcept {
        return {static_cast<uint32_t>(words.id)};
    }
    bool operator==(const LabelledRecord&) const = default;
};

struct OutOfMemoryRecord {
    uint16_t target = 0;
    uint8_t pool = 0;
    uint64_t requested = 0, free = 0, largest = 0;

    constexpr RecordCopy pack() const noexcept {
        return words_of({Type::out_of_memory, 0, pool}, target, requested, free, largest);
    }
    static constexpr OutOfMemoryRecord unpack(const RecordCopy& words) noexcept {
        return {words.target(), words.pool(), words.id, words.address, words.reserved_bytes()};
    }
    bool operator==(const OutOfMemoryRecord&) const = default;
};

struct ClashedRecord {
    uint16_t target = 0;
    uint64_t program = 0, cb_end = 0, buffer = 0;

    constexpr RecordCopy pack() const noexcept { return words_of({Type::clashed}, target, program, cb_end, buffer); }
    static constexpr ClashedRecord unpack(const RecordCopy& words) noexcept {
        return {words.target(), words.id, words.address, in::kReserved.of(words.reserved)};
    }
    bool operator==(const ClashedRecord&) const = default;
};

struct IncidentRecord {
    uint64_t number = 0;
    uint8_t kind = 0, pool = 0;
    uint16_t target = 0;
    uint32_t site = 0;
    uint64_t asked = 0;

    constexpr RecordCopy pack() const noexcept {
        return words_of({Type::incident, 0, pool, 0, site}, target, number, kind, asked);
    }
    static constexpr IncidentRecord unpack(const RecordCopy& words) noexcept {
        return {words.id,     static_cast<uint8_t>(words.address),
                words.pool(), words.target(),
                words.site(), words.reserved_bytes()};
    }
    bool operator==(const IncidentRecord&) const = default;
};

/// A trace was captured, replayed or released.
struct TraceRecord {
    Type type = Type::trace_captured;
    uint16_t target = 0;
    uint64_t trace = 0, bytes = 0;

    constexpr RecordCopy pack() const noexcept {
        return words_of({type, 0, TTMEM_POOL_UNKNOWN}, target, trace, 0, bytes);
    }
    static constexpr TraceRecord unpack(const RecordCopy& words) noexcept {
        return {words.type(), words.target(), words.id, words.reserved_bytes()};
    }
    bool operator==(const TraceRecord&) const = default;
};

struct ProgramNamedRecord {
    uint16_t target = 0;
    uint64_t program = 0;
    uint32_t site = 0;

    constexpr RecordCopy pack() const noexcept {
        return words_of(tag_of_program(Type::program_named), target, program, site);
    }
    static constexpr ProgramNamedRecord unpack(const RecordCopy& words) noexcept {
        return {words.target(), words.id, static_cast<uint32_t>(words.address)};
    }
    bool operator==(const ProgramNamedRecord&) const = default;
};

struct SiteChangedRecord {
    uint8_t kind = 0, pool = 0;
    uint16_t target = 0;
    uint64_t id = 0, made_by = 0;
    uint32_t site = 0;

    constexpr RecordCopy pack() const noexcept {
        return words_of({Type::site_changed, kind, pool, 0, site}, target, id, made_by);
    }
    static constexpr SiteChangedRecord unpack(const RecordCopy& words) noexcept {
        return {words.kind(), words.pool(), words.target(), words.id, words.address, words.site()};
    }
    bool operator==(const SiteChangedRecord&) const = default;
};

inline constexpr uint64_t kMost48 = in::kReserved.most();
static_assert(comes_back(FreedRecord{0xff, 0xff, 0xff, 0xffff, ~0ull, kSizeMost, ~0ull}));
static_assert(comes_back(StatusChangedRecord{0xffff, ~0ull, 3}));
static_assert(comes_back(LaunchedRecord{0xffff, ~0ull, kMost48}));
static_assert(comes_back(LaunchedRecord{
    0xffff, ~0ull, kMost48, {~0ull, kMost48, LaunchedRing::word_of(RingMove::of(0xffff, 255, 255, true), 0xff'ffff)}}));
static_assert(comes_back(RingMovedRecord{~0ull, ~0ull, kMost48, kMost48, RingMove::of(0xffff, 255, 255, true)}));
static_assert(comes_back(CacheAnsweredRecord{0xffff, 255, 255, ~0ull, ~0ull, kMost48, kMost48}));
static_assert(comes_back(TargetOpenedRecord{0xffff, ~0u, ~0ull}) && comes_back(TargetClosedRecord{7, ~0ull, ~0ull}));
static_assert(comes_back(PhaseRecord{Type::phase_peaked, ~0u, ~0u, 0xffff, 255, kMost48}));
static_assert(comes_back(LabelledRecord{~0u}) && comes_back(ClashedRecord{0xffff, ~0ull, ~0ull, kMost48}));
static_assert(comes_back(OutOfMemoryRecord{0xffff, 255, ~0ull, ~0ull, kSizeMost}));
static_assert(comes_back(IncidentRecord{~0ull, 255, 255, 0xffff, ~0u, kSizeMost}));
static_assert(comes_back(TraceRecord{Type::trace_replayed, 0xffff, ~0ull, kSizeMost}));
static_assert(comes_back(ProgramNamedRecord{0xffff, ~0ull, ~0u}));
static_assert(comes_back(SiteChangedRecord{255, 255, 0xffff, ~0ull, ~0ull, ~0u}));

}  // namespace ttmem
