#include "timeline/perfetto.hpp"

#include <algorithm>
#include <string_view>

namespace ttmem::timeline {
namespace {

constexpr uint64_t kSequence = 1;  // all packets of a trace are of one writer
constexpr uint32_t kNumber = 0, kBytes = 2;
enum Event : uint64_t { kInstant = 3, kCounter = 4 };

void put_number(std::string& bytes, uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
    bytes.push_back(static_cast<char>(value));
}

void put(std::string& bytes, uint32_t field, uint64_t value) {
    put_number(bytes, field << 3 | kNumber);
    put_number(bytes, value);
}

void put(std::string& bytes, uint32_t field, std::string_view value) {
    put_number(bytes, field << 3 | kBytes);
    put_number(bytes, value.size());
    bytes.append(value);
}

/// Two buffers that are used again for each packet.
struct Packet {
    std::string event, packet;

    void add_to(std::string& trace, uint64_t time_ns) {
        packet.clear();
        put(packet, 8, time_ns);
        put(packet, 10, kSequence);
        put(packet, 11, event);
        put(trace, 1, packet);
    }
    void begin(Event type, uint64_t track) {
        event.clear();
        put(event, 9, type);
        put(event, 11, track);
    }
};

}  // namespace

std::string counter_packets(const std::vector<Point>& points, size_t first, size_t most, uint64_t track) {
    std::string trace;
    Packet packet;
    const size_t end = std::min(points.size(), first + most);
    trace.reserve((end - std::min(first, end)) * 32);
    for (size_t i = first; i < end; ++i) {
        packet.begin(kCounter, track);
        put(packet.event, 30, static_cast<uint64_t>(points[i].value));
        packet.add_to(trace, points[i].time_ns);
    }
    return trace;
}

std::string launch_packets(const Timeline& timeline, size_t first, size_t most, const std::vector<uint64_t>& tracks) {
    std::string trace, annotation;
    Packet packet;
    const std::vector<Launch>& launches = timeline.launches();
    for (size_t i = first; i < std::min(launches.size(), first + most); ++i) {
        const Launch& launch = launches[i];
        packet.begin(kInstant, tracks.at(launch.track));
        put(packet.event, 22, "launch");
        const std::string& name = timeline.names()[launch.name];
        put(packet.event, 23, name.empty() ? std::string_view("a program") : std::string_view(name));
        if (launch.count != 1) {
            annotation.clear();
            put(annotation, 10, "launches");
            put(annotation, 3, uint64_t{launch.count});
            put(packet.event, 4, annotation);
        }
        packet.add_to(trace, launch.time_ns);
    }
    return trace;
}

}  // namespace ttmem::timeline
