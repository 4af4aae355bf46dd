// Programs: the status of their binaries, their launches, and the instants when memory ran out.
#include "writer/operations.hpp"

namespace ttmem {
namespace {

// Status and launches, as long as the life is there that the caller knows.
template <typename Change>
bool change_word(AtomicU64& word, uint64_t made_by, uint64_t& result, Change change) noexcept {
    uint64_t seen = word.load(std::memory_order_acquire);
    do {
        if (!ProgramRecord::is_made_by(seen, made_by)) return false;
        result = change(seen);
    } while (!word.compare_exchange_weak(seen, result, std::memory_order_acq_rel));
    return true;
}

void add_program(const ProgramRecord& program) noexcept {
    RecordCopy words = program.pack();
    allocate(words);
}

}  // namespace

void change_status(uint16_t target, uint64_t program, uint8_t status, uint64_t bytes, uint32_t address) noexcept {
    const Writer& writer = the_writer;
    const Key key{program, target, TTMEM_PROGRAM_BINARY};
    const Found found = find(writer, key, hash_of(key));
    if (found.entry == kNoEntry) return add_program({target, program, status, 0, bytes, 0, address});
    Record& entry = writer.slab[found.entry];
    uint64_t result = 0;
    const auto set_status = [status](uint64_t word) noexcept { return ProgramRecord::with_status(word, status); };
    if (!change_word(entry.per_bank, found.made_by, result, set_status)) return;
    RecordCopy words;
    copy_words(entry, words);
    ProgramRecord known = ProgramRecord::unpack(words);
    if (bytes == 0 || (bytes == known.bytes && (address == 0 || address == known.address))) {
        publish_now(StatusChangedRecord{target, program, status}.pack());
        return;
    }
    known.target = target;  // news of it: entered again, with its history
    known.id = program;
    known.status = status;
    known.launches = ProgramRecord::launches_in(result);
    known.bytes = bytes;
    known.address = address;
    add_program(known);
}

namespace {

// Whether the life is still there when its word was changed: else the word is another life's, which gets it back.
void keep_operation(const Writer& writer, Key key, Found found, uint32_t site) noexcept {
    AtomicU64& word = writer.slab[found.entry].requested;
    uint64_t seen = word.load(std::memory_order_acquire);
    if (life_at(writer, key, found.entry) != found.made_by) return;
    uint64_t named = ProgramRecord::with_operation(seen, site);
    if (!word.compare_exchange_strong(seen, named, std::memory_order_acq_rel)) return;
    if (life_at(writer, key, found.entry) != found.made_by)
        word.compare_exchange_strong(named, seen, std::memory_order_acq_rel);
}

}  // namespace

void name_program(uint16_t target, uint64_t program, uint32_t site) noexcept {
    const Writer& writer = the_writer;
    const Key key{program, target, TTMEM_PROGRAM_BINARY};
    const Found found = find(writer, key, hash_of(key));
    if (found.entry != kNoEntry) keep_operation(writer, key, found, site);
    publish_now(ProgramNamedRecord{target, program, site}.pack());
}

namespace {

template <class Stamp>
void count_launch_at(const Writer& writer, Key key, uint32_t place, uint64_t made_by,
                     const LaunchedRing& ring) noexcept {
    Record& entry = writer.slab[place];
    uint64_t launched = entry.address.load(std::memory_order_relaxed), result = 0;
    const auto count_one = [](uint64_t word) noexcept { return ProgramRecord::with_another_launch(word); };
    if (__builtin_expect(!change_word(entry.per_bank, made_by, result, count_one), 0)) return report_ring_change(ring);
    const uint64_t sequence = take_sequence(writer);
    // Another launch was faster, or the entry is another process's by now: then the word differs and is left alone.
    entry.address.compare_exchange_strong(launched, sequence, std::memory_order_release, std::memory_order_relaxed);
    RecordCopy words = LaunchedRecord{key.target, key.id, ProgramRecord::launches_in(result), ring}.pack();
    words.time = Stamp::now();
    words.set_thread(Stamp::thread());
    publish(writer, sequence, words);
}

__attribute__((noinline)) uint32_t find_and_count_launch(const Writer& writer, Key key,
                                                         const LaunchedRing& ring) noexcept {
    const Found found = key.id == 0 ? Found{} : find(writer, key, hash_of(key));
    if (found.entry != kNoEntry) {
        count_launch_at<AnyStamp>(writer, key, found.entry, found.made_by, ring);
        return found.entry + 1;
    }
    report_ring_change(ring);
    if (key.id == 0)
        publish_now(LaunchedRecord{key.target, 0, 0}.pack());
    else
        add_program({key.target, key.id, TTMEM_NOT_SENT, 1});
    return 0;
}

}  // namespace

__attribute__((flatten, hot)) uint32_t count_launch(uint16_t target, uint64_t program, uint32_t listed_at,
                                                    const LaunchedRing& ring) noexcept {
    const Writer& writer = the_writer;
    writer.targets[target].launches.fetch_add(1, std::memory_order_relaxed);
    const Key key{program, target, TTMEM_PROGRAM_BINARY};
    const uint64_t made_by = listed_at == 0 ? 0 : life_at(writer, key, listed_at - 1);
    if (__builtin_expect(made_by == 0, 0) || !has_swift_stamp()) return find_and_count_launch(writer, key, ring);
    count_launch_at<SwiftStamp>(writer, key, listed_at - 1, made_by, ring);
    return listed_at;
}

void count_launch(uint16_t target, uint64_t program) noexcept { count_launch(target, program, 0, LaunchedRing{}); }

void note_out_of_memory(uint16_t target, uint8_t pool, uint64_t requested, uint64_t free, uint64_t largest) noexcept {
    the_writer.targets[target].refusals.fetch_add(1, std::memory_order_relaxed);
    publish_now(OutOfMemoryRecord{target, pool, requested, free, largest}.pack());
}

}  // namespace ttmem
