// A recording as lives: both ends of each, what a gap leaves of it, and that segments make one story.
#include <map>
#include <random>

#include "recording/lives/reader.hpp"
#include "support/check.hpp"

using namespace ttmem;
using namespace ttmem::recording;

namespace {

constexpr uint16_t kTarget = 3;

RecordCopy buffer(uint64_t sequence, uint64_t time, uint64_t id, uint64_t bytes) {
    RecordCopy words = BufferRecord{{TTMEM_BUFFER, TTMEM_L1, 0, 0, kTarget, id, bytes}, id * 64, bytes, 0, 0, 0}.pack();
    words.commit = committed(sequence);
    words.time = time;
    return words;
}

RecordCopy end_of(const RecordCopy& life, uint64_t sequence, uint64_t time, Ending ending = Ending::freed) {
    RecordCopy words =
        FreedRecord{life.kind(), life.pool(), 0, life.target(), life.id, life.reserved_bytes(), life.sequence()}.pack();
    words.commit = committed(sequence);
    words.time = time;
    words.set_site(static_cast<uint32_t>(ending));
    return words;
}

RecordCopy phase(Type type, uint64_t sequence, uint64_t time, uint32_t number) {
    RecordCopy words = PhaseRecord{type, number, 5, 0, 0, 0}.pack();
    words.commit = committed(sequence);
    words.time = time;
    return words;
}

RecordCopy own(RowType type, uint64_t time, uint64_t id = 0) {
    RecordCopy words;
    words.tag = Tag{static_cast<Type>(type)}.pack();
    words.id = id;
    words.time = time;
    return words;
}

RecordCopy opened(uint64_t unique_id) { return TargetOpenedRecord{kTarget, 0, unique_id}.pack(); }

RecordCopy closed(uint64_t sequence, uint64_t time) {
    RecordCopy words = TargetClosedRecord{kTarget, 0, 0x77}.pack();
    words.commit = committed(sequence);
    words.time = time;
    return words;
}

/// Segments of one process, block by block.
struct Story {
    explicit Story(LifeReader::Range range = {}) : reader(range) {}

    void segment(uint32_t as_number, uint32_t pid = 9) {
        number = as_number;
        reader.begin_segment();
        NameWriter names(false);
        ProcessFacts facts;
        facts.pid = pid;
        facts.started_ns = 1;
        names.process(number, facts);
        names.text(number, 5, "step");
        const uint32_t count = names.count();
        give(BlockKind::names, 0, count, names.take());
    }
    void rows(const std::vector<RecordCopy>& rows, BlockKind kind = BlockKind::events, uint16_t parts = 0) {
        RowEncoder encoder;
        for (const RecordCopy& words : rows) encoder.add(number, words);
        const uint32_t count = encoder.count();
        give(kind, parts, count, encoder.take());
    }
    void keyframe(std::vector<RecordCopy> rows, uint16_t parts = 0, uint64_t flags = 1) {
        rows.insert(rows.begin(), {own(RowType::process_began, 0, flags), opened(0x77)});
        rows.push_back(own(RowType::process_whole, 0));
        this->rows(rows, BlockKind::keyframe, parts);
    }
    void give(BlockKind kind, uint16_t parts, uint32_t row_count, const std::string& payload) {
        BlockHead head;
        head.kind = kind;
        head.parts = parts;
        head.row_count = row_count;
        head.stored_bytes = head.plain_bytes = static_cast<uint32_t>(payload.size());
        std::string error;
        const StoredBlock block{head, {}, payload};
        const bool is_read = kind == BlockKind::names ? reader.read_names_of(block, error) : reader.apply(block, error);
        CHECK(is_read);
    }

    /// Of the life that some sequence began.
    uint64_t of(uint64_t sequence, LifeColumn column) {
        const auto& begun = reader.lives()[LifeColumn::begin_sequence];
        uint64_t found = ~0ull, times = 0;
        for (size_t i = 0; i < begun.size(); ++i)
            if (begun[i] == sequence) {
                found = reader.lives()[column][i];
                ++times;
            }
        CHECK_EQUAL(times, 1u);
        return found;
    }
    LifeEnding ending(uint64_t sequence) { return static_cast<LifeEnding>(of(sequence, LifeColumn::ending)); }

    LifeReader reader;
    uint32_t number = 0;
};

}  // namespace

TEST(a_life_has_both_its_ends) {
    Story story;
    story.segment(0);
    const RecordCopy first = buffer(2, 1000, 1, 4096), second = buffer(3, 1100, 2, 64), third = buffer(4, 1200, 3, 64);
    story.rows({opened(0x77), first, second, third, end_of(first, 5, 1300), end_of(second, 6, 1400, Ending::replaced)});
    story.rows({closed(9, 1500), buffer(10, 1600, 4, 64), buffer(11, 1700, 5, 64)});
    story.reader.finish();
    CHECK_EQUAL(story.reader.lives().size(), 5u);
    CHECK(story.ending(2) == LifeEnding::freed);
    CHECK(story.ending(3) == LifeEnding::replaced);
    CHECK(story.ending(4) == LifeEnding::device_closed);
    CHECK(story.ending(10) == LifeEnding::alive);
    CHECK_EQUAL(story.of(2, LifeColumn::begin_ns), 1000u);
    CHECK_EQUAL(story.of(2, LifeColumn::end_ns), 1300u);
    CHECK_EQUAL(story.of(2, LifeColumn::latest_end_ns), 1300u);
    CHECK_EQUAL(story.of(2, LifeColumn::bytes), 4096u);
    CHECK_EQUAL(story.of(4, LifeColumn::end_ns), 1500u);
    CHECK_EQUAL(story.of(4, LifeColumn::end_sequence), 9u);
    CHECK_EQUAL(story.of(10, LifeColumn::end_ns), 0u);
    CHECK_EQUAL(story.reader.chip_sets().all().at(story.of(2, LifeColumn::chips)).at(0), 0x77u);
}

TEST(what_is_freed_before_its_thread_allocates_again_is_temporary) {
    Story story;
    story.segment(0);
    const RecordCopy first = buffer(2, 1, 1, 64), second = buffer(4, 3, 2, 64), third = buffer(5, 4, 3, 64);
    RecordCopy others = buffer(6, 5, 4, 64);
    others.set_thread(1);
    story.rows({first, end_of(first, 3, 2), second, third, others, end_of(second, 7, 6), end_of(third, 8, 7)});
    CHECK((story.of(2, LifeColumn::flags) & kIsTemporary) != 0);
    CHECK((story.of(4, LifeColumn::flags) & kIsTemporary) == 0);
    CHECK((story.of(5, LifeColumn::flags) & kIsTemporary) != 0);  // another thread allocated
}

TEST(a_life_that_ended_in_a_gap_has_an_earliest_and_a_latest_end) {
    Story story;
    story.segment(0);
    const RecordCopy kept = buffer(2, 1000, 1, 64), gone = buffer(3, 1100, 2, 64), found = buffer(20, 1900, 3, 64);
    story.rows({kept, gone, phase(Type::phase_began, 4, 1150, 1), own(RowType::gap_began, 1200, 7)});
    story.rows({own(RowType::gap_ended, 2000, 7)});
    RecordCopy ended = phase(Type::phase_ended, 15, 1800, 1);
    story.keyframe({phase(Type::phase_began, 4, 1150, 1), ended, kept, found});
    story.rows({end_of(kept, 30, 2500)});
    story.reader.finish();
    CHECK(story.ending(3) == LifeEnding::lost);
    CHECK_EQUAL(story.of(3, LifeColumn::end_ns), 1200u);
    CHECK_EQUAL(story.of(3, LifeColumn::latest_end_ns), 2000u);
    CHECK_EQUAL(story.of(3, LifeColumn::end_mark), 0u);  // not alive for sure at the end of any phase
    CHECK(story.ending(2) == LifeEnding::freed);
    CHECK_EQUAL(story.of(2, LifeColumn::end_mark), 1u);
    CHECK(story.ending(20) == LifeEnding::alive);
    CHECK((story.of(20, LifeColumn::flags) & kWasFound) != 0);
    CHECK_EQUAL(story.of(20, LifeColumn::begin_mark), 1u);
    CHECK_EQUAL(story.of(20, LifeColumn::phase), 0u);
    REQUIRE(story.reader.phases().size() == 1);
    CHECK(story.reader.phases()[0].is_unsure);
    CHECK_EQUAL(story.reader.processes()[0].gap_count, 1u);
}

TEST(a_process_that_is_lost_until_its_end_leaves_lost_lives) {
    Story story;
    story.segment(0);
    story.rows({buffer(2, 1000, 1, 64), own(RowType::gap_began, 1200, 7), own(RowType::process_ended, 3000)});
    story.reader.finish();
    CHECK(story.ending(2) == LifeEnding::lost);
    CHECK_EQUAL(story.of(2, LifeColumn::latest_end_ns), 3000u);
}

TEST(segments_make_one_story) {
    Story story;
    story.segment(0);
    const RecordCopy life = buffer(2, 1000, 1, 64);
    story.rows({life, phase(Type::phase_began, 3, 1010, 1)});
    story.segment(4);  // it has another number there
    RecordCopy again = life;
    again.time += 3;  // clocks are converted anew
    story.keyframe({phase(Type::phase_began, 3, 1013, 1), again}, kFirstPart | kLastPart);
    story.rows({phase(Type::phase_ended, 4, 1020, 1), end_of(life, 5, 1100), own(RowType::process_ended, 1200)});
    story.reader.finish();
    CHECK_EQUAL(story.reader.lives().size(), 1u);
    CHECK(story.ending(2) == LifeEnding::freed);
    CHECK_EQUAL(story.of(2, LifeColumn::begin_ns), 1000u);
    CHECK_EQUAL(story.of(2, LifeColumn::flags) & kWasFound, 0u);
    CHECK_EQUAL(story.reader.processes().size(), 1u);
    CHECK_EQUAL(story.reader.phases().size(), 1u);
    CHECK_EQUAL(story.reader.phases()[0].run, 1u);
}

TEST(another_recorder_finds_the_same_process_again) {
    Story story;
    story.segment(0);
    const RecordCopy kept = buffer(2, 1000, 1, 64), gone = buffer(3, 1100, 2, 64);
    story.rows({kept, gone});
    story.segment(0);
    story.rows({}, BlockKind::keyframe, kFirstPart | kLastPart);  // it knows nobody yet
    story.rows({own(RowType::gap_ended, 5000)});
    story.keyframe({kept});
    story.reader.finish();
    CHECK_EQUAL(story.reader.lives().size(), 2u);
    CHECK(story.ending(2) == LifeEnding::alive);
    CHECK(story.ending(3) == LifeEnding::lost);
    CHECK_EQUAL(story.of(3, LifeColumn::end_ns), 1100u);
    CHECK_EQUAL(story.of(3, LifeColumn::latest_end_ns), 5000u);
}

TEST(rows_that_could_not_be_written_are_a_gap) {
    Story story;
    story.segment(0);
    const RecordCopy kept = buffer(2, 1000, 1, 64), gone = buffer(3, 1100, 2, 64), other = buffer(8, 1300, 9, 64);
    story.rows({kept, gone});
    story.segment(0);
    story.keyframe({kept, other}, kFirstPart | kLastPart);
    story.reader.finish();
    CHECK(story.ending(3) == LifeEnding::lost);
    CHECK(story.ending(8) == LifeEnding::alive);
    CHECK_EQUAL(story.reader.processes()[0].gap_count, 1u);
}

TEST(a_range_leaves_out_what_had_ended_and_stops_at_its_end) {
    Story story({1250, 1450, ~0ull});
    story.segment(0);
    const RecordCopy early = buffer(2, 1000, 1, 64), within = buffer(3, 1100, 2, 64), late = buffer(4, 1150, 3, 64);
    story.rows({early, within, late, end_of(early, 5, 1200), end_of(within, 6, 1300), end_of(late, 7, 1500)});
    CHECK(story.reader.has_stopped());
    story.reader.finish();
    CHECK_EQUAL(story.reader.lives().size(), 2u);
    CHECK(story.ending(3) == LifeEnding::freed);
    CHECK(story.ending(4) == LifeEnding::alive);
}

TEST(lives_are_found_by_their_sequence_however_many_come_and_go) {
    std::mt19937_64 random(7);
    LifeIndex index;
    std::map<uint64_t, uint32_t> expected;
    for (uint32_t i = 0; i < 200'000; ++i) {
        const uint64_t sequence = 1 + random() % 3000;
        if (expected.contains(sequence)) {
            index.erase(sequence);
            expected.erase(sequence);
        } else {
            index.insert(sequence, i);
            expected[sequence] = i;
        }
        const uint64_t other = 1 + random() % 3000;
        const uint32_t* found = index.find(other);
        REQUIRE((found != nullptr) == expected.contains(other));
        if (found != nullptr) REQUIRE(*found == expected[other]);
    }
    CHECK_EQUAL(index.size(), expected.size());
}
