#include "measure/figures.hpp"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace measure {
namespace {

uint64_t read_clock_ns(clockid_t clock) {
    timespec at{};
    clock_gettime(clock, &at);
    return static_cast<uint64_t>(at.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(at.tv_nsec);
}

}  // namespace

uint64_t thread_cpu_ns() { return read_clock_ns(CLOCK_THREAD_CPUTIME_ID); }
uint64_t now_ns() { return read_clock_ns(CLOCK_MONOTONIC); }

double quantile(std::vector<double> samples, double part) {
    if (samples.empty()) return 0;
    const auto at = static_cast<size_t>(part * static_cast<double>(samples.size() - 1) + 0.5);
    std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(at), samples.end());
    return samples[at];
}

double median(std::vector<double> samples) { return quantile(std::move(samples), 0.5); }

bool is_quick() {
    const char* quick = std::getenv("TTMEM_BENCH_QUICK");
    return quick != nullptr && std::strcmp(quick, "1") == 0;
}

int batch_count() { return is_quick() ? 3 : 11; }
uint64_t event_count(uint64_t whole) { return is_quick() ? whole / 20 : whole; }

double batch_mean_ns(const std::function<void(uint64_t)>& batch, uint64_t turns, uint32_t events_per_turn) {
    const uint64_t began = thread_cpu_ns();
    batch(turns);
    return static_cast<double>(thread_cpu_ns() - began) / static_cast<double>(turns * events_per_turn);
}

std::vector<double> net_batch_means_ns(const std::function<void(uint64_t)>& batch,
                                       const std::function<void(uint64_t)>& empty, uint64_t turns,
                                       uint32_t events_per_turn) {
    batch_mean_ns(batch, turns, events_per_turn);  // warms caches, pages and branches
    std::vector<double> means;
    for (int i = 0; i < batch_count(); ++i) {
        const double empty_ns = batch_mean_ns(empty, turns, events_per_turn);
        means.push_back(batch_mean_ns(batch, turns, events_per_turn) - empty_ns);
    }
    return means;
}

void show(const Figure& figure) {
    std::printf("{\"name\": \"%s\", \"value\": %.6g, \"unit\": \"%s\", \"target\": ", figure.name.c_str(), figure.value,
                figure.unit.c_str());
    if (figure.target.empty()) {
        std::printf("null");
    } else {
        std::printf("\"%s\"", figure.target.c_str());
    }
    if (figure.baseline < 0) {
        std::printf(", \"baseline\": null}\n");
    } else {
        std::printf(", \"baseline\": %.6g}\n", figure.baseline);
    }
    std::fflush(stdout);
}

}  // namespace measure
