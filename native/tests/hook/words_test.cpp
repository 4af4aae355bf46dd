// What the runtime says when it refuses memory, read: sentences of the releases 0.75 to 0.81.1 as they were thrown.
#include "hook/refusals/words.cpp"  // the hook is one piece with the runtime; this part of it needs none

#include <string>

#include "support/check.hpp"

namespace ttmem::hook {
namespace {

const std::string kLockstep =
    "TT_FATAL @ /project/tt_metal/impl/allocator/bank_manager.cpp:514: false\ninfo:\n"
    "Out of Memory: Not enough space to allocate 8589934592 B DRAM buffer across 12 banks, where each bank needs to "
    "store "
    "715829248 B, but bank size is 1072693184 B (allocated: 715829249 B, free: 356863936 B, largest free block: "
    "356863935 B).\nbacktrace:\n --- tt::tt_metal::BankManager::allocate_buffer()";
const std::string kDependent =
    "Out of Memory: Not enough space after considering dependencies to allocate 2867200 B L1 across 4 banks (716800 B "
    "per "
    "bank), bank size is 1360544 B (allocated: 0 B, free: 1360544 B, largest free block: 1360543 B). After subtracting "
    "0 "
    "dependency range(s) and 3 additional occupied range(s), 336544 B remained placeable across 1 window(s), largest "
    "336544 B.";
const std::string kClash =
    "Statically allocated circular buffers in program 12 clash with L1 buffers on core range [0-1 - 7-6]. L1 buffer "
    "allocated at 1056768 and static circular buffer region ends at 1466080";

RefusedWords refused(const std::string& text) {
    RefusedWords words;
    CHECK(read_refused(text, words));
    return words;
}

ClashWords clash(const std::string& text) {
    ClashWords words;
    CHECK(read_clash(text, words));
    return words;
}

std::string replaced(std::string text, const std::string& before, const std::string& after) {
    return text.replace(text.find(before), before.size(), after);
}

}  // namespace

TEST(every_figure_of_memory_that_ran_out_is_read) {
    const RefusedWords words = refused(kLockstep);
    CHECK_EQUAL(words.requested_bytes, 8589934592u);
    CHECK_EQUAL(words.per_bank_bytes, 715829248u);
    CHECK_EQUAL(words.bank_bytes, 1072693184u);
    CHECK_EQUAL(words.free_bytes, 356863936u);
    CHECK_EQUAL(words.largest_bytes, 356863935u);
    CHECK_EQUAL(words.bank_count, 12u);
    CHECK_EQUAL(words.type, 0u);
}

TEST(memory_that_ran_out_beside_that_of_single_cores_is_read) {
    for (const std::string& text : {kDependent, kDependent.substr(0, kDependent.find(". After"))}) {
        const RefusedWords words = refused(text);
        CHECK_EQUAL(words.requested_bytes, 2867200u);
        CHECK_EQUAL(words.per_bank_bytes, 716800u);
        CHECK_EQUAL(words.bank_bytes, 1360544u);
        CHECK_EQUAL(words.free_bytes, 1360544u);
        CHECK_EQUAL(words.largest_bytes, 1360543u);
        CHECK_EQUAL(words.bank_count, 4u);
        CHECK_EQUAL(words.type, 1u);
    }
}

TEST(every_memory_has_its_name_and_an_unknown_one_has_none) {
    const char* names[] = {"DRAM", "L1", "SYSTEM_MEMORY", "L1_SMALL", "TRACE"};
    for (uint8_t type = 0; type < 5; ++type) CHECK_EQUAL(refused(replaced(kLockstep, "DRAM", names[type])).type, type);
    CHECK_EQUAL(refused(replaced(kLockstep, "DRAM", "L2")).type, kUntoldType);
    CHECK_EQUAL(refused(replaced(kLockstep, "DRAM", "L2")).bank_count, 12u);
}

TEST(every_figure_of_a_clash_is_read) {
    for (const std::string& text :
         {kClash, replaced(replaced(kClash, "circular", "dataflow"), "circular", "dataflow")}) {
        const ClashWords words = clash(text);
        CHECK_EQUAL(words.program, 12u);
        CHECK_EQUAL(words.buffer_address, 1056768u);
        CHECK_EQUAL(words.region_end, 1466080u);
        CHECK_EQUAL(words.l1_end, kUntoldFigure);
        CHECK(words.cores == (CoreRange{0, 1, 7, 6}));
    }
}

TEST(buffers_that_grow_beyond_l1_are_read) {
    const ClashWords words = clash(
        "TT_FATAL @ /project/tt_metal/impl/program/program.cpp:1: false\ninfo:\nStatically allocated circular buffers "
        "on core "
        "range [0-0 - 1-1] grow to 1505824 B which is beyond max L1 size of 1499136 B");
    CHECK_EQUAL(words.region_end, 1505824u);
    CHECK_EQUAL(words.l1_end, 1499136u);
    CHECK_EQUAL(words.program, kUntoldFigure);
    CHECK_EQUAL(words.buffer_address, kUntoldFigure);
    CHECK(words.cores == (CoreRange{0, 0, 1, 1}));
}

TEST(a_clash_on_service_cores_is_read) {
    const ClashWords words = clash(
        "Circular buffers on service-core range [8-0 - 8-0] in program 7 clash with ServiceCoreManager-allocated L1 "
        "(lowest "
        "service allocation at 1024, CB region ends at 2048)");
    CHECK_EQUAL(words.program, 7u);
    CHECK_EQUAL(words.buffer_address, 1024u);
    CHECK_EQUAL(words.region_end, 2048u);
    CHECK(words.cores == (CoreRange{8, 0, 8, 0}));
}

TEST(a_text_that_is_cut_anywhere_or_says_something_else_is_not_read) {
    RefusedWords refused_words;
    ClashWords clash_words;
    const size_t end = kLockstep.find(".\nbacktrace");
    for (size_t i = 0; i < end; ++i) CHECK(!read_refused(kLockstep.substr(0, i), refused_words));
    for (size_t i = 0; i + 7 < kClash.size(); ++i) CHECK(!read_clash(kClash.substr(0, i), clash_words));
    CHECK(!read_refused("L1_SMALL only supports sharded allocations", refused_words));
    CHECK(!read_refused("", refused_words));
    CHECK(!read_refused(kClash, refused_words));
    CHECK(!read_clash(kLockstep, clash_words));
    CHECK(!read_clash(replaced(kClash, "[0-1 - 7-6]", "[7-6 - 0-1]"), clash_words));
    CHECK(!read_refused(replaced(kLockstep, "8589934592", "99999999999999999999"), refused_words));
    CHECK_EQUAL(refused_words.requested_bytes, kUntoldFigure);
    CHECK_EQUAL(clash_words.region_end, kUntoldFigure);
}

}  // namespace ttmem::hook
