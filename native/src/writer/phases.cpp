// Phases: named stretches of a run, which may nest and overlap, each with its own peaks.
//
// The hot path keeps one figure more than it would anyway: the peak since the last boundary. At every boundary (any
// phase begins or ends) that figure is folded into all open phases and starts over, so each phase's peak is exact
// however the phases lie, and an allocation never looks at them.
#include <sys/mman.h>

#include <algorithm>
#include <iterator>

#include "writer/operations.hpp"

namespace ttmem {
namespace {

constexpr uint32_t kOpenMost = 32;

// `number` and `is_ending` may be touched without the lock, by an end that could not wait for it; the rest under it. Name and
// thread may be read without it, and count if the number is the same before and after.
struct OpenPhase {
    std::atomic<uint32_t> number{0};  // 0: free
    std::atomic<bool> is_ending{false};
    std::atomic<uint32_t> name{0};
    std::atomic<uint16_t> thread{0};      // that began it, 0 unknown
    uint64_t (*peaks)[kPools] = nullptr;  // [kTargets][kPools], kept for the next phase in this place
};

std::atomic<uint32_t> boundary{0};
OpenPhase open_phases[kOpenMost];
uint32_t last_number = 0;
std::atomic<uint32_t> generation{0};

uint64_t clamp_to_zero(uint64_t used) noexcept { return static_cast<int64_t>(used) < 0 ? 0 : used; }

// Starts the window over at what is used now; an allocation that races with it raises the new window itself, and the
// second look catches one that raised the old.
uint64_t take_window(PoolCounters& pool) noexcept {
    const uint64_t peak =
        pool.window_peak.exchange(clamp_to_zero(pool.used.load(std::memory_order_relaxed)), std::memory_order_relaxed);
    raise_to(pool.window_peak, clamp_to_zero(pool.used.load(std::memory_order_relaxed)));
    return peak;
}

void fold(const Writer& writer, uint32_t t) noexcept {
    Target& target = writer.targets[t];
    for (uint32_t p = 0; p < kPools; ++p) {
        if (target.pools[p].allocs.load(std::memory_order_relaxed) == 0) continue;
        const uint64_t peak = take_window(target.pools[p]);
        for (OpenPhase& phase : open_phases)
            if (phase.number != 0) phase.peaks[t][p] = std::max(phase.peaks[t][p], peak);
    }
}

void fold(const Writer& writer) noexcept {
    for (uint32_t t = 0; t < kTargets; ++t) fold(writer, t);
}

void publish_phase(Type type, const OpenPhase& phase, uint16_t target, uint8_t pool, uint64_t peak) noexcept {
    publish_now(PhaseRecord{type, phase.number, phase.name, target, pool, peak}.pack());
}

// The row that late viewers read, or the free one that is to become it; without room for it the loss is counted.
PhasePeak* row_of(const Writer& writer, uint32_t name, uint16_t target, uint8_t pool) noexcept {
    const uint64_t place = PhasePlace{name, target, pool}.pack();
    for (uint32_t i = 0; i < kPhasePeaks; ++i) {
        PhasePeak& row = writer.phases[i];
        if (row.runs.load(std::memory_order_relaxed) != 0) {
            if (row.name_and_place.load(std::memory_order_relaxed) == place) return &row;
            continue;
        }
        row.name_and_place.store(place, std::memory_order_relaxed);
        return &row;
    }
    writer.header->phases_refused.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
}

// One row per name, target and pool; the highest run counts.
void keep_peak(const Writer& writer, uint32_t name, uint16_t target, uint8_t pool, uint64_t peak) noexcept {
    PhasePeak* row = row_of(writer, name, target, pool);
    if (row == nullptr) return;
    const uint64_t runs = row->runs.load(std::memory_order_relaxed);
    if (runs == 0 || peak > row->peak.load(std::memory_order_relaxed)) {
        row->time.store(raw_now(writer.clock), std::memory_order_relaxed);
        row->peak.store(peak, std::memory_order_release);
    }
    row->runs.store(runs + 1, std::memory_order_release);
}

// One row per name: how many of its phases are open, and since when. Who dies in a phase leaves it standing.
void keep_open(const Writer& writer, uint32_t name) noexcept {
    PhasePeak* row = row_of(writer, name, kNoTarget, 0);
    if (row == nullptr) return;
    const uint64_t before = row->peak.load(std::memory_order_relaxed);
    const auto open = static_cast<uint64_t>(
        std::count_if(std::begin(open_phases), std::end(open_phases), [&](const OpenPhase& phase) {
            return phase.number.load(std::memory_order_relaxed) != 0 && phase.name == name;
        }));
    if (before == 0) row->time.store(raw_now(writer.clock), std::memory_order_relaxed);
    row->peak.store(open, std::memory_order_release);
    row->runs.store(1, std::memory_order_release);
}

OpenPhase* free_place() noexcept {
    for (OpenPhase& phase : open_phases) {
        if (phase.number != 0) continue;
        if (phase.peaks == nullptr) {
            void* room = mmap(nullptr, sizeof(uint64_t[kTargets][kPools]), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (room == MAP_FAILED) return nullptr;
            phase.peaks = static_cast<uint64_t (*)[kPools]>(room);
        }
        return &phase;
    }
    return nullptr;
}

void forget_parents_phases(const Writer& writer) noexcept {
    if (generation == writer.generation) return;
    for (OpenPhase& phase : open_phases) {
        phase.number.store(0, std::memory_order_relaxed);
        phase.is_ending.store(false, std::memory_order_relaxed);
    }
    generation = writer.generation;
}

// After a fold: closes every phase that was marked.
void end_marked(const Writer& writer) noexcept {
    for (OpenPhase& phase : open_phases) {
        if (phase.number == 0 || !phase.is_ending.load(std::memory_order_acquire)) continue;
        for (uint16_t t = 0; t < kTargets; ++t)
            for (uint8_t p = 0; p < kPools; ++p) {
                if (phase.peaks[t][p] == 0) continue;
                keep_peak(writer, phase.name, t, p, phase.peaks[t][p]);
                publish_phase(Type::phase_peaked, phase, t, p, phase.peaks[t][p]);
            }
        publish_phase(Type::phase_ended, phase, 0, TTMEM_POOL_UNKNOWN, 0);
        phase.is_ending.store(false, std::memory_order_relaxed);
        phase.number.store(0, std::memory_order_release);
        keep_open(writer, phase.name);
    }
}

}  // namespace

uint32_t begin_phase(uint32_t name) noexcept {
    const Writer& writer = the_writer;
    const RareLock lock(boundary);
    if (lock.is_held()) forget_parents_phases(writer);
    if (lock.is_held()) {
        fold(writer);
        end_marked(writer);
    }
    OpenPhase* phase = lock.is_held() ? free_place() : nullptr;
    if (phase == nullptr) {
        writer.header->phases_refused.fetch_add(1, std::memory_order_relaxed);
        return 0;
    }
    for (uint32_t t = 0; t < kTargets; ++t)
        for (uint32_t p = 0; p < kPools; ++p)
            phase->peaks[t][p] = clamp_to_zero(writer.targets[t].pools[p].used.load(std::memory_order_relaxed));
    phase->name = name;
    phase->thread = thread_number();
    phase->number = ++last_number;
    publish_phase(Type::phase_began, *phase, 0, TTMEM_POOL_UNKNOWN, 0);
    keep_open(writer, name);
    return phase->number;
}

// Without the lock: anyone who asks was refused memory, and does not wait.
uint32_t open_phase_name() noexcept {
    if (generation.load(std::memory_order_acquire) != the_writer.generation) return 0;  // those are the parent's
    const uint16_t thread = thread_number();
    uint32_t newest = 0, newest_name = 0;
    bool is_own = false;
    for (const OpenPhase& phase : open_phases) {
        const uint32_t number = phase.number.load(std::memory_order_acquire);
        if (number == 0 || phase.is_ending.load(std::memory_order_acquire)) continue;
        const uint32_t name = phase.name.load(std::memory_order_acquire);
        const bool is_ours = thread != 0 && phase.thread.load(std::memory_order_acquire) == thread;
        if (phase.number.load(std::memory_order_relaxed) != number) continue;
        if (is_ours < is_own || (is_ours == is_own && number <= newest)) continue;
        newest = number;
        newest_name = name;
        is_own = is_ours;
    }
    return newest_name;
}

// An end that could not have the lock leaves its mark, and anyone who comes to the next boundary ends the phase.
void end_phase(uint32_t number) noexcept {
    if (number == 0) return;
    const Writer& writer = the_writer;
    for (OpenPhase& phase : open_phases)
        if (phase.number.load(std::memory_order_acquire) == number)
            phase.is_ending.store(true, std::memory_order_release);
    const RareLock lock(boundary);
    if (!lock.is_held()) return;
    forget_parents_phases(writer);
    fold(writer);
    end_marked(writer);
}

// An allocation looks at the window alone, and raises it before the own peak. So the window starts over first, and the own
// peak at the window: anyone who raised the window meanwhile is caught by the second look, or raises the own peak later.
void reset_own_peaks(uint16_t target) noexcept {
    const Writer& writer = the_writer;
    const RareLock lock(boundary);
    if (!lock.is_held()) return;
    forget_parents_phases(writer);
    fold(writer, target);
    for (PoolCounters& pool : writer.targets[target].pools) {
        pool.own_peak.exchange(pool.window_peak.load(std::memory_order_relaxed), std::memory_order_seq_cst);
        raise_to(pool.own_peak, pool.window_peak.load(std::memory_order_relaxed));
    }
}

}  // namespace ttmem
