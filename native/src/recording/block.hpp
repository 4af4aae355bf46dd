// A recording is a row of blocks; each stands behind the one before it and is whole or not there.
//
//   head       80 bytes, see below; never compressed, so that heads can be gone through without the rest
//   balances   each pool of a chip that has or had something in this block. Per chip, as varints: how its id differs from
//              the one before, and the number of its list; behind a number that is new the list: its length, and per pool
//              the pool with its flags, start, and how much higher the highest is. Chips of a mesh share lists
//   payload    rows in columns (rows.hpp), or names (names.hpp); plain, or compressed as a whole
//
// The checksum covers all the rest: the head, the balances, and the payload as it is stored. Numbers are
// little-endian. A segment is one file of blocks: its names are numbered from its beginning, and its first rows are a
// keyframe, so it can be read without the others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recording/bytes.hpp"

namespace ttmem::recording {

inline constexpr uint32_t kBlockMagic = 0x424d'5454;  // "TTMB" in the file
inline constexpr uint16_t kFormat = 2;

enum class BlockKind : uint8_t {
    names = 1,     // what rows name by a number
    events = 2,    // rows
    keyframe = 3,  // rows that say what is alive; one keyframe may take several blocks
};
enum class Codec : uint8_t { plain = 0, zlib = 1 };

inline constexpr uint16_t kFirstPart = 1, kLastPart = 2;  // of a keyframe

struct BlockHead {
    uint32_t magic = kBlockMagic;
    uint16_t format = kFormat;
    BlockKind kind = BlockKind::events;
    Codec codec = Codec::plain;
    uint64_t checksum = 0;
    uint32_t segment = 0;  // its number in the recording, from 1
    uint32_t number = 0;   // in its segment, from 0
    uint32_t row_count = 0;
    uint16_t parts = 0;  // of a keyframe
    uint16_t unused = 0;
    uint32_t balance_bytes = 0;
    uint32_t stored_bytes = 0, plain_bytes = 0;  // of the payload
    uint32_t process_count = 0;                  // that were recorded when it was closed
    uint64_t first_ns = 0, last_ns = 0;          // CLOCK_MONOTONIC of rows: the earliest and the latest
    int64_t wall_offset_ns = 0;                  // CLOCK_REALTIME less CLOCK_MONOTONIC when it was closed
    uint64_t lost_records = 0;                   // so far, of all processes
};
static_assert(sizeof(BlockHead) == 80 && std::endian::native == std::endian::little);

/// Flags of a balance. Without the first, `chip` is only a number of this recording. With the second, the highest is what the
/// own counter of a process says of a time in which it could not be followed: what was alive then is not known.
/// With the third, several processes had changes within the time of this block, some of which may stand in others: the highest
/// was nowhere higher than this, and may have been lower (watch/shares.hpp). `start` is as it was heard.
inline constexpr uint32_t kHasChip = 1, kIsOfGap = 2, kIsBound = 4;

/// In place of a pool: the fullest core of the chip, with its kernel ring. It may be said higher than it was, never lower
/// (watch/core_loads.hpp).
inline constexpr uint32_t kFullestCore = 64;

/// A pool of a chip in a block.
struct Balance {
    uint64_t chip = 0;  // its unique id
    uint32_t pool = 0, flags = kHasChip;
    int64_t start = 0, highest = 0;

    bool operator==(const Balance&) const = default;
};

inline constexpr uint32_t kPayloadMost = 1u << 30;
inline constexpr uint32_t kBalancesMost = 1u << 20, kBalanceBytesMost = 1u << 25;

struct StoredBlock {
    BlockHead head;
    std::vector<Balance> balances;
    std::string_view payload;  // as stored
};

/// All bytes of a block; sizes, counts and the checksum in its head are set here.
std::string block_bytes(BlockHead head, const std::vector<Balance>& balances, std::string_view payload);

/// The head at the beginning of some bytes and how long its block is. Nothing where no head is; then `error` says what
/// was expected and found.
std::optional<BlockHead> head_of(std::string_view bytes, std::string& error);
inline uint64_t block_size(const BlockHead& head) {
    return sizeof(BlockHead) + uint64_t{head.balance_bytes} + head.stored_bytes;
}

/// Balances as they stand behind a head, and back; false for bytes that are none.
std::string bytes_of(const std::vector<Balance>& balances);
bool read_balances(std::string_view bytes, std::vector<Balance>& balances);

/// The block at the beginning of some bytes, whole and unchanged, or nothing and what is wrong.
std::optional<StoredBlock> block_of(std::string_view bytes, std::string& error);

}  // namespace ttmem::recording
