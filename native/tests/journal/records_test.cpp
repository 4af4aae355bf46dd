// The words of every record: packed, unpacked, and in the file as they always were.
#include <cinttypes>
#include <limits>
#include <vector>

#include "journal/layout.hpp"
#include "support/check.hpp"
#include "support/journals.hpp"
#include "writer/operations.hpp"

namespace ttmem {
namespace {

// ---- the story: begins
void tell_of_buffers(uint16_t chip) {
    ttmem_buffer buffer{};
    buffer.id = 0xfeed'0123'4567'89ab;
    buffer.address = 0xffff'ffff'ffff;
    buffer.requested_bytes = 3u << 27;
    buffer.reserved_bytes = 1ull << 42;
    buffer.per_bank_bytes = 0x123'4567'89ab;
    buffer.page_bytes = 1u << 27;
    buffer.site = 0x8765'4321;
    buffer.target = chip;
    buffer.type = TTMEM_BUFFER_L1;
    buffer.layout = TTMEM_ND_SHARDED;
    ttmem_buffer_alloc(&buffer);
    buffer.page_bytes = 0x7ff'ffff;
    const ttmem_handle replaced = ttmem_buffer_alloc(&buffer);
    buffer.id = 2;
    buffer.options = TTMEM_VIEW | TTMEM_BY_HANDLE;
    const ttmem_handle view = ttmem_buffer_alloc(&buffer);
    buffer.options = TTMEM_BY_HANDLE | TTMEM_HOLDS_TRACE;
    buffer.type = TTMEM_BUFFER_DRAM;
    buffer.requested_bytes = ~0ull >> 1;
    ttmem_free(ttmem_buffer_alloc(&buffer));
    ttmem_free(view);
    ttmem_free(view);  // of nothing
    change_site(replaced, 0x8765'4321, 0x1234'5678);
    const ttmem_core_part parts[] = {{0xffff'fff0, 0xfff'ffff, 64}, {0x1000, 0x1'2345, 3}};
    ttmem_core_buffer by_core{};
    by_core.id = 3;
    by_core.size_per_core_bytes = 0x7ff'ffff;
    by_core.parts = parts;
    by_core.part_count = 2;
    by_core.target = chip;
    by_core.type = TTMEM_BUFFER_L1_SMALL;
    by_core.layout = TTMEM_HEIGHT_SHARDED;
    ttmem_core_buffer_alloc(&by_core);
    ttmem_free_id(chip, TTMEM_BUFFER, 3, TTMEM_L1_SMALL, 0);
    ttmem_free_id(chip, TTMEM_BUFFER, 4, TTMEM_L1_SMALL, 17);  // of nothing
}

void tell_of_programs(uint16_t chip) {
    ttmem_circular_buffer cb{};
    cb.id = 5;
    cb.program = 0xffff'ffff'ffff;
    cb.address = 0xffff'ffe0;
    cb.core_set = 0xfedc'ba98;
    cb.size_per_core_bytes = 0x10'0000;
    cb.core_count = 0xffff;
    cb.target = chip;
    cb.kind = TTMEM_SCRATCHPAD;
    cb.site = 77;
    ttmem_cb_alloc(&cb);
    ttmem_kernel kernel{};
    kernel.id = 6;
    kernel.program = 0x1234'5678'9abc;
    kernel.binary_bytes = 0x1'0001;
    kernel.core_count = 120;
    kernel.target = chip;
    kernel.kind = TTMEM_KERNEL_FABRIC;
    kernel.core_type = TTMEM_ACTIVE_ETH;
    kernel.found_by = TTMEM_FOUND_SIZE;
    ttmem_kernel_load(&kernel);
    ttmem_binaries_placed(chip, 9, TTMEM_COMMITTED, 0x4000, 0xffff'ff00);
    ttmem_binary_status(chip, 9, TTMEM_IN_FLIGHT, 0);
    ttmem_program_operation(chip, 9, 0xabcd'ef01);
    ttmem_launch(chip, 9);
    const RingMove move = RingMove::of(chip, TTMEM_ACTIVE_ETH, TTMEM_STALL_COUNT - 1, false);
    count_launch(chip, 9, 0, {0xfedc'ba98'7654'3210, 70'656, LaunchedRing::word_of(move, 0xab'cdef)});
    ttmem_binaries_placed(chip, 9, TTMEM_COMMITTED, 0x8000, 0xffff'0000);
    const ttmem_ring_state ring{1ull << 42, 0x123'4567, 70'656, 0xffff'ffff, chip, TTMEM_TENSIX, 1, 1};
    ttmem_ring(&ring);
    const ttmem_cache_answer answer{1ull << 42, 1ull << 41, 0x123'4567'89ab, 0xffff'fffe, chip, 4, 3};
    ttmem_cache(&answer);
}

void report_the_rest(uint16_t chip) {
    const uint32_t phase = ttmem_phase_begin(11);
    ttmem_phase_end(phase);
    ttmem_label("a label");
    ttmem_out_of_memory(chip, TTMEM_DRAM, 1ull << 42, 0x123'4567, 0x12'3456);
    ttmem_clash(chip, ~0ull, 0xffff'ffff'ffff, 0x1234'5678'9abc);
    ttmem_trace_begin(chip, 0xdead'beef'0000'0001, 12);
    ttmem_trace_end(chip, 0xdead'beef'0000'0001, 0x123'4567);
    ttmem_trace_replay(chip, 0xdead'beef'0000'0001);
    ttmem_trace_release(chip, 0xdead'beef'0000'0001);
    ttmem_device_close(chip);
}
// ---- the story: ends

struct Golden {
    uint64_t commit, tag, id, address, reserved, requested, per_bank;
};

constexpr Golden kGolden[] = {
#include "golden_records.inc"
};

template <typename Packed>
void check_comes_back(const Packed& packed) {
    CHECK(comes_back(packed));
}

}  // namespace

// They were written by the code of before there was a codec. Anyone who must change them changes the file's format: then
// kVersion has to move.
TEST(every_record_has_the_words_it_always_had) {
    track({64, 128});
    const uint16_t chip = open_chip(0xfeed'face'cafe'beef);
    tell_of_buffers(chip);
    tell_of_programs(chip);
    report_the_rest(chip);
    CHECK_EQUAL(kVersion, 5u);
    REQUIRE(the_writer.header->identity.first_sequence == 1);
    CHECK_EQUAL(the_writer.header->next_sequence.load(), std::size(kGolden) + 1);
    bool is_seen[static_cast<size_t>(kNewestType) + 1] = {true};
    for (size_t i = 0; i < std::size(kGolden); ++i) {
        const Record& found = the_writer.ring[i + 1];
        const Golden& golden = kGolden[i];
        CHECK_EQUAL(found.commit.load(), golden.commit);
        CHECK_EQUAL(found.tag.load(), golden.tag);
        CHECK_EQUAL(found.id.load(), golden.id);
        CHECK_EQUAL(found.address.load(), golden.address);
        CHECK_EQUAL(found.reserved.load(), golden.reserved);
        CHECK_EQUAL(found.requested.load(), golden.requested);
        CHECK_EQUAL(found.per_bank.load(), golden.per_bank);
        is_seen[static_cast<size_t>(tag_of(found).type)] = true;
    }
    for (const bool is_there : is_seen) CHECK(is_there);
}

TEST(a_live_entry_comes_back_at_its_extremes) {
    const Entry most{255, 255, 255, ~0u, 0xffff, ~0ull, in::kCharge.most()};
    for (const Entry& entry : {Entry{}, most}) {
        check_comes_back(entry);
        check_comes_back(BufferRecord{entry});
        check_comes_back(BufferRecord{entry, in::kAddress.most(), kSizeMost, kSizeMost, kPageCounted - 1, 7});
        check_comes_back(BufferRecord{entry, 0, kSizeMost, 0, kSizeMost, 0});
        check_comes_back(CorePartRecord{entry});
        check_comes_back(
            CorePartRecord{entry, in::kAddress.most(), kSizeMost, kPerCoreMost, (1u << kCodeBits) - 1, kTableMost, 7});
        check_comes_back(CircularBufferRecord{entry});
        check_comes_back(CircularBufferRecord{entry, ~0u, ~0u, in::kRequested.most(), in::kPerBank.most(), 0xffff});
        check_comes_back(KernelRecord{entry});
        check_comes_back(KernelRecord{entry, in::kProgram.most(), kSizeMost, kSizeMost, 0xffff, 15, 15});
        check_comes_back(SocketRecord{entry});
        check_comes_back(SocketRecord{entry, ~0ull, kSizeMost, in::kPerBank.most(), 0xffff});
    }
    check_comes_back(ProgramRecord{});
    check_comes_back(ProgramRecord{0xffff, ~0ull, 3, in::kLaunches.most(), kSizeMost, ~0ull, ~0u, ~0u, 0xffff});
}

TEST(a_program_changes_in_one_word_and_leaves_the_rest_of_it_alone) {
    const uint64_t word = ProgramRecord{1, 2, 1, 7, 0, 0, 0, 0, 0xabcd}.pack().per_bank;
    CHECK(ProgramRecord::is_made_by(word, 0x5'abcd));
    CHECK(!ProgramRecord::is_made_by(word, 0x5'abce));
    CHECK_EQUAL(ProgramRecord::launches_in(ProgramRecord::with_another_launch(word)), 8u);
    const uint64_t changed = ProgramRecord::with_launches(ProgramRecord::with_status(word, 3), in::kLaunches.most());
    CHECK_EQUAL(changed, (ProgramRecord{1, 2, 3, in::kLaunches.most(), 0, 0, 0, 0, 0xabcd}.pack().per_bank));
}

TEST(a_record_comes_back_at_its_extremes) {
    const uint64_t all = ~0ull, most = in::kReserved.most();
    check_comes_back(FreedRecord{255, 255, 255, 0xffff, all, kSizeMost, all});
    check_comes_back(StatusChangedRecord{0xffff, all, 3});
    const RingMove move = RingMove::of(0xffff, 255, 255, true);
    check_comes_back(LaunchedRecord{0xffff, all, most, {all, most, LaunchedRing::word_of(move, 0xff'ffff)}});
    check_comes_back(LaunchedRecord{0xffff, all, most});
    check_comes_back(RingMovedRecord{all, all, most, most, move});
    check_comes_back(CacheAnsweredRecord{0xffff, 255, 255, all, all, most, most});
    check_comes_back(TargetOpenedRecord{0xffff, ~0u, all});
    check_comes_back(TargetClosedRecord{0xffff, all, all});
    for (const Type type : {Type::phase_began, Type::phase_peaked, Type::phase_ended})
        check_comes_back(PhaseRecord{type, ~0u, ~0u, 0xffff, 255, most});
    CHECK_EQUAL(PhaseRecord::unpack(PhaseRecord{Type::phase_peaked, 1, 2, 3, 4, most + 1}.pack()).peak, most);
    check_comes_back(LabelledRecord{~0u});
    check_comes_back(OutOfMemoryRecord{0xffff, 255, all, all, kSizeMost});
    check_comes_back(ClashedRecord{0xffff, all, all, most});
    check_comes_back(IncidentRecord{all, 255, 255, 0xffff, ~0u, kSizeMost});
    for (const Type type : {Type::trace_captured, Type::trace_replayed, Type::trace_released})
        check_comes_back(TraceRecord{type, 0xffff, all, kSizeMost});
    check_comes_back(ProgramNamedRecord{0xffff, all, ~0u});
    check_comes_back(SiteChangedRecord{255, 255, 0xffff, all, all, ~0u});
}

TEST(a_ring_in_the_record_of_its_launch_says_what_its_own_record_would) {
    const RingMove move = RingMove::of(3, TTMEM_TENSIX, 1, false);
    const LaunchedRing ring{LaunchedRing::levels_of(~0u, 5), 70'656, LaunchedRing::word_of(move, 9)};
    const LaunchedRing read = LaunchedRecord::unpack(LaunchedRecord{3, 1, 1, ring}.pack()).ring;
    CHECK(RingMovedRecord::of(read) == (RingMovedRecord{~0u, 5, 70'656, 9, move}));
}

TEST(a_life_becomes_its_end_and_forgets_whom_it_replaced) {
    RecordCopy life = BufferRecord{{TTMEM_BUFFER, TTMEM_L1, kIndexed, 4, 5, 6, kSizeMost}, 7, 8, 9, 10, 1}.pack();
    life.commit = committed(1234);
    life.set_thread(11);
    const RecordCopy before = life;
    life.name_replaced(1200);
    CHECK_EQUAL(life.flags(), kIndexed | kReplaced);
    CHECK_EQUAL(life.reserved_bytes(), kSizeMost);
    CHECK(life.is_replacement_of(1200) && life.is_replacement_of(1168) && !life.is_replacement_of(1201));
    life.forget_replaced();
    CHECK(life == before);
    FreedRecord::end(life);
    CHECK(FreedRecord::unpack(life) == (FreedRecord{TTMEM_BUFFER, TTMEM_L1, kIndexed, 5, 6, kSizeMost, 1234}));
    CHECK_EQUAL(life.requested, before.requested);
    CHECK_EQUAL(life.per_bank, before.per_bank);
}

TEST(words_beside_the_records_come_back_at_their_extremes) {
    const auto comes_back_from_word = [](const auto& packed) { return packed.unpack(packed.pack()) == packed; };
    CHECK(comes_back_from_word(Tag{static_cast<Type>(255), 255, 255, 255, ~0u}));
    CHECK(comes_back_from_word(PhasePlace{~0u, kNoTarget, 255}));
    CHECK(comes_back_from_word(ItemWord{~0u, Item::mesh}));
    CHECK(comes_back_from_word(NodeWord{Node::device_operation, 0xfff'ffff}));
    CHECK_EQUAL(NodeWord::unpack(NodeWord{Node::frame, 0x1000'0000}.pack()).line, 0u);  // unknown, not another one
    CHECK(comes_back_from_word(IncidentPlace{255, 255, 0xffff, 0xffff, 0xffff}));
    CHECK(comes_back_from_word(SiteAndPhase{~0u, 0}) && comes_back_from_word(SiteAndPhase{0, ~0u}));
    CHECK(comes_back_from_word(OtherSiteAndCores{~0u, 0}) && comes_back_from_word(OtherSiteAndCores{0, ~0u}));
    CHECK(comes_back_from_word(Handle{Handle::kMadeBy.most(), kTableMost - 1}));
    CHECK((Handle{~0ull, kTableMost - 1}.pack() & kUntabledHandle) == 0);
    CHECK(comes_back_from_word(UntabledHandle{kTargets - 1, kPools - 1, kKinds - 1, kSizeMost}));
    CHECK_EQUAL(sequence_of(committed(77)), 77u);
    CHECK(is_committed(committed(77)) && is_busy(busy(77)) && !is_committed(busy(77)) && !is_committed(0));
}

}  // namespace ttmem
