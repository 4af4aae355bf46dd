// The operations of a report: each takes a sequence, changes the live state and the counters, and leaves one record
// in the ring. None blocks, none fails the host; whatever cannot be done is counted.
//
// Order inside one call: sequence, stamp, live state, counters, ring. A call that never returned (its process was
// killed) may thus be found done or not done, never half done.
#pragma once

#include <atomic>
#include <cstdint>

#include "ttmem/client.h"
#include "writer/live_state.hpp"
#include "writer/writer.hpp"

namespace ttmem {

/// Begins an operation: its sequence, with the ring slot it will need on its way into the cache.
inline uint64_t take_sequence(const Writer& writer) noexcept {
    const uint64_t sequence = writer.header->next_sequence.fetch_add(1, std::memory_order_acq_rel);
    __builtin_prefetch(&writer.ring[(sequence + 8) & writer.ring_mask], 1);
    return sequence;
}

/// Leaves the record of a finished operation. If the slot is busy or newer, a slower writer or a lap was there: the
/// record is lost (history only) and `skipped` says readers to look at the live state again.
void publish(const Writer& writer, uint64_t sequence, const RecordCopy& words) noexcept;

/// The same of what has no other order to keep: its sequence and stamp are taken now. Hands back the sequence.
uint64_t publish_now(RecordCopy words) noexcept;

/// The owner of an ended life takes it off the books: index, slab, counters. `found` when its slot is known. Further parts
/// are left alone.
void release_entry(const Writer& writer, uint32_t entry, const RecordCopy& words, const Found* found,
                   uint64_t hash) noexcept;

/// `words` holds tag, id, address, reserved, requested and per_bank; thread and time are filled in.
ttmem_handle allocate(RecordCopy& words) noexcept;
/// The same of something that is freed by its handle only, and is not entered in the index.
ttmem_handle allocate_by_handle(RecordCopy& words) noexcept;

/// Parts of a buffer that is allocated by core, in the order in which they are made: further ones, the last of the chain
/// first, each named by the one that is made next; then the first part, as any allocation.
/// A further part: its place in the slab + 1, or 0 where the table is full. It is charged, but not counted.
uint32_t begin_further(RecordCopy& words) noexcept;
/// Ends the chain that begins at `next`, made before `first_made_by`.
void end_further(Key key, uint64_t first_made_by, uint32_t next) noexcept;
/// Whether the life that a handle names has not ended.
bool is_alive(ttmem_handle handle) noexcept;
/// The site of a life that has not ended; false: it has.
bool site_of_life(ttmem_handle handle, uint32_t& site) noexcept;
/// More became known of who asked for a buffer: of all its parts, where they still have the site `from`.
void change_site(ttmem_handle handle, uint32_t from, uint32_t to) noexcept;
/// A buffer whose parts do not all fit in the table: only the counters take it.
ttmem_handle allocate_unlisted(RecordCopy& words) noexcept;

/// Who is asked for the site of buffers that are reported without one; null: none.
extern std::atomic<ttmem_site_source> site_source;

void free_by_handle(ttmem_handle handle) noexcept;
void free_by_id(Key key, uint8_t pool, uint64_t bytes) noexcept;

/// A program's status, its bytes (0: as they were) or where they lie changed; its entry is made when it is not there yet.
void change_status(uint16_t target, uint64_t program, uint8_t status, uint64_t bytes, uint32_t address) noexcept;
void count_launch(uint16_t target, uint64_t program) noexcept;
/// A program's operation became known; kept with its entry, if it has one.
void name_program(uint16_t target, uint64_t program, uint32_t site) noexcept;
void note_out_of_memory(uint16_t target, uint8_t pool, uint64_t requested, uint64_t free, uint64_t largest) noexcept;

void note_clash(const ttmem_cb_clash& clash) noexcept;

/// A kernel ring after a launch. Every number in it is in range.
void note_ring(const RingMovedRecord& ring) noexcept;

/// What can be read of a ring at any time. Anyone who calls this must say that it changed, soon.
[[gnu::always_inline]] inline void keep_ring(uint64_t live, uint64_t retired, uint64_t total, uint64_t entries,
                                             RingMove move) noexcept {
    Target& target = the_writer.targets[move.target()];
    RingCounters& ring = target.rings[move.core_type()];
    ring.live.store(live, std::memory_order_relaxed);
    ring.retired.store(retired, std::memory_order_relaxed);
    ring.entries.store(entries, std::memory_order_relaxed);
    if (__builtin_expect(total != 0, 1)) ring.total.store(total, std::memory_order_relaxed);
    if (__builtin_expect(!move.is_aside(), 1)) ring.launches.fetch_add(1, std::memory_order_relaxed);
    const uint64_t stall = move.stall();
    if (__builtin_expect(stall != TTMEM_STALL_NONE, 1)) target.stalls[stall].fetch_add(1, std::memory_order_relaxed);
}
/// Says by itself that a ring changed, if there is one.
void report_ring_change(const LaunchedRing& ring) noexcept;

/// count_launch() for a host that launches it again and again: hands back where the program is listed, to be reported the next
/// time. That is looked at first, and believed only if the program is there; 0: unknown. The `ring` of its target, if
/// there is one, is reported in the same record.
uint32_t count_launch(uint16_t target, uint64_t program, uint32_t listed_at, const LaunchedRing& ring = {}) noexcept;

/// The answer of a cache. Every number in it is in range.
void note_cache(const ttmem_cache_answer& answer) noexcept;
/// Nothing is held in rings and caches of a closed target.
void end_activity(Target& target) noexcept;

/// Ends whatever is alive on a target, with one record.
void close_target(uint16_t target) noexcept;
void end_everything() noexcept;

uint16_t open_device(const ttmem_device& device) noexcept;
uint16_t open_mesh(uint64_t mesh_id, uint16_t rows, uint16_t columns, const uint16_t* chips, uint32_t count) noexcept;

uint32_t intern(const char* text, uint32_t length) noexcept;
/// For a journal that begins with an empty arena, before any process may write to it.
void forget_texts() noexcept;
uint32_t add_item(Item item, const void* head, uint32_t head_bytes, const void* body, uint32_t body_bytes) noexcept;
void set_label(const char* text) noexcept;

uint32_t begin_phase(uint32_t name) noexcept;
void end_phase(uint32_t phase) noexcept;
/// The name of the innermost phase that the calling thread has open, else of the newest that any process has; 0: none.
uint32_t open_phase_name() noexcept;
/// The host's own peaks of a target start over at what is used now; what others read stays as it is.
void reset_own_peaks(uint16_t target) noexcept;

inline void raise_to(AtomicU64& peak, uint64_t used) noexcept {
    uint64_t seen = peak.load(std::memory_order_relaxed);
    while (static_cast<int64_t>(used) > static_cast<int64_t>(seen) &&
           !peak.compare_exchange_weak(seen, used, std::memory_order_relaxed)) {
    }
}

/// A lock for the rare paths (names, phases): tried for at most a millisecond, then given up, so nothing ever hangs.
class RareLock {
public:
    explicit RareLock(std::atomic<uint32_t>& word) noexcept;
    ~RareLock() noexcept {
        if (is_held_) word_.store(0, std::memory_order_release);
    }
    RareLock(const RareLock&) = delete;
    RareLock& operator=(const RareLock&) = delete;
    bool is_held() const noexcept { return is_held_; }

private:
    std::atomic<uint32_t>& word_;
    bool is_held_ = false;
};

}  // namespace ttmem
