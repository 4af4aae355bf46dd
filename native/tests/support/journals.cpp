#include "support/journals.hpp"

#include <cstdlib>

#include "support/check.hpp"

namespace ttmem {
namespace {

std::string item_of(const void* from, uint32_t id, Item kind) {
    return static_cast<const JournalReader*>(from)->item(id, kind);
}

}  // namespace

BareJournal::BareJournal(Sizes sizes) {
    REQUIRE(begin_journal(check::directory().c_str(), sizes, journal_));
    open_parts(writer, journal_.base);
    writer.bytes = journal_.bytes;
    writer.generation = 1;
}

BareJournal::~BareJournal() { abandon_journal(journal_); }

std::unique_ptr<JournalReader> BareJournal::reader() {
    std::string error;
    auto opened =
        JournalReader::open(std::make_unique<MemorySource>(journal_.base, journal_.bytes), journal_.bytes, error);
    CHECK_EQUAL(error, std::string());
    REQUIRE(opened != nullptr);
    return opened;
}

void track(Sizes sizes) {
    setenv("TTMEM_TABLE", std::to_string(sizes.table).c_str(), 1);
    setenv("TTMEM_RING", std::to_string(sizes.ring_slots).c_str(), 1);
    REQUIRE(ttmem_enable(check::directory().c_str()) == 1);
    CHECK_EQUAL(the_writer.table, sizes.table);
    CHECK_EQUAL(the_writer.ring_mask, sizes.ring_slots - 1);
}

std::unique_ptr<JournalReader> own_reader() {
    Mapping own{};
    REQUIRE(owner().mapping(&own) != 0);
    std::string error;
    auto opened = JournalReader::open(std::make_unique<MemorySource>(own.base, own.bytes), own.bytes, error);
    REQUIRE(opened != nullptr);
    return opened;
}

uint64_t attach_own(Collector& collector) {
    Mapping own{};
    std::string error;
    REQUIRE(owner().mapping(&own) != 0);
    const uint64_t key = collector.attach(ttmem_journal_path(), own.device, own.inode, error);
    CHECK_EQUAL(error, std::string());
    REQUIRE(key != 0);
    return key;
}

Alive alive_in(const EntryTable& table) {
    Alive alive;
    table.for_each([&](const RecordCopy& words) {
        const bool is_new = alive.try_emplace({words.target(), words.kind(), words.id}, words.reserved_bytes()).second;
        CHECK(is_new);
    });
    CHECK_EQUAL(alive.size(), table.size());
    return alive;
}

Alive alive_in(const Writer& writer) {
    Alive alive;
    const uint64_t high = writer.header->slab_high.load();
    for (uint64_t i = 0; i < high; ++i) {
        const Record& entry = writer.slab[i];
        if (!is_committed(entry.commit.load())) continue;
        RecordCopy words;
        words.tag = entry.tag.load();
        words.reserved = entry.reserved.load();
        const bool is_new =
            alive.try_emplace({words.target(), words.kind(), entry.id.load()}, words.reserved_bytes()).second;
        CHECK(is_new);
    }
    return alive;
}

uint32_t taken_slots(const Writer& writer) {
    uint32_t taken = 0;
    for (uint32_t level = 0; level < kIndexLevels; ++level)
        for (uint32_t i = 0; i < writer.index_buckets[level] * kBucketSlots; ++i)
            taken += writer.index[level][i].load() != 0;
    return taken;
}

RecordCopy a_buffer(uint16_t target, uint64_t id, uint64_t bytes) {
    RecordCopy words;
    words.time = 1;
    words.tag = Tag{Type::allocated, TTMEM_BUFFER, TTMEM_DRAM, kIndexed, 0}.pack();
    words.id = id;
    words.reserved = in::kReserved.pack(bytes) | in::kTarget.pack(target);
    words.requested = bytes;
    return words;
}

RecordCopy a_record(Type type, uint64_t sequence, const RecordCopy& words) {
    RecordCopy record = words;
    record.commit = committed(sequence);
    record.time = sequence;
    record.set_type(type);
    return record;
}

RecordCopy a_free(uint64_t sequence, const RecordCopy& made) {
    RecordCopy record = a_record(Type::freed, sequence, made);
    record.address = made.sequence();
    return record;
}

uint16_t open_chip(uint64_t unique_id) {
    ttmem_device chip{};
    chip.unique_id = unique_id;
    chip.arch = "blackhole";
    return ttmem_device_open(&chip);
}

ttmem_handle report_buffer(uint16_t target, uint64_t id, uint64_t bytes, uint8_t options) {
    ttmem_buffer buffer{};
    buffer.target = target;
    buffer.id = id;
    buffer.requested_bytes = bytes;
    buffer.options = options;
    return ttmem_buffer_alloc(&buffer);
}

void report_free(uint16_t target, uint64_t id) { ttmem_free_id(target, TTMEM_BUFFER, id, TTMEM_DRAM, 0); }

Follower::Follower(std::unique_ptr<JournalReader> journal) : reader(std::move(journal)), book(1, devices) {
    book.set_arena(item_of, reader.get());
}

ReadResult Follower::scan() {
    ++scan_count;
    std::vector<RecordCopy> alive;
    std::vector<TargetCounters> targets;
    const ReadResult result = reader->scan(alive);
    if (result != ReadResult::ok) return result;
    if (!reader->targets(targets, kTargets)) return ReadResult::damaged;
    book.learn_targets(targets, 1);
    book.rebuild(alive, reader->ended_early(), 1);
    return ReadResult::ok;
}

ReadResult Follower::read(size_t most) {
    batch.clear();
    const ReadResult result = reader->read(batch, most);
    if (result == ReadResult::ok) book.apply_all(batch, reader.get(), 1);
    return result;
}

void Follower::catch_up() {
    for (int tries = 0; tries < 100'000; ++tries) {
        const ReadResult result = read();
        REQUIRE(result != ReadResult::damaged);
        if (result == ReadResult::lost_place)
            CHECK(scan() == ReadResult::ok);
        else if (batch.empty())
            return;
    }
    check::fail(__FILE__, __LINE__, "the journal never stood still");
}

}  // namespace ttmem
