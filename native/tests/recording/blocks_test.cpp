// Blocks and rows of a recording: what was written is read, and nothing else is taken for it.
#include <random>

#include "recording/block.hpp"
#include "recording/rows.hpp"
#include "support/check.hpp"

using namespace ttmem;
using namespace ttmem::recording;

namespace {

RecordCopy any_record(std::mt19937_64& random, uint64_t sequence, uint64_t time) {
    RecordCopy words;
    const auto bits = [&](unsigned most) { return random() >> (64 - 1 - random() % most); };
    words.commit = committed(sequence);
    words.time = time;
    words.tag = Tag{random() % 3 == 0 ? Type::freed : Type::allocated, static_cast<uint8_t>(random() % kKinds),
                    static_cast<uint8_t>(random() % kPools), static_cast<uint8_t>(random() % 4),
                    static_cast<uint32_t>(random())}
                    .pack();
    words.id = bits(64);
    words.address = words.type() == Type::freed ? bits(20) % (sequence + 1) : bits(64);
    words.reserved = in::kReserved.pack(bits(48)) | in::kTarget.pack(random() % 400);
    words.requested = in::kRequested.pack(bits(48)) | in::kThread.pack(random() % 3);
    words.per_bank = bits(64);
    return words;
}

std::vector<Row> any_rows(uint64_t seed, uint32_t count) {
    std::mt19937_64 random(seed);
    std::vector<Row> rows;
    uint64_t sequence = 1, time = 1'000'000'000'000;
    for (uint32_t i = 0; i < count; ++i) {
        sequence += random() % 3 + (random() % 97 == 0 ? random() % 1000 : 0);
        time += random() % 5000;
        time -= random() % 50;
        rows.push_back({static_cast<uint32_t>(random() % 5), any_record(random, sequence, time)});
    }
    return rows;
}

bool are_read(const std::vector<Row>& rows, std::string_view payload) {
    RowDecoder decoder(payload, static_cast<uint32_t>(rows.size()));
    Row row;
    for (const Row& expected : rows)
        if (!decoder.next(row) || row.process != expected.process || !(row.words == expected.words)) return false;
    return !decoder.next(row) && !decoder.has_failed();
}

const std::vector<Balance> kBalances{{0xabc, TTMEM_DRAM, kHasChip, -5, 4096},
                                     {0xabc, TTMEM_L1, kHasChip | kIsOfGap, 0, 1},
                                     {2, kFullestCore, 0, int64_t{1} << 62, -(int64_t{1} << 62)}};

std::string a_block() {
    RowEncoder rows;
    for (const Row& row : any_rows(4, 50)) rows.add(row.process, row.words);
    BlockHead head;
    head.number = 7;
    head.row_count = rows.count();
    return block_bytes(head, kBalances, rows.take());
}

}  // namespace

TEST(rows_are_read_as_they_were_written) {
    RowEncoder encoder;
    for (const uint32_t count : {0u, 1u, 300u, kRowsMost}) {  // the last has more likenesses than a byte can name
        const std::vector<Row> rows = any_rows(count, count);
        for (const Row& row : rows) encoder.add(row.process, row.words);
        CHECK_EQUAL(encoder.count(), count);
        CHECK_EQUAL(encoder.is_full(), count == kRowsMost);
        CHECK(are_read(rows, encoder.take()));
    }
}

TEST(rows_that_are_as_expected_take_two_bytes_and_their_time) {
    RowEncoder encoder;
    RecordCopy words;
    words.tag = Tag{Type::allocated, TTMEM_BUFFER, TTMEM_L1, 0, 9}.pack();
    for (uint64_t i = 0; i < 1000; ++i) {
        words.commit = committed(i + 1);
        words.time = 5'000'000 + i * 50;
        encoder.add(0, words);
    }
    CHECK(encoder.take().size() < 1000 * 3 + 100);
}

TEST(more_rows_than_were_written_are_a_failure) {
    RowEncoder encoder;
    for (const Row& row : any_rows(1, 10)) encoder.add(row.process, row.words);
    const std::string payload = encoder.take();
    RowDecoder decoder(payload, 11);
    Row row;
    for (int i = 0; i < 10; ++i) CHECK(decoder.next(row));
    CHECK(!decoder.next(row));
    CHECK(decoder.has_failed());
}

TEST(a_block_is_read_as_it_was_written) {
    const std::string bytes = a_block() + "and what follows";
    std::string error;
    const auto block = block_of(bytes, error);
    REQUIRE(block);
    CHECK_EQUAL(block->head.number, 7u);
    CHECK(block->balances == kBalances);
    CHECK_EQUAL(block_size(block->head), a_block().size());
    CHECK(are_read(any_rows(4, 50), block->payload));
}

TEST(a_block_that_was_cut_anywhere_is_none) {
    const std::string bytes = a_block();
    for (size_t size = 0; size < bytes.size(); ++size) {
        std::string error;
        if (block_of(std::string_view(bytes).substr(0, size), error)) check::fail(__FILE__, __LINE__, "taken");
        CHECK(!error.empty());
    }
}

TEST(a_block_with_any_bit_flipped_is_none) {
    std::string bytes = a_block();
    for (size_t i = 0; i < bytes.size() * 8; ++i) {
        const auto flip = [&] { bytes[i / 8] = static_cast<char>(bytes[i / 8] ^ (1 << i % 8)); };
        flip();
        std::string error;
        if (block_of(bytes, error)) check::fail(__FILE__, __LINE__, "taken with bit " + std::to_string(i));
        flip();
    }
    std::string error;
    CHECK(block_of(bytes, error));
}

TEST(another_version_is_refused_by_its_number) {
    std::string bytes = a_block();
    bytes[4] = 9;
    std::string error;
    CHECK(!block_of(bytes, error));
    CHECK_EQUAL(error, "this is version 9 of the format, this program reads version 2");
}

TEST(balances_are_read_as_they_were_written) {
    std::mt19937_64 random(5);
    for (int round = 0; round < 200; ++round) {
        std::vector<Balance> balances, read;
        for (uint64_t chip = random(); balances.size() < random() % 300; chip += random() % 3 == 0 ? random() : 1)
            for (uint32_t pool = 0; pool < random() % 5; ++pool) {
                const auto start = static_cast<int64_t>(random() % 3 == 0 ? random() : random() % 2);
                balances.push_back({chip, pool, static_cast<uint32_t>(random() % 4), start, start + 8});
            }
        CHECK(read_balances(bytes_of(balances), read));
        CHECK(read == balances);
    }
}

TEST(chips_that_hold_the_same_take_two_bytes_each) {
    std::vector<Balance> balances;
    for (uint64_t chip = 0; chip < 32; ++chip)
        for (uint32_t pool = 0; pool < 6; ++pool) balances.push_back({chip, pool, kHasChip, 5'171'589'888, 1 << 30});
    CHECK(bytes_of(balances).size() < 32 * 2 + 6 * 12);
}

TEST(damaged_balances_are_none_and_take_no_memory) {
    std::vector<Balance> balances, read;
    for (uint32_t pool = 0; pool < 2000; ++pool) balances.push_back({1, pool, kHasChip, 0, 0});
    std::string many = bytes_of(balances);
    for (int chips = 0; chips < 10'000; ++chips) many.append(2, '\0');  // 20 million balances in 30 thousand bytes
    CHECK(!read_balances(many, read));
    CHECK(read.size() <= kBalancesMost);
    const std::string whole = bytes_of(kBalances);
    for (size_t size = 1; size < whole.size(); ++size) {
        read.clear();
        if (read_balances(std::string_view(whole).substr(0, size), read) && read.size() >= kBalances.size())
            check::fail(__FILE__, __LINE__, "taken");
    }
    CHECK(!read_balances("\2\1", read));  // a list that none was said before
}

TEST(damaged_columns_never_reach_beyond_their_bytes) {
    RowEncoder encoder;
    for (const Row& row : any_rows(8, 400)) encoder.add(row.process, row.words);
    const std::string payload = encoder.take();
    std::mt19937_64 random(3);
    for (int i = 0; i < 3000; ++i) {
        std::string damaged = payload.substr(0, random() % 4 == 0 ? random() % payload.size() : payload.size());
        for (size_t edits = random() % 4; !damaged.empty() && edits-- != 0;)
            damaged[random() % std::min<size_t>(damaged.size(), 60 + random() % damaged.size())] =
                static_cast<char>(random());
        RowDecoder decoder(damaged, 400);
        Row row;
        while (decoder.next(row)) continue;
    }
}
