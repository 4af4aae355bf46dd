// The bytes of a journal: one shared-memory file per reporting process.
//
//   ┌────────┬─────────┬─────────┬───────┬─────────┬───────┬────────┬───────┬───────────┐┌────────┬────────┐
//   │ Header │ targets │ threads │ slab  │ index   │ ring  │ phases │ arena │ incidents ││ copies │ stacks │
//   └────────┴─────────┴─────────┴───────┴─────────┴───────┴────────┴───────┴───────────┘└────────┴────────┘
//   identity  counters  numbers   what is alive now  what    peaks   strings  what was    what was  who asked
//   and hot   (always   -> tids   (64 B an entry,    just    per     and de-  refused     alive
//   words     right)              found by id)       happened phase  scriptors            then
//
// The file has room for everything left of the gap from its beginning. Copies and stacks are holes: their pages are asked
// for when they are first needed, and where the file system refuses them only these details are missing.
//
// Every word that two threads or processes share is a naturally aligned std::atomic<uint64_t> or
// uint32_t, lock free, so a copy taken at any instant consists of whole words. One process writes;
// any number of others read, through pread only.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ttmem/client.h"

namespace ttmem {

using Word = std::atomic<uint64_t>;
using Half = std::atomic<uint32_t>;
static_assert(Word::is_always_lock_free && sizeof(Word) == 8, "shared words must be plain words");
static_assert(Half::is_always_lock_free && sizeof(Half) == 4, "shared words must be plain words");

inline constexpr uint64_t kMagic = 0x314c'4e4a'4d45'4d54;  // "TMEMJNL1" in the file
inline constexpr uint32_t kVersion = 4;
inline constexpr uint32_t kPage = 4096;
inline constexpr uint32_t kTargets = 256;  // target 0 stands for everything that could not be named
inline constexpr uint32_t kThreads = 1024;
inline constexpr uint32_t kPhasePeaks = 1024;
inline constexpr uint32_t kArenaBytes = 1u << 20;
inline constexpr uint32_t kRingSlots = 65'536;
inline constexpr uint32_t kRingSlotsMost = 1u << 20;
inline constexpr uint32_t kTable = 131'072;
inline constexpr uint32_t kTableLeast = 64;
inline constexpr uint32_t kTableMost = 1u << 20;
inline constexpr uint32_t kPools = TTMEM_POOL_COUNT;
inline constexpr uint32_t kKinds = TTMEM_KIND_COUNT;
inline constexpr uint32_t kCoreTypes = TTMEM_CORE_TYPE_COUNT;
inline constexpr uint32_t kCaches = TTMEM_CACHE_COUNT;
inline constexpr uint32_t kOutcomes = TTMEM_OUTCOME_COUNT;
inline constexpr uint32_t kStalls = TTMEM_STALL_COUNT;
inline constexpr uint32_t kIncidentSlots = 8;  // the first two incidents and the last six
inline constexpr uint32_t kIncidentsFirst = 2;
inline constexpr uint32_t kIncidentEntries = 4096;  // in the copy of what was alive
inline constexpr uint32_t kIncidentTextBytes = 512;
inline constexpr uint32_t kIncidentKinds = TTMEM_INCIDENT_KIND_COUNT;
inline constexpr uint32_t kStackNodes = 65'536;  // node 0 stands for "other"
inline constexpr uint32_t kStackTextBytes = 2u << 20;
inline constexpr uint32_t kIndexLevels = 3;
inline constexpr uint32_t kBucketSlots = 16;       // of 4 bytes: one cache line
inline constexpr uint64_t kSizeMost = 1ull << 42;  // 2^20 live entries of this size still sum below 2^63

// A chip known by its logical number only (the seeds' protocol tells no more) goes by a unique id of this range.
inline constexpr uint64_t kSeedDevices = 0x5eed'0000'0000'0000ull;
inline constexpr bool is_seed_device(uint64_t unique_id) { return unique_id >> 32 == kSeedDevices >> 32; }
inline constexpr uint64_t seed_device(int32_t id) { return kSeedDevices | static_cast<uint32_t>(id); }

// ---- records ------------------------------------------------------------------------------------
//
// The same eight words serve as a ring record and as a live entry:
//
//   word  0          1     2                             3   4        5              6               7
//        commit     time  type kind pool flags | site32  id  address  reserved48     requested48     per_bank48
//                                                                    | target16      | thread16      | count16
//
//   kind              address (4)           requested (6)     per_bank (7)            count (7)
//   buffer, trace_buf. address48 | layout4   requested         per bank                page, its upper 16 bits
//                     | page, its lower 12
//   buffer, by core   address48 | layout4   requested         per core27              core set, its upper 16 bits
//                     | core set, lower 12                    | next part21
//   circular_buffer.. address | core_set<<32 program           size per core           cores
//   kernel_*          program48 | core     seed rule         one binary              cores
//                     type4 | found by4
//   program_binary    last launch's         operation's site  launches46 | status2    low 16 bits of the maker's sequence
//                     sequence, 0 none      (its site is the address of its binaries in each bank, 0 unknown)
//
// A buffer that is allocated by core (kByCore in its layout) has one entry for each address at which it lies, its parts.
// The first is the buffer: it is found by id or handle, and counted. Further parts (kFurther) are charged and listed, and
// end with the first, which names the next one by its place in the slab + 1, and so on; 0 ends the chain. The core set takes
// the 28 bits of the page.
//
// A page takes 28 bits: its bytes, or from 2^27 on a mark and how many pages the requested bytes are (see page_code).
// reserved is what the allocation is charged (0 for a view; a kernel's exact bytes, else its seed rule).
//
//   type              id (3)            address (4)        reserved (5)    requested (6)    per_bank (7)
//   allocated         the live entry's own words, as above (reserved has 5 bits more: see kReplaced)
//   freed             as above          maker's sequence   as above        as above         as above
//   status_changed    program           -                  -               status           -
//   launched          program           retired, live      ring bytes      launches so far  as ring_moved | entries24
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
// The ring that a launch moved is told together with it where both are on one target (kWithRing): 32 bits of live bytes
// above 32 of retired ones. Else these words of a launch are 0, and the ring has a record of its own. (A reader that knows
// nothing of it still has the counters of the ring.)
//
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
inline constexpr uint8_t kView = 1;              // belongs to another allocation: charged 0
inline constexpr uint8_t kIndexed = 2;           // entry is in the index by id
inline constexpr uint8_t kUntabled = 4;          // the live table was full: counted, not listed
inline constexpr uint8_t kUnmatched = 8;         // a free that matched nothing alive
inline constexpr uint8_t kExcused = 16;          // ... of an allocation that its target's close, or a fork, had ended
inline constexpr uint8_t kClamped = 32;          // a size beyond kSizeMost was cut
inline constexpr uint8_t kEstimated = 64;        // kernel charged by the seeds' rule, its exact size being unknown
inline constexpr uint8_t kFurther = kEstimated;  // of a buffer: not the first part of one that is allocated by core
inline constexpr uint8_t kReplaced =
    128;  // of an allocated record: an older life of its key ended with it (see replaced_hint)
inline constexpr uint8_t kStillborn = kExcused;  // of an allocated record: overtaken by a newer life of its key
inline constexpr uint8_t kWithRing = kView;      // of a launched record: it tells of the kernel ring, too

// Record and Entry, word for word:
//
//   word     writer                                         reader                      order
//   commit   owner of the slot (see below)                  any, before and after copy  release / acquire
//   others   owner only, between busy and committed         any, judged by commit       release / acquire
//
// Ring slot: committed(older) --CAS--> busy(s) --stores--> committed(s). A writer that finds busy or newer
// leaves the slot alone and counts `skipped`. Live entry: 0 or busy (not alive) --> committed(s) (alive, made
// by s) --CAS--> busy(s) (freed). A sequence is never used twice, so a committed word names one life. Stores of
// the other words are releases: whoever reads one of them also sees the busy mark that preceded it.
struct Record {
    Word commit;
    Word time;
    Word tag;
    Word id;
    Word address;
    Word reserved;
    Word requested;
    Word per_bank;
};
static_assert(sizeof(Record) == 64 && alignof(Record) == 8, "one cache line");

/// Whether a live entry of this kind has the words of a buffer.
inline constexpr bool is_buffer(uint8_t kind) { return kind == TTMEM_BUFFER || kind == TTMEM_TRACE_BUFFER; }

inline constexpr uint64_t kHintMask = 31;

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

// Of a buffer that is allocated by core.
inline constexpr uint8_t kByCore = 8;  // in its layout
inline constexpr uint32_t kPerCoreBits = 27, kNextPartBits = 21, kCoreSetBits = 28;
inline constexpr uint64_t kPerCoreMost = (1ull << kPerCoreBits) - 1;
static_assert(kTableMost < 1u << kNextPartBits && kArenaBytes / 8 < 1u << kCoreSetBits);
static_assert(TTMEM_LAYOUT_COUNT <= kByCore, "a layout, and whether it is by core, share 4 bits");

// Plain copy of a record, and what its packed words say.
struct Words {
    uint64_t commit = 0, time = 0, tag = 0, id = 0, address = 0, reserved = 0, requested = 0, per_bank = 0;

    Type type() const { return static_cast<Type>(tag & 0xff); }
    uint8_t kind() const { return static_cast<uint8_t>(tag >> 8); }
    uint8_t pool() const { return static_cast<uint8_t>(tag >> 16); }
    uint8_t flags() const { return static_cast<uint8_t>(tag >> 24); }
    uint32_t site() const { return static_cast<uint32_t>(tag >> 32); }
    uint64_t low48(uint64_t word) const { return word & 0xffff'ffff'ffffull; }
    uint64_t reserved_bytes() const { return reserved & ((1ull << 43) - 1); }  // a size needs no more
    // The low bits of the sequence of the life that ended: they tell lives apart whose threads raced for one id.
    uint64_t replaced_hint() const { return reserved >> 43 & kHintMask; }
    bool is_replacement_of(uint64_t life) const { return life < sequence() && (life & kHintMask) == replaced_hint(); }
    uint64_t requested_bytes() const { return low48(requested); }
    uint64_t per_bank_bytes() const { return low48(per_bank); }
    uint16_t target() const { return static_cast<uint16_t>(reserved >> 48); }
    uint16_t thread() const { return static_cast<uint16_t>(requested >> 48); }
    uint16_t count() const { return static_cast<uint16_t>(per_bank >> 48); }
    uint64_t launches() const { return per_bank & 0x3fff'ffff'ffffull; }
    uint8_t status() const { return static_cast<uint8_t>((per_bank >> 46) & 3); }
    uint8_t core_type() const { return static_cast<uint8_t>(address >> 48 & 15); }  // of a kernel
    uint8_t found_by() const { return static_cast<uint8_t>(address >> 52 & 15); }
    uint64_t buffer_address() const { return low48(address); }  // these three: of a buffer that a journal tells of
    uint8_t layout() const { return static_cast<uint8_t>(address >> 48 & 7); }
    // Allocated by core, and then: a part's bytes on each of its cores, how many those are, the text that names them, and
    // where the next part is.
    bool is_by_core() const { return (address >> 48 & kByCore) != 0 && kind() == TTMEM_BUFFER; }
    bool is_further() const { return kind() == TTMEM_BUFFER && (flags() & kFurther) != 0; }
    uint64_t per_core_bytes() const { return per_bank & kPerCoreMost; }
    uint64_t core_count() const { return per_core_bytes() == 0 ? 0 : reserved_bytes() / per_core_bytes(); }
    uint32_t core_set() const { return static_cast<uint32_t>(address >> 52 | uint64_t{count()} << 12); }
    uint32_t next_part() const { return static_cast<uint32_t>(per_bank >> kPerCoreBits & ((1u << kNextPartBits) - 1)); }
    uint64_t page_bytes() const { return page_from(uint64_t{count()} << 12 | address >> 52, requested_bytes()); }
    uint64_t sequence() const { return commit >> 1; }
};
static_assert(sizeof(Words) == sizeof(Record));

/// The entry of a program whose binaries take no memory of their own: it carries status and launches, and is no allocation.
inline bool is_bookkeeping(const Words& words) {
    return words.kind() == TTMEM_PROGRAM_BINARY && words.reserved_bytes() == 0;
}
static_assert(kSizeMost < 1ull << 43, "sizes and the hint share 48 bits");

/// Copies all words but the commit, which the caller judges before and after.
inline void copy_words(const Record& from, Words& to) noexcept {
    to.time = from.time.load(std::memory_order_acquire);
    to.tag = from.tag.load(std::memory_order_acquire);
    to.id = from.id.load(std::memory_order_acquire);
    to.address = from.address.load(std::memory_order_acquire);
    to.reserved = from.reserved.load(std::memory_order_acquire);
    to.requested = from.requested.load(std::memory_order_acquire);
    to.per_bank = from.per_bank.load(std::memory_order_acquire);
}

inline constexpr uint64_t tag_of(Type type, uint8_t kind, uint8_t pool, uint8_t flags, uint32_t site) {
    return static_cast<uint64_t>(type) | uint64_t{kind} << 8 | uint64_t{pool} << 16 | uint64_t{flags} << 24 |
           uint64_t{site} << 32;
}
inline constexpr uint64_t pack48(uint64_t low, uint16_t high) {
    return (low & 0xffff'ffff'ffffull) | uint64_t{high} << 48;
}
inline constexpr uint64_t committed(uint64_t sequence) { return sequence << 1; }
inline constexpr uint64_t busy(uint64_t sequence) { return sequence << 1 | 1; }
inline constexpr bool is_committed(uint64_t commit) { return commit != 0 && (commit & 1) == 0; }

// ---- counters -----------------------------------------------------------------------------------
//
//   field         writer (any thread of the host)                reader   order
//   used          fetch_add of the charge, fetch_sub at the free any      relaxed: each is right by itself
//   peak          raised by compare-and-swap                     any      relaxed
//   peak_time     stored after peak was raised (may lag it)      any      relaxed
//   window_peak   raised likewise; reset at a phase boundary     any      relaxed
//   own_peak      raised likewise; reset when the host asks      host     relaxed
//   allocs, frees fetch_add                                      any      relaxed
// They agree with the live entries whenever no call is under way.
struct PoolCounters {
    Word used;
    Word peak;
    Word peak_time;
    Word window_peak;
    Word allocs;
    Word frees;
    Word own_peak;  // since the host began anew; never below window_peak
    Word spare;
};
static_assert(sizeof(PoolCounters) == 64);

struct KindCounters {  // buffers are not counted here: their pools tell
    Word used;
    Word count;
};
static_assert(sizeof(KindCounters) == 16);

// What goes on besides memory changing hands. Answers of caches and stalls are counted (fetch_add); how much is held
// is stored after each change, so it is what the newest of them said.
struct RingCounters {  // of every core of one type
    Word live, retired, entries;
    Word launches;  // that took room in it
    Word total;     // its size, 0 unknown
};
static_assert(sizeof(RingCounters) == 40);

struct CacheCounters {
    Word outcomes[kOutcomes];
    Word entries, held, shared;
};
static_assert(sizeof(CacheCounters) == 64);

enum TargetState : uint32_t { kTargetUnnamed = 0, kTargetOpen = 1, kTargetClosed = 2 };

// One per target. `descriptor` is stored (release) before `state` says open; `closed_sequence` before it says closed.
struct Target {
    Half state;
    Half descriptor;       // arena id of its newest DeviceDescriptor or MeshDescriptor
    Word unique_id;        // chip's unique id or mesh id
    Word closed_sequence;  // entries made before it ended with that close
    Word launches;
    Word clashes;
    Word refusals;  // how often memory ran out
    Word spare[2];
    KindCounters kinds[kKinds];
    Word kinds_spare[2];
    PoolCounters pools[kPools];
    Word pools_spare[16];
    CacheCounters caches[kCaches];
    RingCounters rings[kCoreTypes];
    Word stalls[kStalls];
};
static_assert(sizeof(Target) == 1600 && offsetof(Target, pools) == 256 && offsetof(Target, caches) == 1024,
              "a pool's counters, and a cache's, share one cache line");

// ---- phases -------------------------------------------------------------------------------------
// The highest figure of every phase name, target and pool, for viewers that come later. Written under the
// phase lock of the host; `runs` is stored last (release) and 0 means the row is not there yet. A row without a target
// tells of a name how many of its phases are open (`peak`) and since when (`time`): whoever is killed in one left it so.
inline constexpr uint16_t kNoTarget = 0xffff;

struct PhasePeak {
    Word name_and_place;  // name id | target << 32 | pool << 48
    Word peak;
    Word time;
    Word runs;  // how often a phase of this name ended
};
static_assert(sizeof(PhasePeak) == 32);

// ---- arena --------------------------------------------------------------------------------------
// Append only. An id is the offset of its item / 8. An item is reserved by fetch_add on `arena_used`, filled, and
// published by a release store of `head`; readers take nothing whose head is 0 or whose bytes pass the end.
enum class Item : uint32_t { text = 1, device = 2, mesh = 3 };

struct ItemHead {
    Word head;  // byte length of what follows | Item << 32
};

struct DeviceDescriptor {
    uint64_t unique_id;
    int32_t index;
    uint32_t kernel_ring_bytes;
    uint16_t grid_x, grid_y, dram_banks, l1_banks;
    uint64_t capacity_bytes[kPools];
    char arch[32];
    char board[32];
};
static_assert(sizeof(DeviceDescriptor) == 168);

struct MeshDescriptor {  // followed by chip_count uint64_t unique ids, row by row
    uint64_t mesh_id;
    uint16_t rows, columns;
    uint32_t chip_count;
};
static_assert(sizeof(MeshDescriptor) == 16);

// ---- incidents ----------------------------------------------------------------------------------
// Memory that was refused, circular buffers that clashed, unsafe replays of a trace: numbered from 1 within their process.
// `incidents` in the header moves first, so whoever is killed inside leaves at least a count. Incident n has the slot
// slot_of(n), taken as a ring slot is: committed(older) --CAS--> busy(n) --stores--> committed(n). Whoever finds busy or newer
// leaves the slot alone. A repetition (same thread, target, site, kind, pool, size, end of circular buffers, trace and address, within
// a second; or the same trace replayed over the same buffer, at any time) only raises `repeats` and `last_time` of its slot.
//
// The records of an incident are given out before its copy is made, and each repetition gives out one: what came after it
// is next_sequence - sequence_after - repeats.
//
// The copy of what was alive is in `copies`, at the place of the same slot: whole entries of the slab as they were, each
// judged by its commit word before and after it was copied. It counts only together with a committed head that says how
// many entries it has.
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
    Word commit;
    Word repeats;    // how often it happened again
    Word last_time;  // of the newest repetition, 0: none
    Word time;
    Word place;                    // kind8 | pool8 | target16 | thread16 | flags16
    Word site_and_phase;           // site32 | phase's name id32
    Word other_site_and_cores;     // site32 of the other side (unsafe replay) | core set's text id32
    Word requested, per_bank;      // asked for: in all banks, of each bank
    Word free, largest;            // in all banks
    Word bank_free, bank_largest;  // of one bank
    Word banks;                    // how many, 0 unknown
    Word space_begin, space_end;   // addresses of the allocator that refused, in each bank; both 0 unknown
    Word program;
    Word cb_end, lowest_buffer;            // addresses
    Word trace, address;                   // of an unsafe replay: the trace, and the buffer that lies where it writes
    Word launches;                         // on its target, before it
    Word sequence_before, sequence_after;  // what had been given out before and after the copy was made
    Word entries;                          // in the copy
    Word left_out, left_out_bytes;         // what was alive beyond them
    Word text_bytes;
    Word spare[36];
    char text[kIncidentTextBytes];  // what the runtime said, its beginning
};
static_assert(sizeof(Incident) == 1024 && offsetof(Incident, text) == 512);

// ---- stacks -------------------------------------------------------------------------------------
// Who asked, as paths in a tree: a site whose highest bit is set names a node (kStackSite | its number); other sites are
// texts of the arena. A path goes from the node to the outermost frame: an operation, a tensor's form, then frames, the
// innermost first. Nodes and texts are append only: reserved by fetch_add, filled, and published by a release store of
// `kind_and_line` (0: not there yet), or of a text's head. Texts are items as in the arena, at offsets / 8 of their own part.
// Node 0 is kOtherSite: a stack that found no room.
inline constexpr uint32_t kStackSite = 1u << 31;
inline constexpr uint32_t kOtherSite = kStackSite;

enum class Node : uint32_t {
    frame = 1,             // name: function, file, line
    tensor = 2,            // name: "1x1x32x14336 bfloat16 tile"
    operation = 3,         // name: the user's, "ttnn.matmul"
    device_operation = 4,  // name: "MatmulDeviceOperation"
};

struct StackNode {
    Half parent;  // a node's number, 0: none
    Half name, file;
    Half kind_and_line;  // Node << 28 | line
};
static_assert(sizeof(StackNode) == 16);

// ---- header -------------------------------------------------------------------------------------
enum ClockKind : uint32_t { kClockMonotonic = 0, kClockTsc = 1 };

// What every journal of this version begins with. All of it is written before the file gets its name
// and never again.
struct Identity {
    uint64_t magic;
    uint32_t version;
    uint32_t header_bytes;
    uint64_t file_bytes;
    uint64_t targets_offset, threads_offset, slab_offset, index_offset, ring_offset, phases_offset, arena_offset;
    uint32_t target_count, thread_count, table, ring_slots, phase_peaks, arena_bytes;
    uint32_t index_slots[kIndexLevels];
    uint32_t pid;
    uint32_t uid;
    uint32_t clock_kind;
    uint64_t start_ticks;
    uint64_t pid_namespace;
    uint64_t boot_id[2];
    uint64_t nonce;
    uint64_t first_sequence;
    uint64_t clock_raw, clock_monotonic_ns, clock_realtime_ns;
    char command[256];
    char run[136];  // marks of the runs (`ttmem run`) it belongs to, outermost first, a comma between them
    uint64_t incidents_offset, copies_offset, stack_nodes_offset, stack_texts_offset;
    uint32_t incident_slots, incident_entries, stack_nodes, stack_text_bytes;
};
static_assert(sizeof(Identity) == 640);

// Hot words, each group on its own cache lines.
//
//   field             writer                                   reader    order
//   next_sequence     fetch_add by every operation             any       acq_rel / acquire
//   free_head         compare-and-swap (tag32 | entry + 1)     host      acq_rel
//   slab_high         compare-and-swap, only grows             any       release / acquire
//   index_live        fetch_add before insert, sub after erase host      relaxed
//   statistics        fetch_add                                any       relaxed
//   label, arena_used store / fetch_add                        any       release / acquire
struct Header {
    Identity identity;
    uint8_t pad0[1024 - sizeof(Identity)];
    Word next_sequence;  // the next one to be given; those below were given
    uint8_t pad1[56];
    Word free_head;
    Word slab_high;  // entries at and above were never used
    Word index_live[kIndexLevels];
    uint8_t pad2[24];
    Word skipped;          // ring records lost because their slot was busy or newer
    Word untabled_allocs;  // allocations that found the live table full: once above 0 the list is not whole
    Word untabled_frees;
    Word unsized_frees;    // ... of which the size was not known: counters are no longer exact
    Word unmatched_frees;  // unknown id, double free, wrong target
    Word replaced;         // a live id was allocated again
    Word clamped;          // sizes cut to kSizeMost
    Word shrunk_kernels;   // a kernel loaded again with a smaller size
    Word arena_used;
    Word arena_refused;   // strings or descriptors that found no room
    Word phases_refused;  // phase peaks that found no room
    Half label;           // arena id, 0: the command
    Half threads_used;
    Word target_refused;  // devices or meshes beyond kTargets
    Word unreported;      // allocations that were seen and not reported, their device being unknown
    Word undivided_l1;    // openings of devices whose L1_SMALL buffers are counted as L1: nobody could tell them apart
    Word incidents;       // how many there were: the number of the newest
    Word incident_counts[kIncidentKinds][kPools];  // the same by kind and pool
    Word stack_nodes_used;                         // the next node to be given
    Word stack_texts_used;                         // bytes
    Word stacks_refused;                           // stacks that found no room: their site is "other"
    Half sites_off;  // arena id of the reason why Python stacks are not recorded, 0: none known
    Half sites_spare;
    Word unjudged;  // allocations, frees and traces that could not be compared: unsafe replays may be missing
    uint8_t pad3[kPage - 1024 - 64 - 64 - (21 + kIncidentKinds * kPools) * 8];
};
static_assert(sizeof(Header) == kPage && offsetof(Header, next_sequence) == 1024 &&
              offsetof(Header, free_head) == 1088 && offsetof(Header, skipped) == 1152);

// ---- sizes --------------------------------------------------------------------------------------
struct Sizes {
    uint32_t table = kTable;
    uint32_t ring_slots = kRingSlots;
};

struct Plan {  // offsets of the parts for given sizes; one arithmetic for writer and reader
    uint64_t targets, threads, slab, index, ring, phases, arena, incidents;
    uint64_t holes;  // what lies before has room in the file from its beginning
    uint64_t copies, stack_nodes, stack_texts, file;
    uint32_t index_slots[kIndexLevels];
};

inline constexpr uint64_t page_up(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

inline constexpr Plan plan_of(Sizes sizes) {
    Plan plan{};
    const uint32_t most = sizes.table * 4;
    plan.index_slots[0] = most < 4096 ? most : 4096;
    plan.index_slots[1] = most <= 4096 ? 0 : (most < 32'768 ? most : 32'768);
    plan.index_slots[2] = most <= 32'768 ? 0 : most;
    uint64_t index = 0;
    for (uint32_t slots : plan.index_slots) index += uint64_t{slots} * sizeof(Half);
    plan.targets = kPage;
    plan.threads = plan.targets + page_up(uint64_t{kTargets} * sizeof(Target));
    plan.slab = plan.threads + page_up(kThreads * sizeof(Half));
    plan.index = plan.slab + page_up(uint64_t{sizes.table} * sizeof(Record));
    plan.ring = plan.index + page_up(index);
    plan.phases = plan.ring + page_up(uint64_t{sizes.ring_slots} * sizeof(Record));
    plan.arena = plan.phases + page_up(uint64_t{kPhasePeaks} * sizeof(PhasePeak));
    plan.incidents = plan.arena + kArenaBytes;
    plan.holes = plan.incidents + page_up(uint64_t{kIncidentSlots} * sizeof(Incident));
    plan.copies = plan.holes;
    plan.stack_nodes = plan.copies + uint64_t{kIncidentSlots} * kIncidentEntries * sizeof(Record);
    plan.stack_texts = plan.stack_nodes + uint64_t{kStackNodes} * sizeof(StackNode);
    plan.file = plan.stack_texts + kStackTextBytes;
    return plan;
}

}  // namespace ttmem
