// Promise: 100 million events of ids never seen before leave no trace in the cost: the last million is within
// 1.2 x of the first. (An index with tombstones went from 43 to 24,000 ns here.)
#include "measure/live_set.hpp"
#include "measure/scenario.hpp"

using namespace measure;

namespace {

constexpr uint64_t kWarmUp = 1'000'000;
constexpr uint64_t kMillion = 1'000'000;
constexpr uint64_t kAll = 100'000'000;
constexpr int kParts = 10;  // a million is measured as this many batches

Samples first_and_last_ns(uint32_t live_count) {
    LiveSet<ById> set(ById{open_target(1)}, live_count);
    LiveSet<ByNothing> nothing(ByNothing{}, live_count);
    const auto million_ns = [&] {
        Samples means;
        const uint64_t turns = event_count(kMillion) / kEventsPerTurn / kParts;
        for (int i = 0; i < kParts; ++i) {
            const double empty_ns = batch_mean_ns([&](uint64_t n) { nothing.turn(n); }, turns, kEventsPerTurn);
            means.push_back(batch_mean_ns([&](uint64_t n) { set.turn(n); }, turns, kEventsPerTurn) - empty_ns);
        }
        return median(means);
    };
    set.turn(event_count(kWarmUp) / kEventsPerTurn);
    const double first_ns = million_ns();
    set.turn(event_count(kAll - 2 * kMillion) / kEventsPerTurn);
    return {first_ns, million_ns()};
}

void compare(uint32_t live_count, const std::string& words) {
    const Samples both = in_child({}, [&] { return first_and_last_ns(live_count); });
    show({.name = "first million, " + words, .value = both[0]});
    show({.name = "last million of 100, " + words, .value = both[1]});
    show({.name = "last / first, " + words, .value = both[1] / both[0], .unit = "x", .target = "<= 1.2"});
}

}  // namespace

int main() {
    return run([] {
        compare(1'000, "1,000 live");
        compare(100'000, "100,000 live");
    });
}
