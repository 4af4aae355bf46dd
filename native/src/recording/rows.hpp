// Rows of a block, in columns.
//
// A row is a record as the journal has it (journal/record.hpp), of some process. Rows of one process, type, kind, pool,
// flags, target and thread resemble each other; these together are a row's *likeness*, and each word is written as its
// difference to the row of the same likeness before it. Columns, one behind the other:
//
//   lengths      of all columns that follow, as varints
//   likeness     a byte for each row: which; 255 for one beyond the first 255, whose number stands in `new`
//   new          those numbers, and the process, tag, target and thread of each likeness when it first appears
//   changed      a byte for each row: which words are not as expected
//   the words    zigzag varints of those that are not: time, sequence, site, id, address, reserved, requested, per bank
//
// Expected is: the sequence behind the last one of that process, and otherwise the same as before. A free has its age (its
// sequence less that of the life) in place of the address. Time is a difference to the row before, whatever its likeness.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "journal/events.hpp"
#include "recording/bytes.hpp"

namespace ttmem::recording {

inline constexpr uint32_t kRowsMost = 65'536;  // in a block

/// Types of rows that no journal has, behind its own.
enum class RowType : uint8_t {
    resized = 200,        // a life; reserved and requested are its new sizes
    process_began = 201,  // in a keyframe: what is known of it follows
    process_whole = 202,  // ... and ends here. id: whether its figures count (1), are not followed now (2)
    process_ended = 203,  // it gave everything back
    left = 204,           // its figures no longer count: it has another way to report, or nobody wrote its journal
    rejoined = 205,       // they count again
    gap_began = 206,      // it could not be followed; id: records lost so far
    gap_ended = 207,      // what is alive follows as a keyframe
    gap_peaked = 208,     // reserved: what its own counter says of the (target, pool) within a gap; time: when
};
inline constexpr bool is_own_type(uint8_t type) { return type >= 200 && type <= 208; }

/// How a life ended, in the site of a freed row.
enum class Ending : uint8_t { freed = 0, replaced = 1 };

struct Row {
    uint32_t process = 0;  // its number in this segment
    RecordCopy words;      // time: CLOCK_MONOTONIC
};

class RowEncoder {
public:
    RowEncoder();
    void add(uint32_t process, const RecordCopy& words) noexcept;
    uint32_t count() const { return count_; }
    bool is_full() const { return count_ == kRowsMost; }
    /// The earliest time of a row, which need not be the first, and the latest; 0: none has one.
    uint64_t first_ns() const { return first_ns_; }
    uint64_t last_ns() const { return highest_ns_; }
    /// All columns; then it starts over.
    std::string take();

private:
    static constexpr size_t kWordColumns = 8, kSlots = 1024;
    struct Column {
        std::unique_ptr<uint8_t[]> bytes;
        uint8_t* at = nullptr;
        size_t size() const { return static_cast<size_t>(at - bytes.get()); }
    };
    struct Likeness {
        uint64_t who = 0, where = 0;
        uint64_t site = 0, id = 0, address = 0, reserved = 0, requested = 0, per_bank = 0;
    };
    struct Slot {
        uint32_t round = 0, number = 0;
        uint64_t who = 0, where = 0;
    };
    uint32_t likeness_of(uint64_t who, uint64_t where);
    void start();

    Column likenesses_, new_, changed_, words_[kWordColumns];
    std::vector<Likeness> known_;
    std::array<Slot, kSlots> slots_;
    std::vector<uint64_t> last_sequence_;  // by process
    uint32_t count_ = 0, round_ = 0;
    uint64_t base_ns_ = 0, first_ns_ = 0, last_ns_ = 0, highest_ns_ = 0;
};

/// Reads rows one after the other. Bytes that are no rows end it early, and `has_failed`.
class RowDecoder {
public:
    RowDecoder(std::string_view payload, uint32_t row_count);
    bool next(Row& row);
    bool has_failed() const { return has_failed_; }

private:
    struct Likeness {
        uint32_t process = 0;
        uint64_t tag = 0, target = 0, thread = 0;
        uint64_t site = 0, id = 0, address = 0, reserved = 0, requested = 0, per_bank = 0;
    };
    bool add_likeness();
    bool fail() {
        has_failed_ = true;
        return false;
    }

    Bytes likenesses_, new_, changed_, words_[8];
    std::vector<Likeness> known_;
    std::vector<uint64_t> last_sequence_;
    uint32_t left_ = 0;
    uint64_t time_ = 0;
    bool has_failed_ = false;
};

}  // namespace ttmem::recording
