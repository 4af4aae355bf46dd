// One lane of a kernel ring: who is in it, kept beside the runtime's own table from what is told of it.
//
// The runtime has a lane for each type of cores (bytes) and two for launch messages (slots). A launch goes behind the last
// one, or back to the base where the end is too near. A finished one leaves the table only when somebody needs its place;
// its bytes stay intact until they are written over (ttmem.metal.state.layout.lane says the same in Python).
#pragma once

#include <cstdint>

#include "journal/events.hpp"
#include "ttmem/client.h"

namespace ttmem::hook {

struct LanePlace {
    uint32_t address, size;
    uint32_t end() const noexcept { return address + size; }
};

struct LaneEntry {
    LanePlace place;
    uint32_t sync_count;
    bool is_whole_lane;  // not a launch: the mark of a trace that may have used every byte
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

class alignas(64) Lane {  // what every launch needs lies in the first line of memory, entries behind it
public:
    /// `intact`: room for kIntactMost, or null where nobody asks what is intact. Apart from the lane, for it is large:
    /// lanes lie side by side, and a launch touches few lines of memory.
    void begin(uint32_t base, uint32_t size, Stretch* intact) noexcept {
        base_ = tail_ = base;
        end_ = base + size;
        intact_ = intact;
        entry_count_ = first_ = below_ = 0;
        above_ = kIntactMost;
        live_ = retired_ = 0;  // what was told of it stays: it may be news that nothing is there any more
    }

    uint32_t base() const noexcept { return base_; }
    uint32_t size() const noexcept { return end_ - base_; }
    uint64_t live() const noexcept { return live_; }
    uint64_t retired() const noexcept { return retired_; }
    uint32_t entry_count() const noexcept { return entry_count_; }

    /// What somebody is told of now: live bytes and retired ones, as LaunchedRing has them.
    uint64_t tell() noexcept { return told_ = LaunchedRing::levels_of(live_, retired_); }

    /// Whether that is news; it is told then.
    bool is_news() noexcept {
        const uint64_t before = told_;
        return tell() != before;
    }

    /// Whether a launch of `size` has to wait for the oldest one, with that count, to leave its bytes, and for nobody else.
    /// stall_of() would say so too, but here is no loop.
    [[gnu::always_inline]] bool is_short_by_first(uint32_t size, uint64_t finished_below,
                                                  uint32_t sync_count) const noexcept {
        const LaneEntry& oldest = entries_[first_];
        const bool is_waited_for = oldest.sync_count == sync_count && sync_count >= finished_below;
        if (__builtin_expect(entry_count_ == 0 || !is_waited_for || oldest.is_whole_lane, 0)) return false;
        const LaneEntry* following = entry_count_ > 1 ? &entries_[(first_ + 1) % kTable] : nullptr;
        return size != 0 && fit_before(oldest, following, size) == Fit::after;
    }

    /// What a launch of `size` has to wait for now.
    [[gnu::noinline]] LaneStall stall_of(uint32_t size) const noexcept {
        uint32_t at = first_;
        for (uint32_t left = entry_count_; size != 0 && left != 0; --left) {
            const LaneEntry& oldest = entries_[at];
            at = (at + 1) % kTable;
            const Fit fit = fit_before(oldest, left > 1 ? &entries_[at] : nullptr, size);
            if (fit == Fit::now)
                return left >= kTable - 1 ? LaneStall{TTMEM_STALL_ENTRIES, oldest.sync_count} : LaneStall{};
            if (fit == Fit::after)
                return {oldest.is_whole_lane ? uint8_t{TTMEM_STALL_FULL} : uint8_t{TTMEM_STALL_SPACE},
                        oldest.sync_count};
        }
        return {};
    }

    /// Of active ethernet cores: always the base, after what was there before.
    LaneStall stall_at_base(uint32_t size) const noexcept {
        if (size == 0 || entry_count_ == 0) return {};
        const LaneEntry& oldest = entries_[first_];
        return {oldest.is_whole_lane ? uint8_t{TTMEM_STALL_FULL} : uint8_t{TTMEM_STALL_ORDER}, oldest.sync_count};
    }

    void take(LanePlace place, uint32_t sync_count) noexcept {
        if (place.size != 0) go_on(0, place, sync_count);
    }

    /// Ends launches whose count is below `end_count`; whether there were any.
    bool retire_below(uint64_t end_count) noexcept {
        if (entry_count_ == 0 || entries_[first_].sync_count >= end_count) return false;
        do retire_first();
        while (entry_count_ != 0 && entries_[first_].sync_count < end_count);
        return true;
    }
    bool retire(uint32_t sync_count) noexcept { return retire_below(uint64_t{sync_count} + 1); }

    /// Both, as a launch does them: what it writes over is gone without having been kept.
    [[gnu::noinline]] void go_on(uint64_t retired_below, LanePlace place, uint32_t sync_count) noexcept {
        while (entry_count_ != 0 && entries_[first_].sync_count < retired_below) {
            const LaneEntry& gone = drop_first();
            if (!is_over(place, gone.place)) keep(gone);
        }
        if (entry_count_ == kTable) retire_first();  // the runtime has room for one less
        if (has_intact()) write_over(place.address, place.end());
        append({place, sync_count, false});
        tail_ = place.end();
    }

    /// The same of most launches: nobody is finished but, perhaps, the oldest, in whose place it is, and nothing is intact.
    /// False, and nothing done, if it is not so. Without a loop, and without a call.
    [[gnu::always_inline]] bool go_on_plainly(uint64_t retired_below, LanePlace place, uint32_t sync_count) noexcept {
        if (__builtin_expect(has_intact() || entry_count_ - 1 >= kTable - 1, 0)) return false;  // neither none nor all
        const LaneEntry& oldest = entries_[first_];
        if (oldest.sync_count < retired_below) {
            const uint32_t next = (first_ + 1) % kTable;
            const bool is_next_gone = entry_count_ > 1 && entries_[next].sync_count < retired_below;
            if (__builtin_expect(!is_over(place, oldest.place) || is_next_gone, 0)) return false;
            first_ = next;
            --entry_count_;
            live_ -= oldest.place.size;
        }
        append({place, sync_count, false});
        tail_ = place.end();
        return true;
    }

    /// The same as take() where nobody asks what is live or intact, but only who is in it: finished launches are left
    /// until somebody retires them, or until the table is full, when the first of them is long finished.
    void add(LanePlace place, uint32_t sync_count) noexcept {
        entries_[(first_ + entry_count_) % kTable] = {place, sync_count, false};
        tail_ = place.end();
        if (__builtin_expect(entry_count_ == kTable, 1))
            first_ = (first_ + 1) % kTable;
        else
            ++entry_count_;
    }

    void fill(uint32_t sync_count) noexcept {
        entry_count_ = below_ = 0;
        above_ = kIntactMost;
        live_ = retired_ = 0;
        append({{base_, size()}, sync_count, true});
        tail_ = end_;
    }

private:
    static constexpr uint32_t kTable = 8;  // entries; equal indices mean an empty table, so 7 are used

    void append(const LaneEntry& added) noexcept {
        entries_[(first_ + entry_count_++) % kTable] = added;
        live_ += added.place.size;
    }

    enum class Fit : uint8_t { now, after, later };

    // Whether a launch fits if `oldest` were the oldest entry: at once, after it has gone, or not even then. After the last
    // one the whole lane is free.
    [[gnu::always_inline]] Fit fit_before(const LaneEntry& oldest, const LaneEntry* following,
                                          uint32_t size) const noexcept {
        const bool is_tail_ahead = tail_ >= oldest.place.end();
        uint32_t address = tail_, end = is_tail_ahead ? end_ : oldest.place.address;
        if (is_tail_ahead && address + size > end) {
            address = base_;
            end = oldest.place.address;
        }
        if (address + size <= end) return Fit::now;
        if (following == nullptr) return Fit::after;
        const uint32_t next_end = address >= following->place.address ? end_ : following->place.address;
        return address + size <= next_end ? Fit::after : Fit::later;
    }

    // Where there is no room for them there are none, also in a lane of zeros, which nobody has begun yet. Asked last: mostly
    // nothing is intact.
    bool has_intact() const noexcept { return (below_ != 0 || above_ != kIntactMost) && intact_ != nullptr; }

    static bool is_over(LanePlace place, LanePlace other) noexcept {
        return other.address < place.end() && place.address < other.end();
    }

    const LaneEntry& drop_first() noexcept {
        const LaneEntry& gone = entries_[first_];
        first_ = (first_ + 1) % kTable;
        --entry_count_;
        live_ -= gone.place.size;
        return gone;
    }

    void retire_first() noexcept { keep(drop_first()); }

    // What it left is intact until somebody writes over it.
    void keep(const LaneEntry& gone) noexcept {
        if (intact_ == nullptr || gone.is_whole_lane || below_ == above_) return;
        if (has_intact()) part_at(gone.place.address);
        intact_[below_++] = {gone.place.address, gone.place.end()};
        retired_ += gone.place.size;
    }

    // Parts the list at `begin` and drops what is overlapped, without moving it first.
    void write_over(uint32_t begin, uint32_t end) noexcept {
        while (below_ != 0 && intact_[below_ - 1].end > begin) {
            const Stretch last = intact_[--below_];
            if (last.begin < end)
                retired_ -= last.end - last.begin;
            else
                intact_[--above_] = last;
        }
        while (above_ != kIntactMost && intact_[above_].end <= begin) intact_[below_++] = intact_[above_++];
        for (; above_ != kIntactMost && intact_[above_].begin < end; ++above_)
            retired_ -= intact_[above_].end - intact_[above_].begin;
    }

    // Launches follow each other up the lane: the gap goes along with them, and back once a round.
    void part_at(uint32_t address) noexcept {
        while (below_ != 0 && intact_[below_ - 1].end > address) intact_[--above_] = intact_[--below_];
        while (above_ != kIntactMost && intact_[above_].end <= address) intact_[below_++] = intact_[above_++];
    }

    uint64_t told_;
    uint32_t live_, retired_;  // no more than the lane has
    uint32_t base_, end_, tail_;
    uint32_t first_, entry_count_;
    // Of finished launches nobody wrote over, in order of address: from 0 to below_, and from above_ to the end.
    uint32_t below_, above_;
    Stretch* intact_;
    alignas(64) LaneEntry entries_[kTable];
};

}  // namespace ttmem::hook
