// Programs: the status of their binaries, their launches, and the instants when memory ran out.
#include "writer/operations.hpp"

namespace ttmem {
namespace {

// A program's entry keeps status and launches in one word whose upper 16 bits repeat its maker's sequence: if the
// entry has been reused meanwhile, the word differs and the change is dropped instead of hitting a stranger.
constexpr uint64_t kLaunches = (1ull << 46) - 1;
constexpr uint64_t kStatus = 3ull << 46;
constexpr uint64_t kProgramLow48 = (1ull << 48) - 1;

bool change_word(Word& word, uint64_t made_by, uint64_t keep, uint64_t set, uint64_t add, uint64_t& result) noexcept {
    uint64_t seen = word.load(std::memory_order_acquire);
    do {
        if (static_cast<uint16_t>(seen >> 48) != static_cast<uint16_t>(made_by)) return false;
        result = ((seen & keep) | set) + add;
    } while (!word.compare_exchange_weak(seen, result, std::memory_order_acq_rel));
    return true;
}

template <class Stamp = AnyStamp>
void publish_program(const Writer& writer, uint64_t sequence, Words& words, Key key, uint64_t value) noexcept {
    words.time = Stamp::now();
    words.id = key.id;
    words.reserved |= pack48(0, key.target);
    words.requested = pack48(value, Stamp::thread());
    publish(writer, sequence, words);
}

void publish_plainly(const Writer& writer, Type type, Key key, uint64_t value) noexcept {
    const uint64_t sequence = take_sequence(writer);
    Words words;
    words.tag = tag_of(type, TTMEM_PROGRAM_BINARY, TTMEM_DRAM, 0, 0);
    publish_program(writer, sequence, words, key, value);
}

// A launch, and how it left the ring; without one the other words are nothing.
Words words_of_launch(const LaunchedRing& ring) noexcept {
    Words words;
    words.tag = tag_of(Type::launched, TTMEM_PROGRAM_BINARY, TTMEM_DRAM, ring.is_there() ? kWithRing : uint8_t{0}, 0);
    words.address = ring.levels;
    words.reserved = ring.total;
    words.per_bank = ring.word << 16 >> 16;
    return words;
}

struct Program {
    uint16_t target;
    uint64_t id;
    uint8_t status;
    uint64_t launches, bytes, launched;  // the last: sequence of its last launch, if that is not the one entering it
    uint32_t address;                    // of its binaries in each bank, 0 unknown
    uint64_t operation;                  // its site, 0 unknown
};

void add_program(const Program& program) noexcept {
    Words words;
    words.tag = tag_of(Type::allocated, TTMEM_PROGRAM_BINARY, TTMEM_DRAM, 0, program.address);
    words.id = program.id;
    words.address = program.launched;
    words.reserved = pack48(program.bytes, program.target);
    words.requested = program.operation;
    words.per_bank = uint64_t{program.status} << 46 | program.launches;
    allocate(words);
}

}  // namespace

void change_status(uint16_t target, uint64_t program, uint8_t status, uint64_t bytes, uint32_t address) noexcept {
    const Writer& writer = the_writer;
    const Key key{program, target, TTMEM_PROGRAM_BINARY};
    const Found found = find(writer, key, hash_of(key));
    if (found.entry == kNoEntry) return add_program({target, program, status, 0, bytes, 0, address, 0});
    Record& entry = writer.slab[found.entry];
    uint64_t result = 0;
    if (!change_word(entry.per_bank, found.made_by, ~kStatus, uint64_t{status} << 46, 0, result)) return;
    const uint64_t had = entry.reserved.load(std::memory_order_relaxed) & 0xffff'ffff'ffff;
    const auto lay = static_cast<uint32_t>(entry.tag.load(std::memory_order_relaxed) >> 32);
    if (bytes != 0 && (bytes != had || (address != 0 && address != lay)))  // news of it: entered anew, with its history
        return add_program({target, program, status, result & kLaunches, bytes,
                            entry.address.load(std::memory_order_relaxed), address,
                            entry.requested.load(std::memory_order_relaxed) & kProgramLow48});
    publish_plainly(writer, Type::status_changed, key, status);
}

namespace {

// Whether the life is still there when its word was changed: else the word is a stranger's, who gets it back.
void keep_operation(const Writer& writer, Key key, Found found, uint32_t site) noexcept {
    Word& word = writer.slab[found.entry].requested;
    uint64_t seen = word.load(std::memory_order_acquire);
    if (life_at(writer, key, found.entry) != found.made_by) return;
    uint64_t named = (seen & ~kProgramLow48) | site;
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
    const uint64_t sequence = take_sequence(writer);
    Words words;
    words.tag = tag_of(Type::program_named, TTMEM_PROGRAM_BINARY, TTMEM_DRAM, 0, 0);
    words.address = site;
    publish_program(writer, sequence, words, key, 0);
}

namespace {

template <class Stamp>
void count_launch_at(const Writer& writer, Key key, uint32_t place, uint64_t made_by,
                     const LaunchedRing& ring) noexcept {
    Record& entry = writer.slab[place];
    uint64_t launched = entry.address.load(std::memory_order_relaxed), result = 0;
    if (__builtin_expect(!change_word(entry.per_bank, made_by, ~uint64_t{0}, 0, 1, result), 0)) return tell_ring(ring);
    const uint64_t sequence = take_sequence(writer);
    // Another launch was faster, or the entry is somebody else's by now: then the word differs and is left alone.
    entry.address.compare_exchange_strong(launched, sequence, std::memory_order_release, std::memory_order_relaxed);
    Words words = words_of_launch(ring);
    publish_program<Stamp>(writer, sequence, words, key, result & kLaunches);
}

__attribute__((noinline)) uint32_t find_and_count_launch(const Writer& writer, Key key,
                                                         const LaunchedRing& ring) noexcept {
    const Found found = key.id == 0 ? Found{} : find(writer, key, hash_of(key));
    if (found.entry != kNoEntry) {
        count_launch_at<AnyStamp>(writer, key, found.entry, found.made_by, ring);
        return found.entry + 1;
    }
    tell_ring(ring);
    if (key.id == 0)
        publish_plainly(writer, Type::launched, key, 0);
    else
        add_program({key.target, key.id, TTMEM_NOT_SENT, 1, 0, 0, 0, 0});
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
    const Writer& writer = the_writer;
    writer.targets[target].refusals.fetch_add(1, std::memory_order_relaxed);
    const uint64_t sequence = take_sequence(writer);
    Words words;
    words.time = raw_now(writer.clock);
    words.tag = tag_of(Type::out_of_memory, 0, pool, 0, 0);
    words.id = requested;
    words.address = free;
    words.reserved = pack48(largest, target);
    words.requested = pack48(0, thread_number());
    publish(writer, sequence, words);
}

}  // namespace ttmem
