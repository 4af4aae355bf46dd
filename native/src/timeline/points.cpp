#include "timeline/points.hpp"

#include <algorithm>

namespace ttmem::timeline {
namespace {

constexpr uint64_t kOfSlot = 3;

// Keeps the lowest, the highest and the last of some points, in their order, at `to`; returns how many those are.
size_t keep_ends(const Point* from, size_t count, Point* to) {
    const auto is_lower = [](const Point& a, const Point& b) { return a.value < b.value; };
    const Point* lowest = std::min_element(from, from + count, is_lower);
    const Point* highest = std::max_element(from, from + count, is_lower);
    const Point *first = std::min(lowest, highest), *second = std::max(lowest, highest), *last = from + count - 1;
    const Point kept[kOfSlot] = {*first, *second, *last};
    size_t done = 0;
    to[done++] = kept[0];
    if (second != first) to[done++] = kept[1];
    if (last != second) to[done++] = kept[2];
    return done;
}

void thin_series(std::vector<Point>& points, uint64_t slot_ns) {
    size_t done = 0;
    for (size_t from = 0; from < points.size();) {
        size_t to = from;
        const uint64_t slot = points[from].time_ns / slot_ns;
        while (to < points.size() && points[to].time_ns / slot_ns == slot) ++to;
        done += keep_ends(&points[from], to - from, &points[done]);
        from = to;
    }
    points.resize(done);
}

}  // namespace

void Points::add(size_t series, uint64_t time_ns, int64_t value) {
    std::vector<Point>& points = series_[series];
    if (!points.empty() && points.back().value == value) return;
    if (!points.empty()) time_ns = std::max(time_ns, points.back().time_ns);
    if (count_ >= most_) thin();
    points.push_back({time_ns, value});
    ++count_;
}

// To half of what there may be, so that it is seldom done; as few slots as series leave, but each has one.
void Points::thin() {
    const uint64_t slots = std::max<uint64_t>(1, most_ / 2 / kOfSlot / std::max<size_t>(1, series_.size()));
    do {
        slot_ns_ = std::max<uint64_t>({1, slot_ns_ * 2, span_ns_ / slots});
        count_ = 0;
        for (std::vector<Point>& points : series_) {
            thin_series(points, slot_ns_);
            count_ += points.size();
        }
    } while (count_ > most_ / 2 && slot_ns_ < span_ns_);
}

}  // namespace ttmem::timeline
