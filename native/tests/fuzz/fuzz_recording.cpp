// Anything as a recording: blocks are found, names and rows read, played into books and made lives, and nothing but that
// happens.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "recording/lives/reader.hpp"
#include "recording/replay.hpp"

using namespace ttmem;
using namespace ttmem::recording;

namespace {

void play(Replay& replay, LifeReader& lives, const StoredBlock& block) {
    std::string error;
    if (block.head.number % 8 == 1) lives.begin_segment();
    if (block.head.kind == BlockKind::names) {
        replay.read_names_of(block, error);
        lives.read_names_of(block, error);
    } else {
        replay.take(block, error);
        replay.play({}, block.head.last_ns);
        lives.apply(block, error);
    }
}

}  // namespace

// As it is; as balances; and as payloads of sound heads, for few inputs have a checksum that fits: kind8 rows8 length16, then so
// many bytes.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view all(reinterpret_cast<const char*>(data), size);
    std::string error;
    Collector collector(false);
    Replay replay(collector);
    LifeReader lives({});
    if (const auto block = block_of(all, error)) play(replay, lives, *block);
    std::vector<Balance> balances, again;
    if (read_balances(all, balances) && (!read_balances(bytes_of(balances), again) || again != balances))
        __builtin_trap();
    for (std::string_view rest = all; rest.size() > 4;) {
        const auto byte = [&](size_t at) { return static_cast<uint8_t>(rest[at]); };
        StoredBlock block;
        block.head.kind = static_cast<BlockKind>(1 + byte(0) % 3);
        block.head.row_count = block.head.number = byte(1);
        block.head.parts = byte(0) >> 6;
        block.payload = rest.substr(4, byte(2) | size_t{byte(3)} << 8);
        rest.remove_prefix(4 + block.payload.size());
        play(replay, lives, block);
    }
    lives.finish();
    return 0;
}
