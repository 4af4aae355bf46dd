// What a look reads of a journal besides its records: counters, label, phases; and whether they agree with the books.
//
// A counter never changes without a record that names its target, which follows it at once; that of a kernel ring when the
// launch that moved it has returned. So only those are read again that a record reported: of a mesh of 32 chips one, not all.
// Now and then all are, for a launch may hang, and a journal may be damaged.
#include <cstring>
#include <type_traits>

#include "ledger/collector.hpp"

namespace ttmem {
namespace {

constexpr uint64_t kAllAgainNs = 5000 * kMs;

bool is_acting(const TargetCounters& target) {
    static const Activity kNothing{};
    return (target.launches | target.clashes | target.refusals) != 0 ||
           std::memcmp(&target.activity, &kNothing, sizeof kNothing) != 0;
}

bool are_same(const std::vector<TargetCounters>& a, const std::vector<TargetCounters>& b) {
    static_assert(std::has_unique_object_representations_v<TargetCounters>);
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(TargetCounters)) == 0;
}

void note(Process& process, uint32_t number) {
    const TargetCounters& target = process.targets[number];
    uint32_t raised = 0;
    for (uint32_t p = 0; p < kPools; ++p) raised |= uint32_t{target.pools[p].peak != 0} << p;
    process.noted.raised[number] = raised;
    process.noted.raised_anywhere |= raised;
    process.noted.acting[number] = is_acting(target);
}

}  // namespace

// The counters of the first `count` targets.
bool Collector::read_targets(Process& process, uint32_t count) {
    if (!process.reader->targets(process.targets, count)) return false;
    Noted& noted = process.noted;
    noted.raised.assign(count, 0);
    noted.raised_anywhere = 0;
    noted.acting.reset();
    for (uint32_t i = 0; i < count; ++i) note(process, i);
    noted.stale.reset();
    noted.read_ns = nanoseconds(CLOCK_MONOTONIC);
    return true;
}

bool Collector::read_stale_targets(Process& process, bool& has_changed) {
    Noted& noted = process.noted;
    const uint32_t count = process.book.target_count();
    const bool is_known = noted.read_ns != 0 && process.targets.size() == count;
    if (!is_known || nanoseconds(CLOCK_MONOTONIC) - noted.read_ns > kAllAgainNs) {
        const std::vector<TargetCounters> before = process.targets;
        if (!read_targets(process, count)) return false;
        has_changed = !is_known || !are_same(before, process.targets);
        return true;
    }
    has_changed = noted.stale.any();
    for (uint32_t i = 0; i < count && noted.stale.any(); ++i) {
        if (!noted.stale[i]) continue;
        if (!process.reader->target(process.targets[i], i)) return false;
        noted.stale.reset(i);
        note(process, i);
    }
    noted.stale.reset();
    return true;
}

// Counters, label and phases as they are now; the screen shows a process's own peaks from them.
void Collector::refresh(Process& process) {
    if (process.reader == nullptr || process.mode == Mode::ended || process.mode == Mode::damaged) return;
    if (!reach(process, nanoseconds(CLOCK_MONOTONIC))) {
        process.figures += process.hot != process.noted.hot;  // as the last pass has seen it
        process.noted.hot = process.hot;
        return;
    }
    bool has_changed = false;
    if (!process.reader->look(process.hot) || !read_stale_targets(process, has_changed) || !read_phases(process) ||
        !read_incidents(process, has_changed))
        return damage(process, kCut);
    refresh_label(process);
    has_changed |= process.hot != process.noted.hot;
    process.noted.hot = process.hot;
    if (!has_changed && process.mismatch_count == 0) return;
    ++process.figures;
    compare(process);
}

void Collector::refresh_label(Process& process) {
    if (process.reader == nullptr || process.mode == Mode::ended || process.mode == Mode::damaged) return;
    if (process.label_id == process.hot.label) return;
    process.label_id = process.hot.label;
    process.label = process.reader->item(process.hot.label, Item::text).substr(0, 256);
    ++process.figures;
}

// Most never have any: then the first row says.
bool Collector::read_phases(Process& process) {
    const size_t before = process.phases.size();
    if (!process.reader->has_phases()) {
        process.phases.clear();
        process.figures += before != 0;
        return true;
    }
    std::vector<uint64_t> found;
    if (!process.reader->phase_rows(found)) return false;
    if (found == process.phases) return true;
    process.phases = std::move(found);
    ++process.figures;
    return true;
}

// They are few, and a repetition of one changes nothing but its head: anyone who had any is read again at every look.
bool Collector::read_incidents(Process& process, bool& has_changed) {
    if (process.sites_off_id != process.hot.sites_off) {
        process.sites_off_id = process.hot.sites_off;
        process.sites_off = process.reader->item(process.hot.sites_off, Item::text).substr(0, 256);
    }
    if (process.hot.incidents == 0) return true;
    if (!process.incidents.read(*process.reader, has_changed)) return false;
    process.incidents.name_operations(*process.reader, process.book, has_changed);
    return true;
}

// Only a journal that stood still from before the look until after it can be compared, and one whose writer was killed
// in the middle of a call never will.
void Collector::compare(Process& process) {
    process.mismatch.clear();
    process.mismatch_count = 0;
    if (process.ended_ns != 0) return;
    if (process.mode != Mode::following || !process.book.is_counting() || !process.reader->pending().empty()) return;
    Hot after;
    const uint64_t head = process.hot.head;
    if (head != process.reader->position() || process.hot.unsized_frees != 0) return;
    if (!process.reader->look(after) || after.head != head) return;
    process.mismatch = process.book.difference(process.targets);
    process.mismatch_count = process.mismatch.empty() ? 0 : 1;
    if (!process.mismatch.empty() && process.rescanned_at != head) read_again(process, head);
}

// Calls that overlap (an allocation and the close of its target) may end otherwise than their records' order says. The
// live state knows; only what still differs from it is a finding.
void Collector::read_again(Process& process, uint64_t head) {
    process.rescanned_at = head;
    scan(process, nanoseconds(CLOCK_REALTIME), process.reader->position());
    if (process.mode == Mode::settling && process.reader->position() >= process.settle_at) {
        process.mode = Mode::following;
        process.book.catch_up_log();
        if (listener_ != nullptr) listener_->settled(process.key);
        process.unfollowed_from = 0;
        process.scans_in_row = 0;
    }
    if (process.reader->look(process.hot) && read_targets(process, process.book.target_count())) compare(process);
}

}  // namespace ttmem
