// Promise: a report in a loop costs at most 30 ns with 1,000 allocations alive and 80 ns with 100,000, with
// everything kept (ring, live state, counters).
#include "measure/live_set.hpp"
#include "measure/scenario.hpp"

using namespace measure;

namespace {

struct Size {
    uint32_t live_count;
    const char* words;
    const char* target;
};
constexpr Size kSizes[] = {{1'000, "1,000 live", "<= 30"}, {100'000, "100,000 live", "<= 80"}};
constexpr uint64_t kEvents = 2'000'000;

template <typename Way>
double loop_ns(uint32_t live_count) {
    return median(in_child({}, [&] { return loop_means_ns(Way{open_target(1)}, live_count, kEvents); }));
}

void measure_loops() {
    const BaselineServer server;
    for (const Size& size : kSizes) {
        const double sent_ns =
            median(in_untracked_child([&] { return baseline_loop_means_ns(server.socket_path(), size.live_count); }));
        const std::string words = size.words;
        show({.name = words + ", by handle",
              .value = loop_ns<ByHandle>(size.live_count),
              .target = size.target,
              .baseline = sent_ns});
        show({.name = words + ", by id",
              .value = loop_ns<ById>(size.live_count),
              .target = size.target,
              .baseline = sent_ns});
    }
}

}  // namespace

int main() { return run(measure_loops); }
