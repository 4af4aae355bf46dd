#include "traces/traces.hpp"

#include <sys/mman.h>
#include <time.h>

#include <algorithm>

#include "traces/places.hpp"
#include "traces/ranges.hpp"
#include "writer/incidents.hpp"
#include "writer/operations.hpp"
#include "writer/own_stack.hpp"

namespace ttmem {
namespace {

constexpr uint32_t kTracesMost = 1024, kOverlapsMost = 4096, kPlacesMost = 64, kProgramsMost = 4096;
static_assert(kPlacesMost < kRangesMost, "ranges of one place have neighbours");
constexpr uint32_t kEntriesAtOnce = 4096;  // looked at before others have their turn
constexpr uint64_t kUnreported = 0, kBeingReported = ~0ull;

#define TTMEM_TRACES __attribute__((noinline, cold))

struct KnownTrace {
    uint64_t id;
    uint64_t began, ended;  // sequences; while it is being captured `ended` is 0
    uint64_t cb_end;        // the highest of its programs
    uint32_t site;          // who captured
    uint32_t place_count, program_count;
    uint16_t target;
    bool is_used, has_lost_programs;  // more than there is room for: all circular buffers count as theirs
    TracePlace places[kPlacesMost];
    uint64_t programs[kProgramsMost];  // sorted
    RangeSet<> ranges;

    bool is_captured() const noexcept { return is_used && ended != 0; }
    bool has_program(uint64_t program) const noexcept {
        return has_lost_programs || std::binary_search(programs, programs + program_count, program);
    }
};

/// A living buffer that lies where a trace writes.
struct TraceOverlap {
    ttmem_handle handle;
    uint64_t number;      // of its incident
    uint64_t by_core_id;  // of a buffer that is allocated by core
    uint32_t slot;        // of the trace
    uint16_t by_core_on;  // its target, else 0
    bool is_widened, is_circular;

    // Parts of one buffer, at different addresses, are one incident.
    bool is_part_of(const TraceOverlap& other) const noexcept {
        return slot == other.slot && by_core_on != 0 && by_core_on == other.by_core_on &&
               by_core_id == other.by_core_id;
    }
};

// Made as they are needed, and kept for the next ones.
KnownTrace* trace_slots[kTracesMost];
uint32_t trace_slots_used = 0;
TraceOverlap known_overlaps[kOverlapsMost];
uint32_t book_generation = 0;  // of the journal that all this belongs to
std::atomic<uint32_t> trace_holder{0};

void forget_all(uint32_t generation) noexcept {
    for (uint32_t slot = 0; slot < trace_slots_used; ++slot)
        if (trace_slots[slot] != nullptr) trace_slots[slot]->is_used = false;
    trace_count().store(0, std::memory_order_relaxed);
    overlap_count().store(0, std::memory_order_release);
    book_generation = generation;
}

// Held for some microseconds at most. A holder of another journal is the parent's, copied by a fork: what it was about to
// change is forgotten with all the rest.
class TraceLock {
public:
    TraceLock() noexcept {
        constexpr int kSpins = 1000, kNaps = 20;
        const SavedErrno kept;
        const uint32_t own = the_writer.generation;
        for (int tries = 0; tries < kSpins + kNaps && !is_held_; ++tries) {
            uint32_t holder = trace_holder.load(std::memory_order_relaxed);
            is_held_ = holder != own && trace_holder.compare_exchange_strong(holder, own, std::memory_order_acquire);
            const timespec nap{0, 10'000};
            if (!is_held_ && tries >= kSpins) nanosleep(&nap, nullptr);
        }
        if (is_held_ && book_generation != own) forget_all(own);
    }
    ~TraceLock() noexcept {
        if (is_held_) trace_holder.store(0, std::memory_order_release);
    }
    TraceLock(const TraceLock&) = delete;
    TraceLock& operator=(const TraceLock&) = delete;
    bool is_held() const noexcept { return is_held_; }

private:
    bool is_held_ = false;
};

// ---- under the lock

KnownTrace* find_known(uint16_t target, uint64_t trace, uint32_t& slot) noexcept {
    for (slot = 0; slot < trace_slots_used; ++slot)
        if (trace_slots[slot]->is_used && trace_slots[slot]->id == trace && trace_slots[slot]->target == target)
            return trace_slots[slot];
    return nullptr;
}

KnownTrace* free_slot() noexcept {
    for (uint32_t slot = 0; slot < trace_slots_used; ++slot)
        if (!trace_slots[slot]->is_used) return trace_slots[slot];
    if (trace_slots_used == kTracesMost) return nullptr;
    const SavedErrno kept;
    void* room =
        mmap(nullptr, sizeof(KnownTrace), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return nullptr;
    return trace_slots[trace_slots_used++] = static_cast<KnownTrace*>(room);
}

void forget_overlap(uint32_t at) noexcept {
    const uint32_t last = overlap_count().load(std::memory_order_relaxed) - 1;
    known_overlaps[at] = known_overlaps[last];
    overlap_count().store(last, std::memory_order_release);
}

template <class Matches>
void forget_overlaps(Matches&& matches) noexcept {
    for (uint32_t at = overlap_count().load(std::memory_order_relaxed); at-- != 0;)
        if (matches(known_overlaps[at])) forget_overlap(at);
}

void drop_slot(uint32_t slot) noexcept {
    trace_slots[slot]->is_used = false;
    trace_count().fetch_sub(1, std::memory_order_relaxed);
    forget_overlaps([slot](const TraceOverlap& overlap) noexcept { return overlap.slot == slot; });
}

// Where there is no room for another place its ranges count for all cores and chips of the trace.
uint32_t place_in(KnownTrace& trace, const TracePlace& place, bool& is_widened) noexcept {
    for (uint32_t i = 0; i < trace.place_count; ++i)
        if (trace.places[i] == place) return i;
    const TracePlace everywhere{trace.target, 0, place.memory, place.is_circular};
    if (trace.place_count + 2 * kMemories >= kPlacesMost && !(place == everywhere)) {
        is_widened = true;
        return place_in(trace, everywhere, is_widened);
    }
    trace.places[trace.place_count] = place;
    return trace.place_count++;
}

void keep_range(KnownTrace& trace, const Extent& extent) noexcept {
    bool is_widened = extent.is_bound;
    const uint32_t place = place_in(trace, extent.place, is_widened);
    trace.ranges.add({extent.begin, extent.end, place, is_widened});
    if (extent.place.is_circular) trace.cb_end = std::max(trace.cb_end, extent.end);
}

// A range that is exact is preferred: its incident is certain.
bool overlaps_with(const KnownTrace& trace, const Extent& extent, TraceOverlap& found) noexcept {
    bool is_found = false;
    for (uint32_t i = 0; i < trace.place_count; ++i) {
        if (!may_meet(the_writer, trace.places[i], extent.place)) continue;
        const AddressRange* range = trace.ranges.find(i, extent.begin, extent.end);
        if (range == nullptr) continue;
        const bool is_widened = range->is_widened || extent.is_bound;
        if (is_found && (is_widened || !found.is_widened)) continue;
        found.is_widened = is_widened;
        found.is_circular = trace.places[i].is_circular;
        is_found = true;
    }
    return is_found;
}

void remember_overlap(const TraceOverlap& overlap) noexcept {
    const uint32_t count = overlap_count().load(std::memory_order_relaxed);
    const auto is_reported = [&overlap](const TraceOverlap& known) noexcept { return overlap.is_part_of(known); };
    if (overlap.by_core_on != 0 && std::any_of(known_overlaps, known_overlaps + count, is_reported)) return;
    if (count == kOverlapsMost) return count_unjudged();
    known_overlaps[count] = overlap;
    overlap_count().store(count + 1, std::memory_order_release);
}

bool read_entry(uint32_t entry, RecordCopy& words) noexcept {
    const Record& record = the_writer.slab[entry];
    const uint64_t commit = record.commit.load(std::memory_order_acquire);
    if (!is_committed(commit)) return false;
    copy_words(record, words);
    words.commit = commit;
    return record.commit.load(std::memory_order_acquire) == commit;
}

bool read_life(ttmem_handle handle, RecordCopy& words) noexcept {
    const auto [made_by, entry] = Handle::unpack(handle);
    return entry < the_writer.table && read_entry(entry, words) && words.sequence() == made_by;
}

void keep_circular_buffers(KnownTrace& trace, uint32_t from, uint32_t until) noexcept {
    for (uint32_t entry = from; entry < until; ++entry) {
        RecordCopy words;
        Extent extent;
        if (!is_circular_buffer(kind_of(the_writer.slab[entry]))) continue;
        if (read_entry(entry, words) && trace.has_program(words.requested_bytes()) &&
            extent_of(the_writer, words, extent) && is_within(the_writer, extent.place.target, trace.target))
            keep_range(trace, extent);
    }
}

// ---- incidents

struct Replayed {
    uint64_t trace, cb_end;
    uint32_t site;
};

void report_incident_of(const Replayed& replayed, TraceOverlap& overlap, bool has_copy) noexcept {
    RecordCopy words;
    Extent extent;
    if (!read_life(overlap.handle, words) || !extent_of(the_writer, words, extent)) return;
    const bool is_program = words.kind() == TTMEM_PROGRAM_BINARY;
    ttmem_incident incident{};
    incident.struct_bytes = sizeof incident;
    incident.kind = TTMEM_INCIDENT_UNSAFE_REPLAY;
    incident.target = words.target();
    incident.pool = words.pool();
    const uint64_t asked = is_program ? 0 : words.requested_bytes();
    incident.requested_bytes = asked != 0 ? asked : words.reserved_bytes();
    incident.per_bank_bytes = extent.is_bound ? TTMEM_UNKNOWN_FIGURE : extent.end - extent.begin;
    incident.free_bytes = incident.largest_free_bytes = incident.bank_free_bytes = incident.bank_largest_free_bytes =
        TTMEM_UNKNOWN_FIGURE;
    incident.core_set = extent.place.core_set;
    incident.program = is_program ? words.id : 0;
    incident.cb_end_address = overlap.is_circular ? replayed.cb_end : 0;
    incident.trace = replayed.trace;
    incident.address = extent.begin;
    incident.site = is_program ? static_cast<uint32_t>(words.requested_bytes()) : words.site();
    incident.other_site = replayed.site;
    if (overlap.is_widened) incident.options |= TTMEM_MAY_OVERLAP;
    if (words.is_by_core()) incident.options |= TTMEM_PER_CORE;
    overlap.number = note_unsafe_replay(incident, has_copy);
}

// Reported before: they are repetitions. How many are new.
uint32_t repeat_reported(uint16_t target, uint64_t trace, Replayed& replayed) noexcept {
    const TraceLock lock;
    uint32_t slot = 0, fresh = 0;
    const KnownTrace* known = lock.is_held() ? find_known(target, trace, slot) : nullptr;
    if (known == nullptr) return 0;
    replayed = {known->id, known->cb_end, known->site};
    for (uint32_t at = overlap_count().load(std::memory_order_relaxed); at-- != 0;) {
        const TraceOverlap& overlap = known_overlaps[at];
        if (overlap.slot != slot) continue;
        if (!is_alive(overlap.handle))
            forget_overlap(at);
        else if (overlap.number == kUnreported)
            ++fresh;
        else if (overlap.number != kBeingReported)
            repeat_incident(overlap.number);
    }
    return fresh;
}

// The next one that no process has reported, from `at` on.
bool take_unreported(uint16_t target, uint64_t trace, uint32_t& at, TraceOverlap& taken) noexcept {
    const TraceLock lock;
    uint32_t slot = 0;
    if (!lock.is_held() || find_known(target, trace, slot) == nullptr) return false;
    for (; at < overlap_count().load(std::memory_order_relaxed); ++at) {
        if (known_overlaps[at].slot != slot || known_overlaps[at].number != kUnreported) continue;
        taken = known_overlaps[at];
        known_overlaps[at++].number = kBeingReported;
        return true;
    }
    return false;
}

// What was withdrawn meanwhile stays withdrawn.
void keep_number(const TraceOverlap& told) noexcept {
    const TraceLock lock;
    if (!lock.is_held()) return;
    for (uint32_t at = 0; at < overlap_count().load(std::memory_order_relaxed); ++at)
        if (known_overlaps[at].handle == told.handle && known_overlaps[at].slot == told.slot)
            known_overlaps[at].number = told.number;
}

// Without the lock: an incident may take a millisecond. Copies of what was alive are made for those that are kept.
TTMEM_TRACES void report_overlaps(uint16_t target, uint64_t trace) noexcept {
    Replayed replayed{};
    const uint32_t fresh = repeat_reported(target, trace, replayed);
    TraceOverlap overlap{};
    uint32_t at = 0;
    for (uint32_t told = 0; told < fresh && take_unreported(target, trace, at, overlap); ++told) {
        const bool is_kept = told < kIncidentsFirst || told + (kIncidentSlots - kIncidentsFirst) >= fresh;
        report_incident_of(replayed, overlap, is_kept);
        keep_number(overlap);
    }
}

uint64_t publish_trace(Type type, uint16_t target, uint64_t trace, uint64_t bytes) noexcept {
    return publish_now(TraceRecord{type, target, trace, bytes}.pack());
}

}  // namespace

void count_unjudged() noexcept { the_writer.header->unjudged.fetch_add(1, std::memory_order_relaxed); }

TTMEM_TRACES ttmem_handle compare_with_traces(ttmem_handle handle) noexcept {
    RecordCopy words;
    Extent extent;
    if (!read_life(handle, words) || is_circular_buffer(words.kind()) || !extent_of(the_writer, words, extent))
        return handle;
    const uint16_t by_core_on = words.is_by_core() ? words.target() : uint16_t{0};
    const TraceLock lock;
    if (!lock.is_held()) return count_unjudged(), handle;
    for (uint32_t slot = 0; slot < trace_slots_used; ++slot) {
        const KnownTrace& trace = *trace_slots[slot];
        TraceOverlap overlap{handle, kUnreported, words.id, slot, by_core_on, false, false};
        if (trace.is_captured() && trace.ended < words.sequence() && overlaps_with(trace, extent, overlap))
            remember_overlap(overlap);
    }
    return handle;
}

TTMEM_TRACES void note_end_in_traces(RecordCopy words) noexcept {
    Extent extent;
    if (!extent_of(the_writer, words, extent)) return;
    const TraceLock lock;
    if (!lock.is_held()) return count_unjudged();
    if (overlap_count().load(std::memory_order_relaxed) != 0)
        forget_overlaps([&words](const TraceOverlap& overlap) noexcept {
            return Handle::unpack(overlap.handle).made_by == words.sequence();
        });
    const bool is_circular = is_circular_buffer(words.kind());
    if (!is_circular && words.kind() != TTMEM_BUFFER) return;
    for (uint32_t slot = 0; slot < trace_slots_used; ++slot) {
        KnownTrace& trace = *trace_slots[slot];
        if (!trace.is_used || !is_within(the_writer, extent.place.target, trace.target)) continue;
        const bool is_made_inside = trace.began <= words.sequence() && words.sequence() < trace.ended;
        const bool is_its_own = is_circular ? trace.has_program(words.requested_bytes()) : true;
        if (trace.is_captured() ? is_made_inside && !is_circular : is_its_own) keep_range(trace, extent);
    }
}

void begin_trace(uint16_t target, uint64_t id, uint32_t site) noexcept {
    const TraceLock lock;
    if (!lock.is_held()) return count_unjudged();
    uint32_t slot = 0;
    if (find_known(target, id, slot) != nullptr) drop_slot(slot);
    KnownTrace* trace = free_slot();
    if (trace == nullptr) return count_unjudged();
    trace->id = id;
    trace->target = target;
    trace->site = site;
    trace->began = the_writer.header->next_sequence.load(std::memory_order_acquire);
    trace->ended = trace->cb_end = 0;
    trace->place_count = trace->program_count = 0;
    trace->has_lost_programs = false;
    trace->ranges.clear();
    trace->is_used = true;
    trace_count().fetch_add(1, std::memory_order_relaxed);
}

void add_trace_program(uint16_t target, uint64_t id, uint64_t program) noexcept {
    if (program == 0) return;
    const TraceLock lock;
    if (!lock.is_held()) return count_unjudged();
    uint32_t slot = 0;
    KnownTrace* trace = find_known(target, id, slot);
    if (trace == nullptr || trace->is_captured() || trace->has_program(program)) return;
    uint64_t* end = trace->programs + trace->program_count;
    uint64_t* at = std::lower_bound(trace->programs, end, program);
    trace->has_lost_programs = trace->program_count == kProgramsMost;
    if (trace->has_lost_programs) return;
    std::copy_backward(at, end, end + 1);
    *at = program;
    ++trace->program_count;
}

void end_trace(uint16_t target, uint64_t id, uint64_t bytes) noexcept {
    const auto high = static_cast<uint32_t>(
        std::min<uint64_t>(the_writer.header->slab_high.load(std::memory_order_acquire), the_writer.table));
    uint32_t slot = 0;
    for (uint32_t from = 0; from < high; from += kEntriesAtOnce) {
        const TraceLock lock;
        KnownTrace* trace = lock.is_held() ? find_known(target, id, slot) : nullptr;
        if (!lock.is_held()) count_unjudged();
        if (trace != nullptr) keep_circular_buffers(*trace, from, std::min(from + kEntriesAtOnce, high));
    }
    const uint64_t sequence = publish_trace(Type::trace_captured, target, id, bytes);
    const TraceLock lock;
    if (!lock.is_held()) return count_unjudged();
    KnownTrace* trace = find_known(target, id, slot);
    if (trace != nullptr) trace->ended = sequence;
}

void replay_trace(uint16_t target, uint64_t trace) noexcept {
    publish_trace(Type::trace_replayed, target, trace, 0);
    if (__builtin_expect(overlap_count().load(std::memory_order_acquire) != 0, 0)) report_overlaps(target, trace);
}

void release_trace(uint16_t target, uint64_t id) noexcept {
    publish_trace(Type::trace_released, target, id, 0);
    const TraceLock lock;
    uint32_t slot = 0;
    if (!lock.is_held()) return count_unjudged();
    if (find_known(target, id, slot) != nullptr) drop_slot(slot);
}

void drop_traces_of(uint16_t target) noexcept {
    const TraceLock lock;
    if (!lock.is_held()) return count_unjudged();
    for (uint32_t slot = 0; slot < trace_slots_used; ++slot)
        if (trace_slots[slot]->is_used && trace_slots[slot]->target == target) drop_slot(slot);
}

}  // namespace ttmem
