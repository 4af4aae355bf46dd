// The one writer of a process: where its journal is mapped, and how a call finds out whether it may write.
//
// A call may write while `*alive` reads kAlive. The word lives on a page the kernel wipes in forked children, so a
// child sees 0 there, without a system call, and makes a journal of its own at its first report.
//
//   field        written by                          read by       order
//   alive        prepare(), once per process         every call    release / acquire
//   everything   prepare(), before alive is set      every call    ordered by alive
//   state        prepare(), enable(), disable()      slow paths    acq_rel
#pragma once

#include <atomic>
#include <cstdint>

#include "journal/clock.hpp"
#include "journal/layout.hpp"

namespace ttmem {

inline constexpr uint64_t kAlive = 0x616c'6976'6521'2121;

struct alignas(64) Writer {  // every report looks at its first line of memory, few at more
    Header* header = nullptr;
    Target* targets = nullptr;
    Record* slab = nullptr;
    Record* ring = nullptr;
    uint64_t ring_mask = 0;
    uint32_t table = 0;
    ClockKind clock = kClockMonotonic;
    uint32_t generation = 0;  // changes with every journal, so that a thread's cached number is not reused after fork
    uint32_t swift = 0;       // the same if the clock is the processor's counter, else what no generation is
    uint32_t trace_count = 0, overlap_count = 0;  // see traces/traces.hpp
    AtomicU32* threads = nullptr;
    AtomicU32* index[kIndexLevels] = {};
    uint32_t index_buckets[kIndexLevels] = {};
    PhasePeak* phases = nullptr;
    char* arena = nullptr;
    uint64_t device = 0, inode = 0;
    uint64_t bytes = 0;
    int file = -1;  // open for as long as the journal is locked; the host may have closed it all the same
    char path[512] = {};
    bool is_in_default_place = false;  // then a forked child goes through the places too
};

/// Points the fields at the parts of a mapped journal.
inline void open_parts(Writer& writer, void* base) noexcept {
    auto* bytes = static_cast<char*>(base);
    writer.header = static_cast<Header*>(base);
    const Identity& identity = writer.header->identity;
    writer.targets = reinterpret_cast<Target*>(bytes + identity.targets_offset);
    writer.threads = reinterpret_cast<AtomicU32*>(bytes + identity.threads_offset);
    writer.slab = reinterpret_cast<Record*>(bytes + identity.slab_offset);
    writer.ring = reinterpret_cast<Record*>(bytes + identity.ring_offset);
    writer.phases = reinterpret_cast<PhasePeak*>(bytes + identity.phases_offset);
    writer.arena = bytes + identity.arena_offset;
    writer.table = identity.table;
    writer.ring_mask = identity.ring_slots - 1;
    writer.clock = static_cast<ClockKind>(identity.clock_kind);
    auto* index = reinterpret_cast<AtomicU32*>(bytes + identity.index_offset);
    for (uint32_t level = 0; level < kIndexLevels; ++level) {
        writer.index[level] = index;
        writer.index_buckets[level] = identity.index_slots[level] / kBucketSlots;
        index += identity.index_slots[level];
    }
}

/// What an item of the arena holds, and how many bytes; null if there is none of that kind.
inline const char* item_at(const Writer& writer, uint32_t id, Item wanted, uint32_t& bytes) noexcept {
    if (id == 0 || id >= kArenaBytes / 8) return nullptr;
    const char* item = writer.arena + uint64_t{id} * 8;
    const auto head = ItemWord::unpack(reinterpret_cast<const ItemHead*>(item)->head.load(std::memory_order_acquire));
    bytes = head.bytes;
    return head.item == wanted ? item + sizeof(ItemHead) : nullptr;
}

extern Writer the_writer;
extern std::atomic<std::atomic<uint64_t>*> the_alive_word;

/// True when the call may write. Never blocks; the first call of a process makes its journal.
bool prepare() noexcept;

/// Whether this copy of the writer has a journal of this process.
inline bool has_journal() noexcept {
    return __builtin_expect(the_alive_word.load(std::memory_order_acquire)->load(std::memory_order_acquire) == kAlive,
                            1);
}

inline bool may_write() noexcept { return has_journal() || prepare(); }

/// Turns the writer on (making a journal if needed), or off for good until turned on again.
bool turn_on(const char* directory) noexcept;
void turn_off() noexcept;
bool is_on() noexcept;

/// Called when it was turned off, which ended everything: anyone who keeps names of targets must name them again. Null: none.
extern std::atomic<void (*)() noexcept> at_turn_off;

/// Whether a report made now would be written: on, or undecided and asked for by the environment.
bool is_wanted() noexcept;

/// How many frees of things this process no longer lists are expected: ended by a target's close, or a parent's.
/// Each target has its own number of them, so that a mistake on one is not excused by the end of another.
void excuse(uint16_t target, uint64_t count) noexcept;
bool take_excuse(uint16_t target) noexcept;
/// The same for a free that does not say where: on any target whose close ended what `made_by` had made.
bool take_excuse_of(uint64_t made_by) noexcept;

extern thread_local __attribute__((tls_model("initial-exec"))) uint64_t cached_thread;  // generation << 32 | number

/// The number of the calling thread in this journal's thread table; 0 when there is no room.
uint16_t number_thread() noexcept;
inline uint16_t thread_number() noexcept {
    const uint64_t cached = cached_thread;
    const bool is_numbered = static_cast<uint32_t>(cached >> 32) == the_writer.generation;
    return __builtin_expect(is_numbered, 1) ? static_cast<uint16_t>(cached) : number_thread();
}

/// Who reports, and when. A hot operation is there twice, for each kind of stamp: the swift one calls nothing, so that the
/// operation around it needs no registers but those it may use without saving them.
struct AnyStamp {
    static uint64_t now() noexcept { return raw_now(the_writer.clock); }
    static uint16_t thread() noexcept { return thread_number(); }
};
struct SwiftStamp {
    static uint64_t now() noexcept { return raw_now(kClockTsc); }
    static uint16_t thread() noexcept { return static_cast<uint16_t>(cached_thread); }
};
/// Whether the calling thread may use the swift one: it has its number, and the clock is the processor's counter.
inline bool has_swift_stamp() noexcept {
    return __builtin_expect(static_cast<uint32_t>(cached_thread >> 32) == the_writer.swift, 1);
}

}  // namespace ttmem
