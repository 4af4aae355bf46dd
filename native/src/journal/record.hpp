// The eight words that serve as a ring record and as a live entry.
//
//   word  0          1     2                             3   4        5              6               7
//        commit     time  type kind pool flags | site32  id  address  reserved48     requested48     per_bank48
//                                                                    | target16      | thread16      | count16
//
// What all records have is read here. What the other words say depends on the kind of a live entry (journal/entries.hpp)
// or on the type of another record (journal/events.hpp); both pack and unpack them by the places that are named here.
#pragma once

#include "journal/bits.hpp"
#include "journal/sizes.hpp"

namespace ttmem {

// A reader skips types it does not know, so new ones need no new version.
enum class Type : uint8_t {
    none = 0,
    allocated = 1,
    freed = 2,
    status_changed = 3,
    launched = 4,
    target_opened = 5,
    target_closed = 6,
    phase_began = 7,
    phase_peaked = 8,
    phase_ended = 9,
    labelled = 10,
    out_of_memory = 11,
    ring_moved = 12,
    cache_answered = 13,
    clashed = 14,
    incident = 15,
    trace_captured = 16,
    trace_replayed = 17,
    trace_released = 18,
    program_named = 19,
    site_changed = 20,
};
inline constexpr Type kNewestType = Type::site_changed;

// Flags of a record or entry.
inline constexpr uint8_t kView = 1;       // belongs to another allocation: charged 0
inline constexpr uint8_t kIndexed = 2;    // entry is in the index by id
inline constexpr uint8_t kUntabled = 4;   // the live table was full: counted, not listed
inline constexpr uint8_t kUnmatched = 8;  // a free that matched nothing alive
inline constexpr uint8_t kExcused = 16;   // ... of an allocation that its target's close, or a fork, had ended
inline constexpr uint8_t kClamped = 32;   // a size beyond kSizeMost was cut
inline constexpr uint8_t kEstimated =
    64;  // kernel charged by the allocation server's rule, its exact size being unknown
inline constexpr uint8_t kFurther = kEstimated;  // of a buffer: not the first part of one that is allocated by core
inline constexpr uint8_t kReplaced =
    128;  // of an allocated record: an older life of its key ended with it (see replaced_hint)
inline constexpr uint8_t kStillborn = kExcused;  // of an allocated record: overtaken by a newer life of its key
inline constexpr uint8_t kWithRing = kView;      // of a launched record: it reports the kernel ring, too

// Record and Entry, word for word:
//
//   word     writer                                         reader                      order
//   commit   owner of the slot (see below)                  any, before and after copy  release / acquire
//   others   owner only, between busy and committed         any, judged by commit       release / acquire
//
// Ring slot: committed(older) --CAS--> busy(s) --stores--> committed(s). A writer that finds busy or newer
// leaves the slot alone and counts `skipped`. Live entry: 0 or busy (not alive) --> committed(s) (alive, made
// by s) --CAS--> busy(s) (freed). A sequence is never used twice, so a committed word names one life. Stores of
// the other words are releases: anyone who reads one of them also sees the busy mark that preceded it.
struct Record {
    AtomicU64 commit;
    AtomicU64 time;
    AtomicU64 tag;
    AtomicU64 id;
    AtomicU64 address;
    AtomicU64 reserved;
    AtomicU64 requested;
    AtomicU64 per_bank;
};
static_assert(sizeof(Record) == 64 && alignof(Record) == 8, "one cache line");

namespace in {  // which bits of a record's word say what
// tag
inline constexpr Bits kType{0, 8}, kKind{8, 8}, kPool{16, 8}, kFlags{24, 8}, kSite{32, 32};
// address: of a buffer, of a circular buffer, of a kernel, and of a launch that says how it left the ring
inline constexpr Bits kAddress{0, 48}, kLayout{48, 3}, kIsByCore{51, 1}, kLowCode{52, 12};
inline constexpr Bits kCbAddress{0, 32}, kCbCoreSet{32, 32};
inline constexpr Bits kProgram{0, 48}, kCoreType{48, 4}, kFoundBy{52, 4};
inline constexpr Bits kRetired{0, 32}, kLive{32, 32};
// reserved
inline constexpr Bits kReserved{0, 48}, kTarget{48, 16};
inline constexpr Bits kCharge{0, 43}, kHint{43, 5};  // of an allocated record, see kReplaced
// requested
inline constexpr Bits kRequested{0, 48}, kThread{48, 16};
// per_bank: of most, of a part of a buffer by core, of a program, of the ring, of a cache
inline constexpr Bits kPerBank{0, 48}, kCount{48, 16};
inline constexpr Bits kPerCore{0, 27}, kNextPart{27, 21};
inline constexpr Bits kLaunches{0, 46}, kStatus{46, 2};
inline constexpr Bits kRingCoreType{0, 8}, kStall{8, 8}, kIsAside{16, 8}, kRingEntries{24, 24};
inline constexpr Bits kCache{0, 8}, kOutcome{8, 8};
}  // namespace in

static_assert(kSizeMost <= in::kCharge.most(), "sizes and the hint share 48 bits");
static_assert(kTableMost <= in::kNextPart.most() && TTMEM_LAYOUT_COUNT <= in::kLayout.most() + 1);

/// Commit words, of records and incidents.
inline constexpr Bits kIsBusy{0, 1}, kSequence{1, 63};
inline constexpr uint64_t committed(uint64_t sequence) { return kSequence.pack(sequence); }
inline constexpr uint64_t busy(uint64_t sequence) { return kSequence.pack(sequence) | kIsBusy.mask(); }
inline constexpr bool is_busy(uint64_t commit) { return kIsBusy.of(commit) != 0; }
inline constexpr bool is_committed(uint64_t commit) { return commit != 0 && !is_busy(commit); }
inline constexpr uint64_t sequence_of(uint64_t commit) { return kSequence.of(commit); }

/// The word that says what a record is about.
struct Tag {
    Type type = Type::none;
    uint8_t kind = 0, pool = 0, flags = 0;
    uint32_t site = 0;

    constexpr uint64_t pack() const noexcept {
        return in::kType.pack(static_cast<uint64_t>(type)) | in::kKind.pack(kind) | in::kPool.pack(pool) |
               in::kFlags.pack(flags) | in::kSite.pack(site);
    }
    static constexpr Tag unpack(uint64_t word) noexcept {
        return {in::kType.as<Type>(word), in::kKind.as<uint8_t>(word), in::kPool.as<uint8_t>(word),
                in::kFlags.as<uint8_t>(word), in::kSite.as<uint32_t>(word)};
    }
    bool operator==(const Tag&) const = default;
};

// The page of a buffer in 28 bits. Large ones are whole parts of the buffer in practice; any other is unknown.
inline constexpr uint64_t kPageCounted = 1ull << 27;
inline constexpr uint64_t page_code(uint64_t page_bytes, uint64_t requested_bytes) {
    if (page_bytes < kPageCounted) return page_bytes;
    const uint64_t count = requested_bytes / page_bytes;
    return count != 0 && count < kPageCounted && count * page_bytes == requested_bytes ? kPageCounted | count : 0;
}
inline constexpr uint64_t page_from(uint64_t code, uint64_t requested_bytes) {
    if (code < kPageCounted) return code;
    return code != kPageCounted ? requested_bytes / (code - kPageCounted) : 0;
}

/// 28 bits in two words: a buffer's page, or the set of cores of a part of it.
inline constexpr uint32_t kCodeBits = 28;
inline constexpr Bits kCodeLow{0, 12}, kCodeHigh{12, 16};
inline constexpr uint64_t kPerCoreMost = in::kPerCore.most();
static_assert(kArenaBytes / 8 < 1u << kCodeBits);

/// Plain copy of a record, and what its words say. What only some have, only those may be asked for.
struct RecordCopy {
    uint64_t commit = 0, time = 0, tag = 0, id = 0, address = 0, reserved = 0, requested = 0, per_bank = 0;

    bool operator==(const RecordCopy&) const = default;
    constexpr uint64_t sequence() const { return sequence_of(commit); }
    constexpr Type type() const { return in::kType.as<Type>(tag); }
    constexpr uint8_t kind() const { return in::kKind.as<uint8_t>(tag); }
    constexpr uint8_t pool() const { return in::kPool.as<uint8_t>(tag); }
    constexpr uint8_t flags() const { return in::kFlags.as<uint8_t>(tag); }
    constexpr uint32_t site() const { return in::kSite.as<uint32_t>(tag); }
    constexpr uint16_t target() const { return in::kTarget.as<uint16_t>(reserved); }
    constexpr uint16_t thread() const { return in::kThread.as<uint16_t>(requested); }
    constexpr uint16_t count() const { return in::kCount.as<uint16_t>(per_bank); }
    constexpr uint64_t reserved_bytes() const { return in::kCharge.of(reserved); }  // a size needs no more
    constexpr uint64_t requested_bytes() const { return in::kRequested.of(requested); }
    constexpr uint64_t per_bank_bytes() const { return in::kPerBank.of(per_bank); }

    // The low bits of the sequence of the life that ended: they say lives apart whose threads raced for one id.
    constexpr uint64_t replaced_hint() const { return in::kHint.of(reserved); }
    constexpr bool is_replacement_of(uint64_t life) const {
        return life < sequence() && (life & in::kHint.most()) == replaced_hint();
    }

    // Of a program.
    constexpr uint64_t launches() const { return in::kLaunches.of(per_bank); }
    constexpr uint8_t status() const { return in::kStatus.as<uint8_t>(per_bank); }

    // Of a kernel.
    constexpr uint8_t core_type() const { return in::kCoreType.as<uint8_t>(address); }
    constexpr uint8_t found_by() const { return in::kFoundBy.as<uint8_t>(address); }

    // Of a buffer that a journal has.
    constexpr uint64_t buffer_address() const { return in::kAddress.of(address); }
    constexpr uint8_t layout() const { return in::kLayout.as<uint8_t>(address); }
    constexpr uint64_t code() const { return in::kLowCode.of(address) | kCodeHigh.pack(count()); }
    constexpr uint64_t page_bytes() const { return page_from(code(), requested_bytes()); }

    // Allocated by core, and then: a part's bytes on each of its cores, how many those are, the text that names them, and
    // where the next part is.
    constexpr bool may_be_by_core() const { return in::kIsByCore.of(address) != 0; }
    constexpr bool is_by_core() const { return may_be_by_core() && kind() == TTMEM_BUFFER; }
    constexpr bool is_further() const { return kind() == TTMEM_BUFFER && (flags() & kFurther) != 0; }
    constexpr uint64_t per_core_bytes() const { return in::kPerCore.of(per_bank); }
    constexpr uint64_t core_count() const { return per_core_bytes() == 0 ? 0 : reserved_bytes() / per_core_bytes(); }
    constexpr uint32_t core_set() const { return static_cast<uint32_t>(code()); }
    constexpr uint32_t next_part() const { return in::kNextPart.as<uint32_t>(per_bank); }

    constexpr void set_type(Type type) { tag = in::kType.put(tag, static_cast<uint64_t>(type)); }
    constexpr void add_flags(uint8_t flags) { tag |= in::kFlags.pack(flags); }
    constexpr void drop_flags(uint8_t flags) { tag &= ~in::kFlags.pack(flags); }
    constexpr void set_site(uint32_t site) { tag = in::kSite.put(tag, site); }
    constexpr void set_thread(uint16_t thread) { requested = in::kThread.put(requested, thread); }
    constexpr void set_reserved(uint64_t bytes) { reserved = in::kReserved.put(reserved, bytes); }
    constexpr void set_requested(uint64_t value) { requested = in::kRequested.put(requested, value); }

    /// That an older life of its key ended with this allocation, and as it stands in the live state.
    constexpr void name_replaced(uint64_t life) {
        add_flags(kReplaced);
        reserved |= in::kHint.pack(life);
    }
    constexpr void forget_replaced() {
        drop_flags(kReplaced);
        reserved = in::kHint.clear(reserved);
    }
};
static_assert(sizeof(RecordCopy) == sizeof(Record));

/// Copies all words but the commit, which the caller judges before and after.
inline void copy_words(const Record& from, RecordCopy& to) noexcept {
    to.time = from.time.load(std::memory_order_acquire);
    to.tag = from.tag.load(std::memory_order_acquire);
    to.id = from.id.load(std::memory_order_acquire);
    to.address = from.address.load(std::memory_order_acquire);
    to.reserved = from.reserved.load(std::memory_order_acquire);
    to.requested = from.requested.load(std::memory_order_acquire);
    to.per_bank = from.per_bank.load(std::memory_order_acquire);
}

/// Single words of a record that others may be changing. The kind alone is asked for by anyone who looks for a key: the rest of
/// the tag would make that too long to be inlined.
inline Tag tag_of(const Record& record) noexcept { return Tag::unpack(record.tag.load(std::memory_order_acquire)); }
inline uint8_t kind_of(const Record& record) noexcept {
    return in::kKind.as<uint8_t>(record.tag.load(std::memory_order_acquire));
}
inline uint16_t target_of(const Record& record) noexcept {
    return in::kTarget.as<uint16_t>(record.reserved.load(std::memory_order_acquire));
}

}  // namespace ttmem
