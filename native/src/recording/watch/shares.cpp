#include "recording/watch/shares.hpp"

#include <algorithm>

namespace ttmem::recording {
namespace {

constexpr uint64_t kLateMostNs = 60'000'000'000;  // rows of one process stand at most so far behind those of another

}  // namespace

void Shares::add_of_several(uint64_t process, int64_t by, int64_t now, int64_t highest) {
    if (by == 0) return;
    if (process_ == 0) {
        process_ = process;
        has_changed_ = true;
        return;
    }
    if (shares_.empty()) shares_.push_back({process_, now, highest, has_changed_, std::move(before_)});
    if (last_ >= shares_.size() || shares_[last_].process != process) {
        const auto is_it = [&](const Share& one) { return one.process == process; };
        last_ = static_cast<size_t>(std::find_if(shares_.begin(), shares_.end(), is_it) - shares_.begin());
        if (last_ == shares_.size()) shares_.push_back({process, 0, 0, false, {}});
    }
    Share& its = shares_[last_];
    its.now += by;
    its.highest = std::max(its.highest, its.now);
    its.has_changed = true;
}

void Shares::note(std::vector<Before>& before, Before one) {
    if (!before.empty()) one.last_ns = std::max(one.last_ns, before.back().last_ns);
    while (!before.empty() && before.back().highest <= one.highest) before.pop_back();
    std::erase_if(before, [&](const Before& old) { return old.last_ns + kLateMostNs < one.last_ns; });
    before.push_back(one);
}

bool Shares::close(uint64_t first_ns, uint64_t last_ns, int64_t& highest) {
    if (shares_.empty()) {
        if (has_changed_) note(before_, {last_ns, highest});
        has_changed_ = false;
        return false;
    }
    int64_t sum = 0;
    size_t moving = 0;
    for (Share& its : shares_) {
        int64_t most = its.highest;
        bool is_moving = its.has_changed;
        for (const Before& one : its.before) {
            if (one.last_ns < first_ns) continue;
            most = std::max(most, one.highest);
            is_moving = true;
        }
        sum += most;
        moving += is_moving ? 1 : 0;
        if (its.has_changed) note(its.before, {last_ns, its.highest});
        its.highest = its.now;
        its.has_changed = false;
    }
    std::erase_if(shares_, [&](const Share& one) {
        return one.now == 0 && !one.before.empty() && one.before.back().last_ns + kLateMostNs < last_ns;
    });
    if (moving < 2) return false;
    highest = std::max(highest, sum);
    return true;
}

}  // namespace ttmem::recording
