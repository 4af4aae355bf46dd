// Which journals are held open when there are more than descriptors: those that had news last.
#include <unistd.h>

#include <algorithm>

#include "journal/identity.hpp"
#include "ledger/collector.hpp"

namespace ttmem {
namespace {

constexpr uint64_t kVisitNs = 500'000;           // 2,000 visits a second, unless that is
constexpr uint64_t kVisitLeastNs = 20 * kMs;     // one journal more often than that,
constexpr uint64_t kVisitMostNs = 1000 * kMs;    // or more rarely
constexpr uint64_t kSilentNs = 1000 * kMs;       // without news for that long: others may need its descriptors more
constexpr uint64_t kMissingMostNs = 5000 * kMs;  // a removed file may be found again by another path until then

}  // namespace

uint64_t Collector::visit_ns() const {
    return std::clamp<uint64_t>(visited_count_ * kVisitNs, kVisitLeastNs, kVisitMostNs);
}

// Whether a journal can be read now.
bool Collector::reach(Process& process, uint64_t now) {
    if (process.file == nullptr || process.is_over()) return true;
    const Reach reached = process.file->reach();
    if (reached == Reach::gone) lose(process, now);
    if (reached == Reach::open) process.missing_since_ns = 0;
    return reached == Reach::open;
}

// Its file is gone, and was not held open. That is how the journal of a dead process ends; of a living one it may be found
// again by another path.
void Collector::lose(Process& process, uint64_t now) {
    const bool is_running =
        process.start_ticks != 0 && process.known_pid > 0 && start_ticks_of(process.known_pid) == process.start_ticks;
    if (!is_running) return dismiss(process);
    if (process.missing_since_ns == 0) process.missing_since_ns = now;
    if (now - process.missing_since_ns > kMissingMostNs) damage(process, kRemoved);
}

// Holds a journal open, in the place of a silent one if need be.
void Collector::keep_open(Process& process, uint64_t now) {
    if (process.file == nullptr || process.file->is_kept()) return;
    if (!files_.has_room()) {
        if (none_silent_ns_ == now) return;
        Process* silent = longest_silent(now - kSilentNs);
        if (silent == nullptr) {
            none_silent_ns_ = now;
            return;
        }
        let_go(*silent);
    }
    files_.keep(*process.file);
}

void Collector::let_go(Process& process) {
    files_.release(*process.file);
    if (process.pidfd >= 0) close(process.pidfd);
    process.pidfd = -1;
}

// Of the journals that are held open: one that is over, else the one without news for longest, if that was before.
Process* Collector::longest_silent(uint64_t before) {
    Process* found = nullptr;
    for (const auto& process : processes_) {
        if (process->file == nullptr || !process->file->is_kept()) continue;
        if (process->is_over()) return process.get();
        if (process->heard_ns < before) {
            before = process->heard_ns;
            found = process.get();
        }
    }
    return found;
}

// Limits may change while a process runs, and descriptors may have been needed elsewhere.
void Collector::keep_to_limit(uint64_t now) {
    files_.read_limit();
    while (files_.is_over_limit()) {
        Process* silent = longest_silent(now + 1);
        if (silent == nullptr) break;
        let_go(*silent);
    }
    for (const auto& process : processes_) {
        if (!is_visited(*process) || process->is_over()) continue;
        if (files_.has_room()) {
            files_.keep(*process->file);
            process->checked_ns = 0;  // and its death will be reported
        } else if (process->pidfd >= 0) {
            let_go(*process);
        }
    }
}

}  // namespace ttmem
