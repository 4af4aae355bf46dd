// Promise: with tracking off a report is one inlined load and branch, at most 1 ns.
#include "measure/live_set.hpp"
#include "measure/scenario.hpp"

using namespace measure;

namespace {

constexpr uint64_t kCalls = 200'000'000;
constexpr uint32_t kCallsPerTurn = 4;

template <bool kCalling>
void turn(uint64_t count) {
    const ttmem_buffer buffer{};
    for (uint64_t i = 0; i < count; ++i) {
        for (uint32_t call = 0; call < kCallsPerTurn; call += 2) {
            if constexpr (kCalling) keep(ttmem_buffer_alloc(&buffer));
            keep(call);
            if constexpr (kCalling) ttmem_launch(1, i);
            keep(call);
        }
    }
}

void measure_off() {
    const Samples means = in_untracked_child([] {
        ttmem_disable();
        return net_batch_means_ns(turn<true>, turn<false>, event_count(kCalls) / kCallsPerTurn / 10, kCallsPerTurn);
    });
    show({.name = "one call", .value = median(means), .target = "<= 1"});
}

}  // namespace

int main() { return run(measure_off); }
