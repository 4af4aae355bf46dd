// A set of address ranges, merged, in fixed room. Zeroed memory is an empty set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace ttmem {

/// Addresses from `begin` to before `end`, in one of the places that the owner of the set distinguishes.
struct AddressRange {
    uint64_t begin, end;
    uint32_t place;
    bool is_widened;  // covers addresses that no process added: it stands for several, or its end is an upper bound
};

inline constexpr uint32_t kRangesMost = 4096;

/// Ranges of one place that touch are one. Without room for another one the two neighbours with the smallest gap become one,
/// so that the set covers what was added, and more.
template <uint32_t Most = kRangesMost>
class RangeSet {
public:
    void add(AddressRange added) noexcept {
        if (added.begin >= added.end) return;
        const uint32_t at = first_touching(added.place, added.begin);
        uint32_t last = at;
        while (last < count_ && ranges_[last].place == added.place && ranges_[last].begin <= added.end) {
            const AddressRange& old = ranges_[last++];
            if (old.begin <= added.begin && added.end <= old.end && !old.is_widened) return;
            const bool is_inside = added.begin <= old.begin && old.end <= added.end;  // what was added says it better
            added.is_widened = added.is_widened || (old.is_widened && !is_inside);
            added.begin = std::min(added.begin, old.begin);
            added.end = std::max(added.end, old.end);
        }
        if (last == at && count_ == Most) {
            widen_smallest_gap();
            return add(added);
        }
        put(at, last, added);
    }

    /// The lowest one that has an address of these, or null.
    const AddressRange* find(uint32_t place, uint64_t begin, uint64_t end) const noexcept {
        const uint32_t at = first_ending_after(place, begin);
        const bool is_it = at < count_ && ranges_[at].place == place && ranges_[at].begin < end && begin < end;
        return is_it ? &ranges_[at] : nullptr;
    }

    uint32_t count() const noexcept { return count_; }
    const AddressRange* begin() const noexcept { return ranges_; }
    const AddressRange* end() const noexcept { return ranges_ + count_; }
    void clear() noexcept { count_ = 0; }

private:
    // Places and addresses rise, and so do ends, as ranges of a place do not touch.
    uint32_t first_ending_after(uint32_t place, uint64_t address) const noexcept {
        const auto* found = std::partition_point(begin(), end(), [=](const AddressRange& range) noexcept {
            return range.place < place || (range.place == place && range.end <= address);
        });
        return static_cast<uint32_t>(found - ranges_);
    }
    uint32_t first_touching(uint32_t place, uint64_t address) const noexcept {
        return first_ending_after(place, address == 0 ? 0 : address - 1);
    }

    // One range in the place of those from `at` to before `last`.
    void put(uint32_t at, uint32_t last, const AddressRange& range) noexcept {
        std::memmove(ranges_ + at + 1, ranges_ + last, (count_ - last) * sizeof *ranges_);
        ranges_[at] = range;
        count_ = count_ + 1 - (last - at);
    }

    // A place has fewer ranges than the set: two of one place are neighbours somewhere.
    void widen_smallest_gap() noexcept {
        uint32_t narrowest = 0;
        uint64_t least = ~uint64_t{0};
        for (uint32_t i = 0; i + 1 < count_; ++i) {
            const AddressRange &low = ranges_[i], &high = ranges_[i + 1];
            if (low.place != high.place || high.begin - low.end >= least) continue;
            narrowest = i;
            least = high.begin - low.end;
        }
        const AddressRange wide{ranges_[narrowest].begin, ranges_[narrowest + 1].end, ranges_[narrowest].place, true};
        put(narrowest, narrowest + 2, wide);
    }

    uint32_t count_;
    AddressRange ranges_[Most];
};

}  // namespace ttmem
