// Promise: 100 million events of ids never seen before leave no trace in the cost: the last million is within
// 1.2 x of the first. (An index with tombstones went from 43 to 24,000 ns here.) The first is taken twice, in a fresh
// process before and in another after, so that a machine that got slower meanwhile is not taken for an index that did.
#include "measure/live_set.hpp"
#include "measure/scenario.hpp"

using namespace measure;

namespace {

constexpr uint64_t kWarmUp = 1'000'000;
constexpr uint64_t kMillion = 1'000'000;
constexpr uint64_t kAll = 100'000'000;
constexpr int kParts = 20;  // a million is measured as this many batches

class NewIds {
public:
    explicit NewIds(uint32_t live_count) : set_(ById{open_target(1)}, live_count), nothing_(ByNothing{}, live_count) {
        pass(kWarmUp);
    }
    void pass(uint64_t events) { set_.turn(event_count(events) / kEventsPerTurn); }
    Samples million_ns() {
        Samples means;
        const uint64_t turns = event_count(kMillion) / kEventsPerTurn / kParts;
        for (int i = 0; i < kParts; ++i) {
            const double empty_ns = batch_mean_ns([&](uint64_t n) { nothing_.turn(n); }, turns, kEventsPerTurn);
            means.push_back(batch_mean_ns([&](uint64_t n) { set_.turn(n); }, turns, kEventsPerTurn) - empty_ns);
        }
        return means;
    }

private:
    LiveSet<ById> set_;
    LiveSet<ByNothing> nothing_;
};

void compare(uint32_t live_count, const std::string& words) {
    const auto first_million = [&] { return in_child({}, [&] { return NewIds(live_count).million_ns(); }); };
    Samples first = first_million();
    const Samples last = in_child({}, [&] {
        NewIds ids(live_count);
        ids.pass(kAll - kMillion - kWarmUp);
        return ids.million_ns();
    });
    const Samples again = first_million();
    first.insert(first.end(), again.begin(), again.end());
    show({.name = "first million, " + words, .value = median(first)});
    show({.name = "last million of 100, " + words, .value = median(last)});
    show({.name = "last / first, " + words, .value = median(last) / median(first), .unit = "x", .target = "<= 1.2"});
}

}  // namespace

int main() {
    return run([] {
        compare(1'000, "1,000 live");
        compare(100'000, "100,000 live");
    });
}
