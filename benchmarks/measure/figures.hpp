// How a benchmark measures and what it prints: batch means of CPU time in, one JSON line per figure out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace measure {

uint64_t thread_cpu_ns();
uint64_t now_ns();

/// Value below which the share `part` (0..1) of the samples lies.
double quantile(std::vector<double> samples, double part);
double median(std::vector<double> samples);

/// True in a smoke run (TTMEM_BENCH_QUICK=1): same code, figures of no worth.
bool is_quick();
/// How many batches make a figure: 11, or 3 in a smoke run.
int batch_count();
/// `whole` events, or a twentieth of them in a smoke run.
uint64_t event_count(uint64_t whole);

/// Runs `batch(turns)` and returns the thread's CPU ns per event; each turn holds `events_per_turn` events.
double batch_mean_ns(const std::function<void(uint64_t)>& batch, uint64_t turns, uint32_t events_per_turn);
/// Batch means of `batch`, each less the mean of an `empty` batch that ran right beside it.
std::vector<double> net_batch_means_ns(const std::function<void(uint64_t)>& batch,
                                       const std::function<void(uint64_t)>& empty, uint64_t turns,
                                       uint32_t events_per_turn);

struct Figure {
    std::string name;
    double value;
    std::string unit = "ns";
    std::string target = {};  // "<= 30", ">= 25"; empty: shown only
    double baseline = -1;     // the old design in the same unit; below 0: none
};
/// Prints the figure as one line of JSON and flushes it.
void show(const Figure& figure);

/// Keeps the compiler from removing a computation or from moving memory accesses across this point.
template <typename Value>
inline void keep(const Value& value) {
    asm volatile("" : : "r,m"(value) : "memory");
}

}  // namespace measure
