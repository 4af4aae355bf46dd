// One lane of a kernel ring: who is in it, kept beside the runtime's own table from what is told of it.
//
// The runtime has a lane for each type of cores (bytes) and two for launch messages (slots). A launch goes behind the last
// one, or back to the base where the end is too near. A finished one leaves the table only when somebody needs its place;
// its bytes stay intact until they are written over (ttmem.metal.dispatch.layout.lane says the same in Python).
#pragma once

#include <cstdint>

#include "ttmem/client.h"

namespace ttmem::hook {

struct LaneEntry {
    uint32_t address, size, sync_count;
    bool is_whole_lane;  // not a launch: the mark of a trace that may have used every byte
    uint32_t end() const noexcept { return address + size; }
};

struct LanePlace {
    uint32_t address, size;
};

/// Why a place must be waited for, and until which count.
struct LaneStall {
    uint8_t reason;
    uint32_t sync_count;
};

/// A piece of memory that is still as a finished launch left it.
struct Stretch {
    uint32_t begin, end;
};

inline constexpr uint32_t kIntactMost = 512;

class Lane {
public:
    /// `intact`: room for kIntactMost, or null where nobody asks what is intact. Apart from the lane, for it is large:
    /// lanes lie side by side, and a launch touches few lines of memory.
    void begin(uint32_t base, uint32_t size, Stretch* intact) noexcept {
        base_ = tail_ = base;
        end_ = base + size;
        intact_ = intact;
        entry_count_ = first_ = below_ = 0;
        above_ = kIntactMost;
        live_ = retired_ = 0;
    }

    uint32_t base() const noexcept { return base_; }
    uint32_t size() const noexcept { return end_ - base_; }
    uint64_t live() const noexcept { return live_; }
    uint64_t retired() const noexcept { return retired_; }
    uint32_t entry_count() const noexcept { return entry_count_; }

    /// What a launch of `size` has to wait for now.
    LaneStall stall_of(uint32_t size) const noexcept {
        for (uint32_t i = 0; size != 0 && i < entry_count_; ++i) {
            LaneStall found{};
            if (is_placed_before(i, size, found)) return found;
        }
        return {};
    }

    /// Of active ethernet cores: always the base, after whoever was there before.
    LaneStall stall_at_base(uint32_t size) const noexcept {
        if (size == 0 || entry_count_ == 0) return {};
        return {entry(0).is_whole_lane ? uint8_t{TTMEM_STALL_FULL} : uint8_t{TTMEM_STALL_ORDER}, entry(0).sync_count};
    }

    void take(const LanePlace& place, uint32_t sync_count) noexcept {
        if (place.size == 0) return;
        if (__builtin_expect(entry_count_ == kTable, 0)) retire_first();  // the runtime has room for one less
        write_over(place.address, place.address + place.size);
        append({place.address, place.size, sync_count, false});
        tail_ = place.address + place.size;
    }

    /// Whether that changed anything.
    bool retire(uint32_t sync_count) noexcept {
        if (entry_count_ == 0 || entry(0).sync_count > sync_count) return false;
        do retire_first();
        while (entry_count_ != 0 && entry(0).sync_count <= sync_count);
        return true;
    }

    void fill(uint32_t sync_count) noexcept {
        entry_count_ = below_ = 0;
        above_ = kIntactMost;
        live_ = retired_ = 0;
        append({base_, size(), sync_count, true});
        tail_ = end_;
    }

private:
    static constexpr uint32_t kTable = 8;  // entries; equal indices mean an empty table, so 7 are used

    const LaneEntry& entry(uint32_t place) const noexcept { return entries_[(first_ + place) % kTable]; }

    void append(const LaneEntry& added) noexcept {
        entries_[(first_ + entry_count_++) % kTable] = added;
        live_ += added.size;
    }

    // Whether the launch fits if the entry at `place` were the oldest; then what it waits for.
    bool is_placed_before(uint32_t place, uint32_t size, LaneStall& found) const noexcept {
        const LaneEntry& oldest = entry(place);
        const bool is_tail_ahead = tail_ >= oldest.end();
        uint32_t address = tail_, end = is_tail_ahead ? end_ : oldest.address;
        if (is_tail_ahead && address + size > end) {
            address = base_;
            end = oldest.address;
        }
        if (address + size <= end) {
            if (entry_count_ - place >= kTable - 1) found = {TTMEM_STALL_ENTRIES, oldest.sync_count};
            return true;
        }
        if (place + 1 < entry_count_) {  // after the last one the whole lane is free
            const LaneEntry& following = entry(place + 1);
            const uint32_t next_end = address >= following.address ? end_ : following.address;
            if (address + size > next_end) return false;
        }
        found = {oldest.is_whole_lane ? uint8_t{TTMEM_STALL_FULL} : uint8_t{TTMEM_STALL_SPACE}, oldest.sync_count};
        return true;
    }

    void retire_first() noexcept {
        const LaneEntry gone = entry(0);
        first_ = (first_ + 1) % kTable;
        --entry_count_;
        live_ -= gone.size;
        if (gone.is_whole_lane || intact_ == nullptr || below_ == above_) return;
        if (below_ != 0 || above_ != kIntactMost) part_at(gone.address);
        intact_[below_++] = {gone.address, gone.end()};
        retired_ += gone.size;
    }

    void write_over(uint32_t begin, uint32_t end) noexcept {
        if (below_ == 0 && above_ == kIntactMost) return;
        part_at(begin);
        for (; above_ != kIntactMost && intact_[above_].begin < end; ++above_)
            retired_ -= intact_[above_].end - intact_[above_].begin;
    }

    // Launches follow each other up the lane: the gap goes along with them, and back once a round.
    [[gnu::noinline]] void part_at(uint32_t address) noexcept {
        while (below_ != 0 && intact_[below_ - 1].end > address) intact_[--above_] = intact_[--below_];
        while (above_ != kIntactMost && intact_[above_].end <= address) intact_[below_++] = intact_[above_++];
    }

    uint64_t live_, retired_;
    uint32_t base_, end_, tail_;
    uint32_t first_, entry_count_;
    // Of finished launches nobody wrote over, in order of address: from 0 to below_, and from above_ to the end.
    uint32_t below_, above_;
    Stretch* intact_;
    LaneEntry entries_[kTable];
};

}  // namespace ttmem::hook
