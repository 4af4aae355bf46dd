// Fuzzes everything that reads a journal: any bytes, anywhere in the file, also while it is being read, and a file that is
// cut short meanwhile. Nothing may crash, run on, read beyond the end, or touch another process's figures.
//
// An input is a header of four bytes and a list of edits to a small, valid journal:
//
//   how | upfront | cut | rounds    edit: part, offset (2, little endian, in words), length in bytes (0 to 15), bytes
//
// With kGrows the image's records appear a few at a time, as if its writer was running. `upfront` edits are made before the first read, the others one by one between the reader's copies. With kReplacesFile in
// `how` what follows is the file itself.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "ledger/book/book.hpp"
#include "ledger/collector.hpp"
#include "ledger/incidents.hpp"
#include "ledger/places/footprint.hpp"
#include "writer/owner.hpp"

namespace {

using namespace ttmem;

constexpr uint8_t kReplacesFile = 1, kScansFirst = 2, kIsCut = 4, kAdoptsCounters = 8, kUsesCollector = 16, kGrows = 32;
constexpr Sizes kSizes{64, 256};  // the ring holds all records of the image, and less than half of it is used
constexpr int64_t kHonestBytes = 4711;
uint64_t record_count = 0;  // in the image

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "fuzz_journal_reader: %s\n", what);
    std::abort();
}

std::vector<uint64_t>& image() {
    static std::vector<uint64_t> words(plan_of(kSizes).file / 8);
    return words;
}

/// At two addresses; one that lives, and one that ended with all its parts.
void report_by_core(uint16_t chip) {
    const ttmem_core_part parts[] = {{8192, ttmem_intern("0,0-1,1", 7), 4}, {4096, ttmem_intern("2,0-2,1", 7), 2}};
    for (uint64_t id = 20; id < 22; ++id) {
        ttmem_core_buffer buffer{};
        buffer.id = id;
        buffer.size_per_core_bytes = 2048;
        buffer.parts = parts;
        buffer.part_count = 2;
        buffer.target = chip;
        buffer.type = TTMEM_BUFFER_L1;
        ttmem_core_buffer_alloc(&buffer);
    }
    ttmem_free_id(chip, TTMEM_BUFFER, 21, TTMEM_L1, 0);
}

/// A few incidents that a stack asked for, and one of a circular buffer's program.
void report_incidents(uint16_t chip) {
    const uint32_t outer = ttmem_stack_node(0, static_cast<uint8_t>(Node::frame), "main", "demo/run.py", 12);
    const uint32_t inner = ttmem_stack_node(outer, static_cast<uint8_t>(Node::frame), "forward", "model.py", 118);
    const uint32_t operation = ttmem_stack_node(inner, static_cast<uint8_t>(Node::operation), "ttnn.matmul", "", 0);
    ttmem_buffer buffer{};
    buffer.target = chip;
    buffer.id = 30;
    buffer.type = TTMEM_BUFFER_L1;
    buffer.reserved_bytes = buffer.requested_bytes = 4096;
    buffer.address = 0x8000;
    buffer.site = operation;
    ttmem_buffer_alloc(&buffer);
    for (uint64_t i = 0; i < 3; ++i) {
        ttmem_incident told{};
        told.struct_bytes = sizeof told;
        told.target = chip;
        told.kind = TTMEM_INCIDENT_OUT_OF_MEMORY;
        told.pool = TTMEM_L1;
        told.requested_bytes = 1000 + i;
        told.core_set = ttmem_intern("0,0-7,0", 7);
        told.site = inner;
        told.text = "no room";
        told.text_bytes = 7;
        ttmem_report_incident(&told);
    }
}

/// A journal with something of everything in it.
void report_everything() {
    uint16_t chips[2];
    for (uint16_t i = 0; i < 2; ++i) {
        ttmem_device chip{};
        chip.unique_id = 100u + i;
        chip.arch = "blackhole";
        chips[i] = ttmem_device_open(&chip);
    }
    const uint16_t mesh = ttmem_mesh_open(9, 1, 2, chips, 2);
    const uint32_t phase = ttmem_phase_begin(ttmem_intern("load", 4));
    ttmem_label("fuzzed");
    for (uint64_t id = 0; id < 12; ++id) {
        ttmem_buffer buffer{};
        buffer.target = id % 2 == 0 ? chips[0] : mesh;
        buffer.id = id;
        buffer.requested_bytes = 64 * id;
        ttmem_buffer_alloc(&buffer);
        if (id == 3) ttmem_buffer_alloc(&buffer);  // once more: replaced
    }
    ttmem_circular_buffer cb{};
    cb.target = mesh;
    cb.core_count = 8;
    cb.size_per_core_bytes = 2048;
    ttmem_cb_alloc(&cb);
    cb.id = 1;
    cb.program = 5;
    cb.core_set = ttmem_intern("0,0-7,0", 7);
    ttmem_cb_alloc(&cb);
    ttmem_kernel kernel{};
    kernel.target = chips[1];
    kernel.kind = TTMEM_KERNEL_FABRIC;
    kernel.binary_bytes = 57'344;
    kernel.core_count = 16;
    ttmem_kernel_load(&kernel);
    ttmem_binary_status(mesh, 5, TTMEM_IN_FLIGHT, 4096);
    ttmem_launch(mesh, 5);
    const ttmem_ring_state ring = {4096, 2048, 70'656, 3, mesh, TTMEM_TENSIX, TTMEM_STALL_SPACE, 0};
    ttmem_ring(&ring);
    const ttmem_cache_answer answer = {4096, 8192, 1024, 2, mesh, TTMEM_CACHE_PREFETCHER, TTMEM_MISS};
    ttmem_cache(&answer);
    ttmem_free_id(chips[0], TTMEM_BUFFER, 2, TTMEM_DRAM, 0);
    ttmem_free_id(chips[0], TTMEM_BUFFER, 2, TTMEM_DRAM, 0);
    ttmem_out_of_memory(chips[0], TTMEM_L1, 1 << 20, 4096, 1024);
    ttmem_clash(mesh, 5, 0x9'0000, 0x8'f000);
    report_by_core(chips[0]);
    report_incidents(chips[0]);
    ttmem_device_close(chips[1]);
    ttmem_phase_end(phase);
}

struct Part {
    uint64_t offset, bytes;
};

Part part(uint8_t number) {
    const Plan plan = plan_of(kSizes);
    const Part parts[] = {{0, sizeof(Identity)},
                          {1024, offsetof(Header, pad3) - 1024},
                          {plan.targets, 5 * sizeof(Target)},
                          {plan.slab, 64 * sizeof(Record)},
                          {plan.ring, 128 * sizeof(Record)},
                          {plan.phases, 1024},
                          {plan.arena, 1024},
                          {0, plan.file},
                          {plan.incidents, kIncidentSlots * sizeof(Incident)},
                          {plan.copies, 64 * sizeof(Record)},
                          {plan.stack_nodes, 16 * sizeof(StackNode)},
                          {plan.stack_texts, 512}};
    return parts[number % (sizeof parts / sizeof parts[0])];
}

/// Bytes that come from an input, one after the other; zeros when it has ended.
class Input {
public:
    Input(const uint8_t* data, size_t size) : data_(data), left_(size) {}
    uint8_t byte() { return left_ == 0 ? uint8_t{0} : (--left_, *data_++); }
    bool is_empty() const { return left_ == 0; }
    const uint8_t* rest() const { return data_; }
    size_t rest_bytes() const { return left_; }

private:
    const uint8_t* data_;
    size_t left_;
};

/// The image with edits in it, which are taken back in the end.
class Edited {
public:
    explicit Edited(Input& input) : input_(input) {}
    ~Edited() {
        for (auto undo = undone_.rbegin(); undo != undone_.rend(); ++undo) *undo->first = undo->second;
    }
    Edited(const Edited&) = delete;
    Edited& operator=(const Edited&) = delete;

    bool edit() {
        if (input_.is_empty()) return false;
        const Part where = part(input_.byte());
        const uint64_t word = input_.byte() | uint64_t{input_.byte()} << 8;
        uint64_t at = where.offset + word * 8 % where.bytes;
        for (uint8_t length = input_.byte() & 15; length > 0 && at < bytes(); --length) write(at++, input_.byte());
        return true;
    }
    /// Moves the head to so many records after the first.
    void grow(uint64_t records) {
        const auto& identity = *reinterpret_cast<const Identity*>(image().data());
        uint64_t head = identity.first_sequence + records;
        for (size_t i = 0; i < sizeof head; ++i, head >>= 8)
            write(offsetof(Header, next_sequence) + i, static_cast<uint8_t>(head));
    }
    void replace() {
        for (uint64_t at = 0; !input_.is_empty() && at < bytes(); ++at) write(at, input_.byte());
    }
    static uint64_t bytes() { return image().size() * 8; }

private:
    void write(uint64_t at, uint8_t value) {
        uint8_t* place = reinterpret_cast<uint8_t*>(image().data()) + at;
        undone_.emplace_back(place, *place);
        *place = value;
    }
    Input& input_;
    std::vector<std::pair<uint8_t*, uint8_t>> undone_;
};

/// Changes under the reader's hands, and may end early.
class ChangingSource final : public Source {
public:
    ChangingSource(Edited& edited, uint64_t bytes, int copies_until_cut)
        : edited_(edited), bytes_(bytes), until_cut_(copies_until_cut) {}
    bool copy(uint64_t offset, void* to, size_t bytes) const noexcept override {
        edited_.edit();
        if (until_cut_ > 0 && --until_cut_ == 0) bytes_ /= 2;
        if (offset > bytes_ || bytes > bytes_ - offset) return false;
        std::memcpy(to, reinterpret_cast<const char*>(image().data()) + offset, bytes);
        return true;
    }

private:
    Edited& edited_;
    mutable uint64_t bytes_;
    mutable int until_cut_;
};

std::string item_of(const void* from, uint32_t id, Item kind) {
    return static_cast<const JournalReader*>(from)->item(id, kind);
}

/// While the list is counted, totals are the sum of the list.
void check_totals(const Book& book) {
    if (!book.is_counting()) return;
    std::vector<Totals> sums(kTargets);
    book.table().for_each([&](const RecordCopy& words) {
        if (ttmem::is_bookkeeping(words)) return;  // a program without memory of its own is no allocation
        Amount& pool = sums[words.target()].pools[words.pool()];
        pool.used += static_cast<int64_t>(words.reserved_bytes());
        pool.count += words.is_further() ? 0 : 1;  // a buffer by core is one, however many parts it has
    });
    for (uint32_t target = 0; target < kTargets; ++target)
        for (uint32_t p = 0; p < kPools; ++p) {
            const Amount& held = book.targets()[target].totals.pools[p];
            if (held.used != sums[target].pools[p].used || held.count != sums[target].pools[p].count)
                fail("totals are not the sum of the list");
        }
}

/// Heads, what was alive at each, and who asked.
void look_at_incidents(const JournalReader& reader) {
    KnownIncidents kept;
    bool has_changed = false;
    if (!kept.read(reader, has_changed)) return;
    if (kept.heads.size() > kIncidentSlots || kept.heads.size() > kept.count) fail("more incidents than there were");
    for (const KnownIncident& one : kept.heads) {
        std::vector<RecordCopy> entries;
        if (!one.words.is_sound() || one.words.said().size() > kIncidentTextBytes) fail("an incident makes no sense");
        if (!reader.incident_copy(one.words, entries)) continue;
        if (entries.size() > kIncidentEntries) fail("more was alive than a copy holds");
        for (const RecordCopy& entry : entries) site_text(reader, entry.site());
    }
}

/// What a snapshot asks for.
void look_at_everything(const JournalReader& reader, const Book& book) {
    Hot hot;
    std::vector<uint64_t> rows;
    if (reader.look(hot)) reader.item(hot.label, Item::text);
    if (reader.phase_rows(rows))
        for (size_t i = 0; i + 3 < rows.size() && i < 64; i += 4)
            reader.item(static_cast<uint32_t>(rows[i]), Item::text);
    reader.arena();
    look_at_incidents(reader);
    Timebase timebase;
    timebase.refresh();
    timebase.realtime(book.last_raw(), reader.identity());
    for (const auto& [device, cell] : book.cells()) {
        size_t number = 0;
        book.only_target_on(device, number);
    }
}

bool start(JournalReader& reader, Book& book, bool scans) {
    if (!scans && reader.start_at_beginning()) return true;
    std::vector<RecordCopy> alive;
    std::vector<TargetCounters> targets;
    if (reader.scan(alive) != ReadResult::ok || !reader.targets(targets, kTargets)) return false;
    book.learn_targets(targets, 1);
    book.rebuild(alive, reader.ended_early(), 1);
    book.learn_refusals(reader.refused_before(), 1);
    return true;
}

void follow(JournalReader& reader, Book& book, Edited& edited, uint8_t how, int rounds) {
    const auto grow = [&](int round) {
        if ((how & kGrows) != 0)
            edited.grow(record_count * static_cast<uint64_t>(round) / static_cast<uint64_t>(rounds));
    };
    grow(0);
    if (!start(reader, book, (how & kScansFirst) != 0)) return;
    std::vector<RecordCopy> events;
    for (int round = 0; round < rounds; ++round) {
        events.clear();
        grow(round + 1);
        const ReadResult result = reader.read(events, 16'384);
        if (result == ReadResult::damaged) return;
        if (result == ReadResult::lost_place && !start(reader, book, true)) return;
        if (result == ReadResult::ok) book.apply_all(events, &reader, 1);
        if (events.size() > 2 * kPendingMost + kSizes.ring_slots) fail("more events than the ring has");
    }
    check_totals(book);
    look_at_everything(reader, book);
    for (const auto& [device, taken] : footprints_of(book))
        if (taken.resident > taken.planned || taken.worst_planned > taken.planned)
            fail("more is resident than planned");
    std::vector<TargetCounters> targets;
    if ((how & kAdoptsCounters) == 0 || !reader.targets(targets, kTargets)) return;
    book.difference(targets);
    book.learn_targets(targets, 1);
    book.adopt_counters(targets, 1);
}

/// A process that reported the truth, on the same chips; the other's end must leave exactly its figures.
void open_honest_book(Book& book) {
    RecordCopy words;
    words.commit = committed(1);
    words.tag = Tag{Type::target_opened, 0, 0, 0, 0}.pack();
    words.address = 100;  // the chip that the image opens too
    words.reserved = in::kTarget.pack(1);
    book.apply(words, nullptr, 1);
    words.commit = committed(2);
    words.tag = Tag{Type::allocated, TTMEM_BUFFER, TTMEM_DRAM, kIndexed, 0}.pack();
    words.reserved = in::kReserved.pack(kHonestBytes) | in::kTarget.pack(1);
    words.requested = kHonestBytes;
    book.apply(words, nullptr, 1);
}

void check_devices(Devices& devices) {
    for (const Device& device : devices.all()) {
        const bool is_honests = device.is_known && device.unique_id == 100;
        for (uint32_t p = 0; p < kPools; ++p) {
            const int64_t expected = is_honests && p == TTMEM_DRAM ? kHonestBytes : 0;
            if (device.cell.pools[p].used != expected) fail("a released process left something on a chip");
        }
        for (const KindAmount& cores : device.cell.cores)
            if (cores.used != 0 || cores.count != 0) fail("a released process left kernels on a chip");
        if (device.open_count != (is_honests ? 1 : 0)) fail("a released process left a chip open");
        if (device.unsettled != 0) fail("a released process holds up a chip's peaks");
    }
}

void read_memory(Input& input, uint8_t how, uint8_t upfront, uint8_t cut, int rounds) {
    Edited edited(input);
    const uint64_t bytes = (how & kReplacesFile) != 0 && (how & kIsCut) != 0 ? input.rest_bytes() : Edited::bytes();
    if ((how & kReplacesFile) != 0) edited.replace();
    for (int i = 0; i < upfront; ++i) edited.edit();
    std::string error;
    auto reader = JournalReader::open(
        std::make_unique<ChangingSource>(edited, std::min(bytes, Edited::bytes()), (how & kIsCut) != 0 ? cut : 0),
        bytes, error);
    if (reader == nullptr) {
        if (error.empty()) fail("refused without a reason");
        return;
    }
    Devices devices;
    Book honest(1, devices), book(2, devices);
    open_honest_book(honest);
    book.set_arena(item_of, reader.get());
    follow(*reader, book, edited, how, rounds);
    book.leave();
    check_devices(devices);
}

/// The same through the real collector and a real file.
void read_file(Input& input, uint8_t how, uint8_t upfront, int rounds) {
    char directory[] = "/tmp/ttmem-fuzz-XXXXXX";
    if (mkdtemp(directory) == nullptr) return;
    const std::string path = std::string(directory) + "/1-1-1.journal";
    const int file = open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    Edited edited(input);
    for (int i = 0; i < upfront; ++i) edited.edit();
    const auto write_all = [&] {
        return pwrite(file, image().data(), Edited::bytes(), 0) == static_cast<ssize_t>(Edited::bytes());
    };
    struct stat facts{};
    Collector collector(true);
    std::string error;
    if ((how & kGrows) != 0) edited.grow(0);
    const bool is_there = write_all() && fstat(file, &facts) == 0;
    const uint64_t key = is_there ? collector.attach(path, facts.st_dev, facts.st_ino, error) : 0;
    unlink(path.c_str());
    rmdir(directory);
    for (int round = 0; key != 0 && round < rounds; ++round) {
        collector.drain();
        if ((how & kGrows) != 0)
            edited.grow(record_count * static_cast<uint64_t>(round + 1) / static_cast<uint64_t>(rounds));
        if (edited.edit() || (how & kGrows) != 0) write_all();
        if ((how & kIsCut) != 0 && round == rounds / 2 && ftruncate(file, 300'000) != 0) break;
        collector.look([](auto&, auto&, auto&, auto&) { return 0; });
    }
    std::string records, arena;
    collector.taken(key, records, arena);
    collector.end(collector.feed(records, arena, 1, 1, 1, "again"));
    collector.forget_ended();
    close(file);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    char directory[] = "/tmp/ttmem-fuzz-XXXXXX";
    if (mkdtemp(directory) == nullptr) fail("no directory for the image");
    setenv("TTMEM_TABLE", "64", 1);
    setenv("TTMEM_RING", "256", 1);
    if (ttmem_enable(directory) != 1) fail("no journal to start from");
    unlink(ttmem_journal_path());
    rmdir(directory);
    report_everything();
    Mapping own{};
    if (owner().mapping(&own) == 0 || own.bytes != Edited::bytes()) fail("the journal is not as large as planned");
    std::memcpy(image().data(), own.base, own.bytes);
    auto& identity = *reinterpret_cast<Identity*>(image().data());
    identity.start_ticks = 1;  // of no process alive
    record_count = reinterpret_cast<const Header*>(own.base)->next_sequence.load() - identity.first_sequence;
    if (record_count > kSizes.ring_slots / 2) fail("the image's beginning is lost");
    ttmem_disable();
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Input input(data, size);
    const uint8_t how = input.byte(), upfront = input.byte(), cut = input.byte(), rounds = input.byte();
    if ((how & kUsesCollector) != 0 && (how & kReplacesFile) == 0 && upfront % 8 == 0)
        read_file(input, how, upfront / 8, 1 + rounds % 6);
    else
        read_memory(input, how, upfront, cut, 1 + rounds % 12);
    return 0;
}
