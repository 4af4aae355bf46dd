// What is read of a recording, in columns of 64-bit words: lives, and what else happened. Texts and sets of chips are
// numbers of tables that only grow.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ttmem::recording {

/// How a life ended. `lost`: while its process was not followed. `alive`: not before the end of what was read.
enum class LifeEnding : uint8_t { freed = 0, replaced = 1, device_closed = 2, process_ended = 3, lost = 4, alive = 5 };

/// Flags of a life.
inline constexpr uint64_t kWasLost = 1;        // when it ended is known only to lie between `end` and `latest_end`
inline constexpr uint64_t kIsPart = 2;         // not the first part of a buffer that is allocated by core
inline constexpr uint64_t kIsView = 4;         // belongs to another life: charged 0
inline constexpr uint64_t kIsEstimated = 8;    // a kernel charged by the allocation server's rule
inline constexpr uint64_t kIsByCore = 16;      // allocated by core: per_bank are bytes on each of its cores
inline constexpr uint64_t kWasFound = 32;      // its beginning was not recorded, only that it was alive
inline constexpr uint64_t kIsTemporary = 64;   // freed before its thread allocated again in that pool of that target
inline constexpr uint64_t kIsUncounted = 128;  // of a process whose figures did not count when it began

/// Columns of a life. Times are CLOCK_MONOTONIC. `*_mark`: how many phases of its process had ended by then; `*_launch`:
/// how many launches it had made. Of a life that is alive `end` is 0; `latest_end` 0: nobody knows.
enum class LifeColumn : uint8_t {
    process,  // number of the table of processes
    chips,    // number of a set of chips, 0: not known
    target,   // of its process: a chip or a mesh
    kind,
    pool,
    id,
    address,
    bytes,        // charged on each chip, at the end
    begin_bytes,  // ... and at the beginning
    requested,
    per_bank,
    core_count,
    core_set,  // a text
    page_bytes,
    layout,
    begin_ns,
    end_ns,
    latest_end_ns,
    ending,  // LifeEnding
    flags,
    thread,  // as the kernel has it, 0: not known
    site,    // texts: frames, the innermost first
    operation,
    tensor,
    program,
    phase,  // number of the table of phases, 0: none was open when it began
    begin_sequence,
    end_sequence,
    begin_mark,
    end_mark,
    begin_launch,
    end_launch,
    count
};

enum class EventKind : uint8_t {
    launched = 0,        // id: program; value: launches of it so far; name: its operation
    phase_began = 1,     // id: number of the table of phases; value: which run of that name; name
    phase_ended = 2,     // ... value: which run
    trace_captured = 3,  // id: trace; value: bytes
    trace_replayed = 4,
    trace_released = 5,
    incident = 6,       // id: its number; value: its kind; bytes: asked for; name: site
    out_of_memory = 7,  // id: asked for; value: free; bytes: largest free
    clashed = 8,        // id: program; value: end of the circular buffers; bytes: address of the buffer
    target_opened = 9,  // id: unique id
    target_closed = 10,
    gap_began = 11,  // value: records lost so far
    gap_ended = 12,
    gap_peaked = 13,     // bytes: what a pool held within the gap, at that time
    process_began = 14,  // it is known from now on; value: whether it was found with something alive
    process_ended = 15,
    left = 16,  // its figures no longer count
    rejoined = 17,
    resized = 18,        // id: sequence of the life; bytes: its new size
    program_named = 19,  // id: program; name: its operation
};

enum class EventColumn : uint8_t {
    kind,
    process,
    time_ns,
    sequence,
    thread,
    target,
    chips,
    pool,
    id,
    value,
    bytes,
    name,
    count
};

template <typename Name>
class Columns {
public:
    static constexpr size_t kCount = static_cast<size_t>(Name::count);
    using Row = std::array<uint64_t, kCount>;

    const std::vector<uint64_t>& operator[](Name name) const { return columns_[static_cast<size_t>(name)]; }
    const std::vector<uint64_t>& at(size_t column) const { return columns_[column]; }
    size_t size() const { return columns_[0].size(); }
    void add(const Row& row) {
        for (size_t i = 0; i < kCount; ++i) columns_[i].push_back(row[i]);
    }
    void clear() {
        for (auto& column : columns_) column.clear();
    }

private:
    std::array<std::vector<uint64_t>, kCount> columns_;
};

/// Texts by number; 0 is the empty one.
class Texts {
public:
    Texts() : all_{""} {}
    uint32_t number_of(std::string_view text) {
        if (text.empty()) return 0;
        const auto [found, is_new] = numbers_.try_emplace(std::string(text), static_cast<uint32_t>(all_.size()));
        if (is_new) all_.push_back(found->first);
        return found->second;
    }
    const std::vector<std::string>& all() const { return all_; }

private:
    std::unordered_map<std::string, uint32_t> numbers_;
    std::vector<std::string> all_;
};

/// Sets of chips by number; 0 is the empty one: not known.
class ChipSets {
public:
    ChipSets() : all_{{}} {}
    uint32_t number_of(const std::vector<uint64_t>& chips) {
        if (chips.empty()) return 0;
        const auto [found, is_new] = numbers_.try_emplace(chips, static_cast<uint32_t>(all_.size()));
        if (is_new) all_.push_back(chips);
        return found->second;
    }
    const std::vector<std::vector<uint64_t>>& all() const { return all_; }

private:
    std::map<std::vector<uint64_t>, uint32_t> numbers_;
    std::vector<std::vector<uint64_t>> all_;
};

}  // namespace ttmem::recording
