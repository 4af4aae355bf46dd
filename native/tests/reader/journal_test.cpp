// Reading one journal, alone: headers that are refused, the way along the ring, and torn records that never get through.
#include "reader/journal.hpp"

#include <functional>

#include "support/check.hpp"
#include "support/interleaving.hpp"
#include "support/journals.hpp"

namespace ttmem {
namespace {

constexpr Sizes kSmall{64, 16};

/// A source that lets the test act between two copies, as a writer on another core would.
class ScriptedSource final : public Source {
public:
    ScriptedSource(const void* base, uint64_t bytes, std::function<void(int)> script)
        : memory_(base, bytes), script_(std::move(script)) {}
    bool copy(uint64_t offset, void* to, size_t bytes) const noexcept override {
        script_(copies_++);
        return memory_.copy(offset, to, bytes);
    }

private:
    MemorySource memory_;
    std::function<void(int)> script_;
    mutable int copies_ = 0;
};

/// A journal whose records are published by hand, in any order.
class Stage : public BareJournal {
public:
    Stage() : BareJournal(kSmall) {}
    void give(uint64_t next) { header().next_sequence.store(next); }
    void commit(uint64_t sequence) { publish(writer, sequence, a_buffer(1, sequence, sequence)); }
    void commit(uint64_t first, uint64_t last) {
        give(last + 1);
        for (uint64_t sequence = first; sequence <= last; ++sequence) commit(sequence);
    }
    std::unique_ptr<JournalReader> scripted(std::function<void(int)> script) {
        std::string error;
        auto opened = JournalReader::open(
            std::make_unique<ScriptedSource>(writer.header, writer.bytes, std::move(script)), writer.bytes, error);
        REQUIRE(opened != nullptr);
        return opened;
    }
};

std::vector<uint64_t> sequences(const std::vector<RecordCopy>& events) {
    std::vector<uint64_t> found;
    for (const RecordCopy& event : events) {
        CHECK_EQUAL(event.id, event.sequence());
        CHECK_EQUAL(event.reserved_bytes(), event.sequence());
        found.push_back(event.sequence());
    }
    return found;
}

std::vector<uint64_t> from_to(uint64_t first, uint64_t last) {
    std::vector<uint64_t> numbers;
    for (; first <= last; ++first) numbers.push_back(first);
    return numbers;
}

std::string refusal_of(const void* base, uint64_t bytes, uint64_t file_bytes) {
    std::string error;
    CHECK(JournalReader::open(std::make_unique<MemorySource>(base, bytes), file_bytes, error) == nullptr);
    return error;
}

}  // namespace

TEST(a_header_that_is_not_whole_or_not_ours_is_refused_with_a_reason) {
    Stage stage;
    Identity& identity = stage.header().identity;
    const Identity good = identity;
    const uint64_t bytes = stage.writer.bytes;
    const auto refused = [&](const char* reason) {
        CHECK(refusal_of(stage.writer.header, bytes, bytes).find(reason) != std::string::npos);
        identity = good;
    };
    identity.magic ^= 1, refused("not a ttmem journal");
    identity.version = kVersion + 1, refused("version 5");
    identity.version = 1, refused("version 1");
    identity.table = 65, refused("impossible sizes");
    identity.table = 0, refused("impossible sizes");
    identity.table = 1u << 31, refused("impossible sizes");
    identity.ring_slots = 8, refused("impossible sizes");
    identity.table = 128, refused("bytes long");
    identity.file_bytes += 1, refused("bytes long");
    identity.slab_offset += 64, refused("parts");
    identity.arena_offset = ~uint64_t{0}, refused("parts");
    identity.header_bytes = 0, refused("parts");
    identity.target_count = 1u << 30, refused("parts");
    identity.first_sequence = 0, refused("first sequence");
    identity.first_sequence = ~uint64_t{0}, refused("first sequence");
    CHECK(refusal_of(stage.writer.header, bytes, bytes - 1).find("bytes long") != std::string::npos);
    CHECK(refusal_of(stage.writer.header, 100, 100).find("too short") != std::string::npos);
    CHECK(refusal_of(stage.writer.header, 100, bytes).find("too short") != std::string::npos);
    const std::vector<uint64_t> zeros(bytes / 8);
    CHECK(refusal_of(zeros.data(), bytes, bytes).find("not a ttmem journal") != std::string::npos);
}

TEST(records_come_in_order_each_once) {
    Stage stage;
    const auto reader = stage.reader();
    std::vector<RecordCopy> events;
    for (uint64_t lap = 0; lap < 10; ++lap) {
        stage.commit(lap * 10 + 1, lap * 10 + 10);
        CHECK(reader->read(events, 4) == ReadResult::ok);
        CHECK(reader->read(events, 100) == ReadResult::ok);
    }
    CHECK(sequences(events) == from_to(1, 100));
    CHECK_EQUAL(reader->position(), 101u);
}

TEST(an_open_call_is_passed_over_and_comes_later) {
    Stage stage;
    const auto reader = stage.reader();
    std::vector<RecordCopy> events;
    stage.commit(1, 2);
    stage.commit(4, 6);
    CHECK(reader->read(events, 100) == ReadResult::ok);
    CHECK(sequences(events) == (std::vector<uint64_t>{1, 2, 4, 5, 6}));
    CHECK(reader->pending() == std::vector<uint64_t>{3});
    CHECK(reader->is_pending(3) && !reader->is_pending(4));
    events.clear();
    CHECK(reader->read(events, 100) == ReadResult::ok);
    CHECK(events.empty());
    stage.commit(3);
    stage.commit(7, 7);
    CHECK(reader->read(events, 100) == ReadResult::ok);
    CHECK(sequences(events) == (std::vector<uint64_t>{3, 7}));
    CHECK(reader->pending().empty());
}

TEST(a_dead_writers_open_calls_are_dropped) {
    Stage stage;
    const auto reader = stage.reader();
    std::vector<RecordCopy> events;
    stage.give(4);
    stage.commit(2);
    CHECK(reader->read(events, 100) == ReadResult::ok);
    CHECK_EQUAL(reader->pending().size(), 2u);
    reader->drop_pending();
    CHECK(reader->pending().empty());
}

TEST(a_lapped_reader_knows_it) {
    Stage stage;
    const auto reader = stage.reader();
    std::vector<RecordCopy> events;
    stage.commit(1, 16);
    CHECK(reader->read(events, 100) == ReadResult::ok);
    CHECK_EQUAL(events.size(), 16u);
    stage.commit(17, 33);
    CHECK(reader->read(events, 100) == ReadResult::lost_place);
}

TEST(a_pending_call_that_was_overwritten_is_a_lost_place) {
    Stage stage;
    const auto reader = stage.reader();
    std::vector<RecordCopy> events;
    stage.give(6);
    for (const uint64_t sequence : {1u, 3u, 4u, 5u}) stage.commit(sequence);
    CHECK(reader->read(events, 100) == ReadResult::ok);
    stage.commit(6, 18);
    CHECK(reader->read(events, 100) == ReadResult::lost_place);
}

TEST(a_skipped_record_is_a_lost_place_even_if_nothing_else_happened) {
    Stage stage;
    const auto reader = stage.reader();
    std::vector<RecordCopy> events;
    stage.commit(1, 4);
    CHECK(reader->read(events, 100) == ReadResult::ok);
    stage.header().skipped.fetch_add(1);
    CHECK(reader->read(events, 100) == ReadResult::lost_place);
    CHECK(reader->scan(events) == ReadResult::ok);
    CHECK(reader->read(events, 100) == ReadResult::ok);
}

TEST(a_head_that_went_backwards_is_damage) {
    Stage stage;
    const auto reader = stage.reader();
    std::vector<RecordCopy> events;
    stage.commit(1, 10);
    CHECK(reader->read(events, 100) == ReadResult::ok);
    stage.give(5);
    CHECK(reader->read(events, 100) == ReadResult::damaged);
    stage.give(0);
    CHECK(reader->scan(events) == ReadResult::damaged);
}

TEST(a_record_overwritten_while_it_is_copied_never_gets_through) {
    // Whatever copy the writer comes before: the reader returns whole records of this lap, or has lost its place.
    for (int at = 0; at < 8; ++at) {
        Stage stage;
        stage.commit(1, 16);
        bool has_come = false;
        const auto reader = stage.scripted([&](int copy) {
            if (copy != at + 1 || has_come) return;  // the first copy reads the header
            has_come = true;
            stage.commit(17, 19);
        });
        std::vector<RecordCopy> events;
        const ReadResult result = reader->read(events, 100);
        if (result == ReadResult::lost_place) continue;
        CHECK(result == ReadResult::ok);
        CHECK(sequences(events) == from_to(1, 16));
    }
}

TEST(a_writer_in_the_middle_of_a_slot_is_seen_as_open_not_as_either_record) {
    Stage stage;
    stage.commit(1, 16);
    const auto reader = stage.reader();
    std::vector<RecordCopy> events;
    CHECK(reader->read(events, 100) == ReadResult::ok);
    stage.give(18);
    ParkedThread writer(steps::slot_half_written, [&] { stage.commit(17); });
    events.clear();
    CHECK(reader->read(events, 100) == ReadResult::ok);
    CHECK(events.empty());
    CHECK(reader->pending() == std::vector<uint64_t>{17});
    writer.finish();
    CHECK(reader->read(events, 100) == ReadResult::ok);
    CHECK(sequences(events) == std::vector<uint64_t>{17});
}

TEST(a_journal_cut_short_is_damage_and_no_over_read) {
    Stage stage;
    stage.commit(1, 8);
    std::vector<uint64_t> copy(stage.writer.bytes / 8);
    MemorySource(stage.writer.header, stage.writer.bytes).copy(0, copy.data(), stage.writer.bytes);
    std::string error;
    for (const uint64_t cut :
         {sizeof(Identity), size_t{1100}, size_t{4096}, static_cast<size_t>(plan_of(kSmall).ring)}) {
        // A source that ends early although the file was said to be whole: as if it was cut after it was opened.
        auto reader = JournalReader::open(std::make_unique<MemorySource>(copy.data(), cut), stage.writer.bytes, error);
        if (reader == nullptr) continue;
        std::vector<RecordCopy> events;
        std::vector<TargetCounters> targets;
        std::vector<uint64_t> rows;
        CHECK(reader->read(events, 100) == ReadResult::damaged);
        CHECK(reader->scan(events) == ReadResult::damaged);
        CHECK(!reader->phase_rows(rows));
        CHECK_EQUAL(reader->item(1, Item::text), std::string());
        CHECK_EQUAL(reader->targets(targets, kTargets), cut >= kPage + kTargets * sizeof(Target));
        CHECK_EQUAL(reader->arena(), std::string());
    }
}

TEST(an_item_is_read_only_if_it_is_whole_and_of_its_kind) {
    track(kSmall);
    const uint32_t id = ttmem_intern("hello", 5);
    const auto reader = own_reader();
    CHECK_EQUAL(reader->item(id, Item::text), std::string("hello"));
    CHECK_EQUAL(reader->item(id, Item::device), std::string());
    CHECK_EQUAL(reader->item(0, Item::text), std::string());
    CHECK_EQUAL(reader->item(kArenaBytes / 8, Item::text), std::string());
    CHECK_EQUAL(reader->item(~0u, Item::text), std::string());
    auto& head = *reinterpret_cast<AtomicU64*>(the_writer.arena + uint64_t{id} * 8);
    head.store(uint64_t{1} << 32 | 0xffff'ffff);
    CHECK_EQUAL(reader->item(id, Item::text), std::string());
    head.store(uint64_t{1} << 32 | (kArenaBytes - id * 8 - 8));
    CHECK_EQUAL(reader->item(id, Item::text).size(), size_t{kArenaBytes - id * 8 - 8});
}

TEST(only_a_journal_that_was_not_overwritten_is_read_from_its_beginning) {
    Stage stage;
    const auto reader = stage.reader();
    stage.commit(1, 8);
    CHECK(reader->start_at_beginning());
    CHECK_EQUAL(reader->settled_at(), 9u);
    stage.commit(9, 14);
    CHECK(reader->start_at_beginning());
    CHECK_EQUAL(reader->settled_at(), 15u);
    stage.commit(15, 15);  // what was first may be overwritten before it is read
    CHECK(!reader->start_at_beginning());
}

}  // namespace ttmem
