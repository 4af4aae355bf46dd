// Promise: a program whose live table is full pays at most 1.3 x for a report; its counters stay right.
#include "measure/live_set.hpp"
#include "measure/scenario.hpp"

using namespace measure;

namespace {

constexpr uint32_t kLive = 1'000;
constexpr uint32_t kTable = 4'096;
constexpr uint64_t kEvents = 1'000'000;
constexpr int kRounds = 3;

/// Batch means with `occupied` entries of the table taken by allocations that stay.
template <typename Way>
Samples means_ns(uint32_t occupied) {
    return in_child({{"TTMEM_TABLE", std::to_string(kTable)}}, [&] {
        const uint16_t target = open_target(1);
        const LiveSet<ByHandle> staying(ByHandle{target}, occupied);
        return loop_means_ns(Way{target}, kLive, kEvents);
    });
}

template <typename Way>
void compare(const std::string& words) {
    Samples roomy_ns;
    Samples full_ns;
    for (int i = 0; i < kRounds; ++i) {
        const Samples roomy = means_ns<Way>(1);
        const Samples full = means_ns<Way>(kTable);
        roomy_ns.insert(roomy_ns.end(), roomy.begin(), roomy.end());
        full_ns.insert(full_ns.end(), full.begin(), full.end());
    }
    const double before = median(roomy_ns);
    const double after = median(full_ns);
    show({.name = "table with room, " + words, .value = before});
    show({.name = "table full, " + words, .value = after});
    show({.name = "full / room, " + words, .value = after / before, .unit = "x", .target = "<= 1.3"});
}

}  // namespace

int main() {
    return run([] {
        compare<ByHandle>("by handle");
        compare<ById>("by id");
    });
}
