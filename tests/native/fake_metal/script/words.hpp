// The words of an order, and what they stand for.
#ifndef FAKE_METAL_WORDS_HPP
#define FAKE_METAL_WORDS_HPP

#include <algorithm>
#include <cstdio>

#include "world.hpp"

namespace fake {

using Words = std::vector<std::string>;

/// An order by its first word; tables of them end with a null name.
struct Order {
    const char* name;
    std::string (*obey)(const Words&);
};
extern const Order kDeviceOrders[], kProgramOrders[];

inline uint64_t number(const std::string& text) { return std::stoull(text); }
inline uint32_t half(const std::string& text) { return static_cast<uint32_t>(number(text)); }

inline Words parted(const std::string& text, char between) {
    Words parts;
    for (size_t at = 0, end = 0; at < text.size(); at = end + 1) {
        end = std::min(text.find(between, at), text.size());
        if (end > at) parts.push_back(text.substr(at, end - at));
    }
    return parts;
}

inline std::vector<CoreRange> cores_of(const std::string& text) {
    std::vector<CoreRange> ranges;
    for (const auto& part : parted(text, ';')) {
        CoreRange range{};
        std::sscanf(part.c_str(), "%lu,%lu-%lu,%lu", &range.start.x, &range.start.y, &range.end.x, &range.end.y);
        ranges.push_back(range);
    }
    return ranges;
}

}  // namespace fake

#endif
