#include "writer/operations.hpp"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "traces/traces.hpp"
#include "writer/own_stack.hpp"
#include "writer/steps.hpp"

namespace ttmem {
namespace {

// Called from other translation units, too: in one piece there as in the C interface.
#define TTMEM_WHOLE __attribute__((flatten, hot))

// Not `cold` too: that optimizes for size, and a full table would pay for it.
#define TTMEM_RARE __attribute__((noinline))

TTMEM_RARE void raise_peak(PoolCounters& pool, uint64_t used, uint64_t time) noexcept {
    raise_to(pool.window_peak, used);  // first: see reset_own_peaks
    raise_to(pool.own_peak, used);
    uint64_t seen = pool.peak.load(std::memory_order_relaxed);
    while (static_cast<int64_t>(used) > static_cast<int64_t>(seen)) {
        if (!pool.peak.compare_exchange_weak(seen, used, std::memory_order_relaxed)) continue;
        pool.peak_time.store(time, std::memory_order_relaxed);
        return;
    }
}

// Signed comparisons: a free may be counted before the allocation it ends, and `used` is then below zero for an instant.
void charge(const Writer& writer, const RecordCopy& words) noexcept {
    if (is_bookkeeping(words)) return;
    Target& target = writer.targets[words.target()];
    PoolCounters& pool = target.pools[words.pool()];
    const uint64_t bytes = words.reserved_bytes();
    const uint64_t used = pool.used.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (static_cast<int64_t>(used) > static_cast<int64_t>(pool.window_peak.load(std::memory_order_relaxed)))
        raise_peak(pool, used, words.time);
    if (__builtin_expect(words.is_further(), 0)) return;
    pool.allocs.fetch_add(1, std::memory_order_relaxed);
    if (words.kind() == TTMEM_BUFFER) return;
    KindCounters& kind = target.kinds[words.kind()];
    kind.used.fetch_add(bytes, std::memory_order_relaxed);
    kind.count.fetch_add(1, std::memory_order_relaxed);
}

void discharge(const Writer& writer, const RecordCopy& words) noexcept {
    if (is_bookkeeping(words)) return;
    Target& target = writer.targets[words.target()];
    PoolCounters& pool = target.pools[words.pool()];
    pool.used.fetch_sub(words.reserved_bytes(), std::memory_order_relaxed);
    pool.totals[kFreedBytes].fetch_add(words.reserved_bytes(), std::memory_order_relaxed);
    if (__builtin_expect(words.is_further(), 0)) return;
    pool.frees.fetch_add(1, std::memory_order_relaxed);
    if (words.kind() == TTMEM_BUFFER) return;
    KindCounters& kind = target.kinds[words.kind()];
    kind.used.fetch_sub(words.reserved_bytes(), std::memory_order_relaxed);
    kind.count.fetch_sub(1, std::memory_order_relaxed);
}

void publish_freed(const Writer& writer, uint64_t sequence, uint64_t time, uint16_t thread, RecordCopy& words) noexcept;

// One test for what is not allocated by core: of other kinds no address reaches this bit.
[[gnu::always_inline]] inline bool may_have_parts(const RecordCopy& words) noexcept {
    return __builtin_expect(words.may_be_by_core(), 0);
}

TTMEM_RARE void end_parts_of(const RecordCopy& first, uint64_t address) noexcept {
    RecordCopy by_core = first;
    by_core.address = address;
    if (by_core.is_by_core() && !by_core.is_further())
        end_further(key_of(first), first.sequence(), by_core.next_part());
}

// A live id was allocated again: the runtime reused it and the free was lost, or a kernel was loaded again.
void count_replaced(const Writer& writer, const RecordCopy& old, uint64_t new_bytes) noexcept {
    if (old.kind() == TTMEM_PROGRAM_BINARY) return;  // its size became known
    if (!is_kernel(old.kind()))
        writer.header->replaced.fetch_add(1, std::memory_order_relaxed);
    else if (new_bytes < old.reserved_bytes())
        writer.header->shrunk_kernels.fetch_add(1, std::memory_order_relaxed);
}

// A new life found others of its key. Older ones give way: the first is named in the new life's own record, so that
// readers see both changes at once; any further one (threads entered the key together) gets a record of its own.
// A newer one means that this life began and ended before: it gives way itself, and false is returned.
TTMEM_RARE bool settle(const Writer& writer, Found other, Key key, uint64_t hash, uint32_t entry, uint64_t sequence,
                       const RecordCopy& words, uint64_t& replaced) noexcept {
    for (; other.entry != kNoEntry; other = find_other(writer, key, hash, entry)) {
        TTMEM_TEST_YIELD(twin_found);
        RecordCopy old;
        if (other.made_by > sequence) {
            if (end_life(writer, entry, sequence, old)) {
                erase(writer, hash, entry);
                give_entry(writer, entry);
                return false;
            }
            return true;  // a process has ended it in our place, and has taken its charge off
        }
        if (!end_life(writer, other.entry, other.made_by, old)) continue;
        release_entry(writer, other.entry, old, &other, 0);
        if (may_have_parts(old)) end_parts_of(old, old.address);
        count_replaced(writer, old, words.reserved_bytes());
        if (replaced == 0)
            replaced = other.made_by;
        else
            publish_freed(writer, take_sequence(writer), words.time, thread_number(), old);
    }
    return true;
}

// A call that took its sequence later was faster and the key is alive by it already: ours began and ended before.
TTMEM_RARE ttmem_handle allocate_overtaken(const Writer& writer, uint64_t sequence, uint32_t entry, uint64_t replaced,
                                           RecordCopy words) noexcept {
    writer.header->replaced.fetch_add(1, std::memory_order_relaxed);
    if (replaced != 0) words.name_replaced(replaced);
    words.add_flags(kStillborn);
    publish(writer, sequence, words);
    return Handle{sequence, entry}.pack();
}

// No entry is free, but the one that this allocation replaces can be had.
TTMEM_RARE uint32_t take_entry_of(const Writer& writer, Found found, uint64_t new_bytes, uint64_t& replaced) noexcept {
    RecordCopy old;
    if (!end_life(writer, found.entry, found.made_by, old)) return kNoEntry;
    release_entry(writer, found.entry, old, &found, 0);
    if (may_have_parts(old)) end_parts_of(old, old.address);
    count_replaced(writer, old, new_bytes);
    replaced = found.made_by;
    return take_entry(writer);
}

// The table is full: the counters still take it, and the handle carries the charge home. Part of the hot path, for a
// host whose table is full should not pay more for it.
ttmem_handle allocate_untabled(const Writer& writer, uint64_t sequence, RecordCopy& words, uint64_t replaced) noexcept {
    if (replaced != 0) words.name_replaced(replaced);
    words.add_flags(kUntabled);
    if (have_traces()) count_unjudged();
    writer.header->untabled_allocs.fetch_add(1, std::memory_order_relaxed);
    charge(writer, words);
    publish(writer, sequence, words);
    return UntabledHandle{words.target(), words.pool(), words.kind(), words.reserved_bytes()}.pack();
}

// Takes bytes off a counter whose allocation was never listed; a caller's wrong figure must not push it below zero.
void discharge_at_most(AtomicU64& used, uint64_t bytes) noexcept {
    uint64_t seen = used.load(std::memory_order_relaxed);
    while (!used.compare_exchange_weak(seen, seen > bytes ? seen - bytes : 0, std::memory_order_relaxed)) {
    }
}

TTMEM_RARE void free_untabled(const Writer& writer, uint64_t sequence, uint64_t time, Key key, uint8_t pool,
                              uint64_t bytes, bool is_sized) noexcept {
    RecordCopy words = FreedRecord{key.kind, pool, kUntabled, key.target, key.id, bytes}.pack();
    words.time = time;
    words.set_thread(thread_number());
    Header& header = *writer.header;
    header.untabled_frees.fetch_add(1, std::memory_order_relaxed);
    if (is_sized) {
        Target& target = writer.targets[key.target];
        discharge_at_most(target.pools[pool].used, bytes);
        target.pools[pool].frees.fetch_add(1, std::memory_order_relaxed);
        target.pools[pool].totals[kFreedBytes].fetch_add(bytes, std::memory_order_relaxed);
        if (key.kind != TTMEM_BUFFER) {
            discharge_at_most(target.kinds[key.kind].used, bytes);
            discharge_at_most(target.kinds[key.kind].count, 1);
        }
    } else {
        header.unsized_frees.fetch_add(1, std::memory_order_relaxed);
    }
    publish(writer, sequence, words);
}

void publish_freed(const Writer& writer, uint64_t sequence, uint64_t time, uint16_t thread,
                   RecordCopy& words) noexcept {
    FreedRecord::end(words);
    words.time = time;
    words.set_thread(thread);
    publish(writer, sequence, words);
}

TTMEM_RARE void free_unmatched(const Writer& writer, uint64_t sequence, uint64_t time, Key key, uint8_t pool,
                               bool is_excused) noexcept {
    const auto flags = static_cast<uint8_t>(kUnmatched | (is_excused ? kExcused : 0));
    RecordCopy words = FreedRecord{key.kind, pool, flags, key.target, key.id}.pack();
    words.time = time;
    words.set_thread(thread_number());
    if (!is_excused) writer.header->unmatched_frees.fetch_add(1, std::memory_order_relaxed);
    publish(writer, sequence, words);
}

// A handle is the host's to keep, and may come back as anything: its parts are places only once they are in range.
TTMEM_RARE void free_untabled_handle(const Writer& writer, ttmem_handle handle) noexcept {
    const auto [target, pool, kind, bytes] = UntabledHandle::unpack(handle);
    const Key key{0, target, kind};
    const bool was_given = writer.header->untabled_allocs.load(std::memory_order_relaxed) != 0;
    const uint64_t sequence = take_sequence(writer);
    const uint64_t time = raw_now(writer.clock);
    if (was_given && pool < kPools && key.kind < kKinds)
        return free_untabled(writer, sequence, time, key, pool, bytes, true);
    free_unmatched(writer, sequence, time, {handle, 0, 0}, TTMEM_POOL_UNKNOWN, take_excuse(key.target));
}

}  // namespace

namespace {

void release_unlisted(const Writer& writer, uint32_t entry, const RecordCopy& words) noexcept {
    if (have_traces()) note_end_in_traces(words);
    give_entry(writer, entry);
    TTMEM_TEST_YIELD(entry_given);
    discharge(writer, words);
}

// Apart: what is freed by its handle again and again is in no index.
TTMEM_RARE void erase_indexed(const Writer& writer, uint32_t entry, Key key) noexcept {
    erase(writer, hash_of(key), entry);
}

}  // namespace

void release_entry(const Writer& writer, uint32_t entry, const RecordCopy& words, const Found* found,
                   uint64_t hash) noexcept {
    if (words.flags() & kIndexed) found != nullptr ? erase(writer, *found) : erase(writer, hash, entry);
    release_unlisted(writer, entry, words);
}

void publish(const Writer& writer, uint64_t sequence, const RecordCopy& words) noexcept {
    Record& slot = writer.ring[sequence & writer.ring_mask];
    uint64_t seen = slot.commit.load(std::memory_order_relaxed);
    TTMEM_TEST_YIELD(slot_seen);
    if (is_busy(seen) || seen >= committed(sequence) ||
        !slot.commit.compare_exchange_strong(seen, busy(sequence), std::memory_order_acq_rel,
                                             std::memory_order_relaxed)) {
        writer.header->skipped.fetch_add(1, std::memory_order_release);
        return;
    }
    TTMEM_TEST_YIELD(slot_claimed);
    slot.time.store(words.time, std::memory_order_release);
    slot.tag.store(words.tag, std::memory_order_release);
    slot.id.store(words.id, std::memory_order_release);
    slot.address.store(words.address, std::memory_order_release);
    TTMEM_TEST_YIELD(slot_half_written);
    slot.reserved.store(words.reserved, std::memory_order_release);
    slot.requested.store(words.requested, std::memory_order_release);
    slot.per_bank.store(words.per_bank, std::memory_order_release);
    slot.commit.store(committed(sequence), std::memory_order_release);
}

uint64_t publish_now(RecordCopy words) noexcept {
    const Writer& writer = the_writer;
    const uint64_t sequence = take_sequence(writer);
    words.time = raw_now(writer.clock);
    words.set_thread(thread_number());
    publish(writer, sequence, words);
    return sequence;
}

namespace {

template <bool is_indexed, class Stamp = AnyStamp>
ttmem_handle begin_life(RecordCopy& words) noexcept {
    const Writer& writer = the_writer;
    const Key key = key_of(words);
    const uint64_t hash = is_indexed ? hash_of(key) : 0;
    if (is_indexed) fetch_window(writer, hash);
    const uint64_t sequence = take_sequence(writer);
    words.time = Stamp::now();
    words.set_thread(Stamp::thread());
    TTMEM_TEST_YIELD(sequence_taken);
    if (words.kind() == TTMEM_PROGRAM_BINARY) words.per_bank = ProgramRecord::made_by(words.per_bank, sequence);
    Found found;
    if (is_indexed) {
        found = find(writer, key, hash);
        words.add_flags(kIndexed);
        if (__builtin_expect(found.entry != kNoEntry && found.made_by > sequence, 0))
            return allocate_overtaken(writer, sequence, found.entry, 0, words);
    }
    uint64_t replaced = 0;  // the life that ends with this allocation
    uint32_t entry = take_entry(writer);
    if (__builtin_expect(entry == kNoEntry, 0)) {
        if (found.entry != kNoEntry) entry = take_entry_of(writer, found, words.reserved_bytes(), replaced);
        if (entry == kNoEntry) return allocate_untabled(writer, sequence, words, replaced);
    }
    // The new life begins before the one it replaces ends: a process killed in between has one of them, never none.
    commit_entry(writer, entry, sequence, words);
    TTMEM_TEST_YIELD(entry_committed);
    if (is_indexed && __builtin_expect(!insert(writer, hash, entry, found), 0)) {
        RecordCopy unlisted;
        if (end_life(writer, entry, sequence, unlisted)) give_entry(writer, entry);
        return allocate_untabled(writer, sequence, words, replaced);
    }
    TTMEM_TEST_YIELD(entry_indexed);
    if (is_indexed && __builtin_expect(may_have_twin(writer, hash, found), 0)) {
        const Found other = find_other(writer, key, hash, entry);
        if (other.entry != kNoEntry && !settle(writer, other, key, hash, entry, sequence, words, replaced))
            return allocate_overtaken(writer, sequence, entry, replaced, words);
    }
    if (__builtin_expect(replaced != 0, 0)) words.name_replaced(replaced);
    charge(writer, words);
    TTMEM_TEST_YIELD(charged);
    publish(writer, sequence, words);
    const ttmem_handle handle = Handle{sequence, entry}.pack();
    return have_traces() ? compare_with_traces(handle) : handle;
}

TTMEM_RARE __attribute__((flatten)) ttmem_handle begin_by_handle_slowly(RecordCopy& words) noexcept {
    return begin_life<false>(words);
}

TTMEM_RARE void free_unmatched_handle(const Writer& writer, uint64_t sequence, uint64_t time,
                                      ttmem_handle handle) noexcept {
    const uint64_t made_by = Handle::unpack(handle).made_by;
    const bool is_inherited = made_by < writer.header->identity.first_sequence;
    const bool is_excused = made_by != 0 && (is_inherited || take_excuse_of(made_by));
    free_unmatched(writer, sequence, time, {handle, 0, 0}, TTMEM_POOL_UNKNOWN, is_excused);
}

template <class Stamp>
void end_handle(ttmem_handle handle) noexcept {
    const Writer& writer = the_writer;
    const auto [made_by, entry] = Handle::unpack(handle);
    if (__builtin_expect(entry < writer.table, 1)) __builtin_prefetch(&writer.slab[entry], 1);
    const uint64_t sequence = take_sequence(writer);
    const uint64_t time = Stamp::now();
    TTMEM_TEST_YIELD(sequence_taken);
    RecordCopy words;
    // Nothing was ever made by sequence 0; an entry that was never used would take it for its own.
    if (__builtin_expect(entry >= writer.table || made_by == 0 || !end_life(writer, entry, made_by, words), 0))
        return free_unmatched_handle(writer, sequence, time, handle);
    if (__builtin_expect((words.flags() & kIndexed) != 0, 0)) erase_indexed(writer, entry, key_of(words));
    release_unlisted(writer, entry, words);
    const uint64_t address = words.address;
    const bool has_parts = may_have_parts(words);
    publish_freed(writer, sequence, time, Stamp::thread(), words);
    if (__builtin_expect(has_parts, 0)) end_parts_of(words, address);
}

TTMEM_RARE __attribute__((flatten)) void end_handle_slowly(ttmem_handle handle) noexcept {
    end_handle<AnyStamp>(handle);
}

}  // namespace

ttmem_handle allocate(RecordCopy& words) noexcept { return begin_life<true>(words); }

TTMEM_WHOLE ttmem_handle allocate_by_handle(RecordCopy& words) noexcept {
    if (!has_swift_stamp()) return begin_by_handle_slowly(words);
    return begin_life<false, SwiftStamp>(words);
}

TTMEM_WHOLE void free_by_handle(ttmem_handle handle) noexcept {
    if (handle == 0) return;
    if (handle & kUntabledHandle) return free_untabled_handle(the_writer, handle);
    if (!has_swift_stamp()) return end_handle_slowly(handle);
    end_handle<SwiftStamp>(handle);
}

void free_by_id(Key key, uint8_t pool, uint64_t bytes) noexcept {
    const Writer& writer = the_writer;
    const uint64_t hash = hash_of(key);
    fetch_window(writer, hash);
    const uint64_t time = raw_now(writer.clock);
    // Found before the sequence is taken: a free must be younger than the life it ends, or readers meet it too early.
    const Found found = find(writer, key, hash);
    const uint64_t sequence = take_sequence(writer);
    TTMEM_TEST_YIELD(sequence_taken);
    if (__builtin_expect(found.entry == kNoEntry, 0) &&
        writer.header->untabled_allocs.load(std::memory_order_relaxed) >
            writer.header->untabled_frees.load(std::memory_order_relaxed))
        return free_untabled(writer, sequence, time, key, pool, bytes, bytes != 0 && pool < kPools);
    RecordCopy words;
    if (__builtin_expect(found.entry == kNoEntry || !end_life(writer, found.entry, found.made_by, words), 0))
        return free_unmatched(writer, sequence, time, key, pool < kPools ? pool : uint8_t{TTMEM_POOL_UNKNOWN},
                              take_excuse(key.target));
    release_entry(writer, found.entry, words, &found, hash);
    const uint64_t address = words.address;
    const bool has_parts = may_have_parts(words);
    publish_freed(writer, sequence, time, thread_number(), words);
    if (__builtin_expect(has_parts, 0)) end_parts_of(words, address);
}

uint32_t begin_further(RecordCopy& words) noexcept {
    const Writer& writer = the_writer;
    const uint32_t entry = take_entry(writer);
    if (entry == kNoEntry) return 0;
    const uint64_t sequence = take_sequence(writer);
    words.time = raw_now(writer.clock);
    words.set_thread(thread_number());
    words.add_flags(kFurther);
    commit_entry(writer, entry, sequence, words);
    TTMEM_TEST_YIELD(entry_committed);
    charge(writer, words);
    publish(writer, sequence, words);
    if (have_traces()) compare_with_traces(Handle{sequence, entry}.pack());
    return entry + 1;
}

// Anyone who closes the target meanwhile ends parts by themselves, and an entry may have another life then: one of another
// key, or a later one.
void end_further(Key key, uint64_t first_made_by, uint32_t next) noexcept {
    const Writer& writer = the_writer;
    while (next != 0 && next <= writer.table) {
        const uint32_t entry = next - 1;
        const uint64_t made_by = life_at(writer, key, entry);
        RecordCopy words;
        if (made_by == 0 || made_by >= first_made_by || !end_life(writer, entry, made_by, words)) return;
        next = words.next_part();
        release_unlisted(writer, entry, words);
        publish_freed(writer, take_sequence(writer), raw_now(writer.clock), thread_number(), words);
    }
}

bool is_alive(ttmem_handle handle) noexcept {
    const auto [made_by, entry] = Handle::unpack(handle);
    return (handle & kUntabledHandle) == 0 && entry < the_writer.table &&
           the_writer.slab[entry].commit.load(std::memory_order_acquire) == committed(made_by);
}

namespace {

// An entry may have begun another life when its word is changed: then the word is another life's, which gets it back. Anyone who is
// killed in between leaves a stranger of the same line with this one's operation.
bool change_site_at(const Writer& writer, uint32_t entry, uint64_t made_by, uint32_t from, uint32_t to,
                    RecordCopy& seen) noexcept {
    Record& record = writer.slab[entry];
    copy_words(record, seen);
    if (record.commit.load(std::memory_order_acquire) != committed(made_by) || seen.site() != from) return false;
    uint64_t before = seen.tag;
    seen.set_site(to);
    uint64_t after = seen.tag;
    TTMEM_TEST_YIELD(site_read);
    if (!record.tag.compare_exchange_strong(before, after, std::memory_order_acq_rel)) return false;
    TTMEM_TEST_YIELD(site_changed);
    if (record.commit.load(std::memory_order_acquire) == committed(made_by)) return true;
    record.tag.compare_exchange_strong(after, before, std::memory_order_acq_rel);
    return false;
}

void publish_site(const RecordCopy& life, uint64_t made_by, uint32_t site) noexcept {
    publish_now(SiteChangedRecord{life.kind(), life.pool(), life.target(), life.id, made_by, site}.pack());
}

}  // namespace

bool site_of_life(ttmem_handle handle, uint32_t& site) noexcept {
    const auto [made_by, entry] = Handle::unpack(handle);
    if ((handle & kUntabledHandle) != 0 || entry >= the_writer.table) return false;
    const Record& record = the_writer.slab[entry];
    site = tag_of(record).site;
    return record.commit.load(std::memory_order_acquire) == committed(made_by);
}

void change_site(ttmem_handle handle, uint32_t from, uint32_t to) noexcept {
    const Writer& writer = the_writer;
    const auto [first_made_by, entry] = Handle::unpack(handle);
    RecordCopy life;
    if ((handle & kUntabledHandle) != 0 || entry >= writer.table ||
        !change_site_at(writer, entry, first_made_by, from, to, life))
        return;
    publish_site(life, first_made_by, to);
    const Key key = key_of(life);
    uint32_t next = may_have_parts(life) && life.is_by_core() ? life.next_part() : 0;
    while (next != 0 && next <= writer.table) {
        const uint64_t made_by = life_at(writer, key, next - 1);
        if (made_by == 0 || made_by >= first_made_by || !change_site_at(writer, next - 1, made_by, from, to, life))
            return;
        publish_site(life, made_by, to);
        next = life.next_part();
    }
}

ttmem_handle allocate_unlisted(RecordCopy& words) noexcept {
    const Writer& writer = the_writer;
    const uint64_t sequence = take_sequence(writer);
    words.time = raw_now(writer.clock);
    words.set_thread(thread_number());
    return allocate_untabled(writer, sequence, words, 0);
}

RareLock::RareLock(std::atomic<uint32_t>& word) noexcept : word_(word) {
    const SavedErrno kept;
    const auto own = static_cast<uint32_t>(syscall(SYS_getpid));
    for (int tries = 0; tries < 100; ++tries) {
        uint32_t holder = word.load(std::memory_order_relaxed);
        // A holder of another pid is the parent's, copied by a fork that happened while it was held.
        if ((holder == 0 || holder != own) && word.compare_exchange_strong(holder, own, std::memory_order_acquire)) {
            is_held_ = true;
            return;
        }
        const timespec nap{0, 10'000};
        nanosleep(&nap, nullptr);
    }
}

}  // namespace ttmem
