// Promise: a replay of a trace that overlaps with nothing costs at most 50 ns, its record in the ring included. Beside it what
// the others pay: a replay over a buffer, and a buffer that is made and freed while there are traces.
#include "measure/live_set.hpp"
#include "measure/scenario.hpp"

using namespace measure;

namespace {

constexpr uint64_t kReplays = 1'000'000, kRanges = 256, kTrace = 7;

ttmem_handle make(uint16_t target, uint64_t id, uint64_t address) {
    const ttmem_buffer buffer{.id = id,
                              .address = address,
                              .requested_bytes = 4096,
                              .reserved_bytes = 4096 * 12,
                              .per_bank_bytes = 4096,
                              .target = target,
                              .options = TTMEM_BY_HANDLE};
    return ttmem_buffer_alloc(&buffer);
}

// A trace whose intermediates lay apart from each other, at every second page.
void capture(uint16_t target, uint64_t trace) {
    ttmem_trace_begin(target, trace, 0);
    for (uint64_t i = 0; i < kRanges; ++i) ttmem_free(make(target, i, (1 + 2 * i) << 12));
    ttmem_trace_end(target, trace, 4096);
}

template <typename Prepare, typename Each>
double mean_ns(uint64_t turns, uint32_t events_per_turn, Prepare prepare, Each each) {
    return median(in_child({}, [&] {
        const uint16_t target = open_target(1);
        prepare(target);
        Samples means;
        for (int i = 0; i < batch_count(); ++i)
            means.push_back(batch_mean_ns(
                [&](uint64_t count) {
                    for (uint64_t n = 0; n < count; ++n) each(target, n);
                },
                event_count(turns), events_per_turn));
        return means;
    }));
}

void measure_replays() {
    const auto replay = [](uint16_t target, uint64_t) { ttmem_trace_replay(target, kTrace); };
    const auto pair = [](uint16_t target, uint64_t n) { ttmem_free(make(target, n, (2 + 2 * (n % kRanges)) << 12)); };
    const auto with_traces = [](uint64_t count) {
        return [count](uint16_t target) {
            for (uint64_t i = 0; i < count; ++i) capture(target, kTrace + i);
        };
    };
    const auto over_a_buffer = [](uint16_t target) {
        capture(target, kTrace);
        make(target, 1'000'000, 1 << 12);
    };
    show({.name = "a replay over nothing", .value = mean_ns(kReplays, 1, with_traces(1), replay), .target = "<= 50"});
    show({.name = "a replay over a buffer, again", .value = mean_ns(kReplays / 10, 1, over_a_buffer, replay)});
    show({.name = "a report without traces", .value = mean_ns(kReplays, 2, with_traces(0), pair)});
    show({.name = "a report with one trace", .value = mean_ns(kReplays / 4, 2, with_traces(1), pair)});
    show({.name = "a report with 16 traces", .value = mean_ns(kReplays / 10, 2, with_traces(16), pair)});
}

}  // namespace

int main() { return run(measure_replays); }
