// Packets of Perfetto's trace format, for what there may be millions of: figures over time, and launches.
//
// A trace is a row of packets, each behind its length; all numbers are varints. The fields that are written here:
//
//   packet        8 timestamp, 10 sequence, 11 event
//   event         9 type, 11 track, 22 category, 23 name, 30 value of a counter, 4 annotation
//   annotation    10 name, 3 number
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "timeline/timeline.hpp"

namespace ttmem::timeline {

/// Some of the points of a series, of the track of that number.
std::string counter_packets(const std::vector<Point>& points, size_t first, size_t most, uint64_t track);

/// Some of the launches; `tracks`: the numbers of those in which they are shown, by their track in the timeline.
std::string launch_packets(const Timeline& timeline, size_t first, size_t most, const std::vector<uint64_t>& tracks);

}  // namespace ttmem::timeline
