// Figures over time, never more than a given number of points.
//
// When there are too many, time is divided into slots, and of each series and slot three points are kept: the lowest, the
// highest and the last. So no peak and no low is lost, and what holds between two points stays what it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ttmem::timeline {

struct Point {
    uint64_t time_ns = 0;
    int64_t value = 0;
};

class Points {
public:
    /// At most `most` in all series together, of a time of about `span_ns`.
    Points(uint64_t most, uint64_t span_ns) : most_(most), span_ns_(span_ns) {}

    size_t add_series() {
        series_.emplace_back();
        return series_.size() - 1;
    }
    /// Times of a series never go back. A value that is as before is left out.
    void add(size_t series, uint64_t time_ns, int64_t value);
    const std::vector<Point>& of(size_t series) const { return series_[series]; }
    uint64_t count() const { return count_; }
    /// How long the slots are; 0: all points are there.
    uint64_t slot_ns() const { return slot_ns_; }

private:
    void thin();

    uint64_t most_, span_ns_;
    uint64_t count_ = 0, slot_ns_ = 0;
    std::vector<std::vector<Point>> series_;
};

}  // namespace ttmem::timeline
