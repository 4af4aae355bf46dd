// The part of a process's book that knows which chips a target stands for, and moves totals between them.
#include <algorithm>
#include <cstring>

#include "ledger/book/book.hpp"

namespace ttmem {
namespace {

constexpr size_t kDevicesMost = 1024;  // of one process: a damaged file must not fill every user's screen

constexpr int64_t kCounterMost = int64_t{1} << 47;  // beyond every host; sums of what damaged files say stay in range

int64_t clamped(uint64_t counter) {  // a free counted before its allocation shows as "negative" for an instant
    return std::clamp<int64_t>(static_cast<int64_t>(counter), 0, kCounterMost);
}

void subtract(Totals& from, const Totals& what) {
    for (uint32_t p = 0; p < kPools; ++p) {
        from.pools[p].used -= what.pools[p].used;
        from.pools[p].requested -= what.pools[p].requested;
        from.pools[p].count -= what.pools[p].count;
    }
    for (uint32_t k = 0; k < kKinds; ++k) {
        from.kinds[k].used -= what.kinds[k].used;
        from.kinds[k].count -= what.kinds[k].count;
        from.kinds[k].estimated -= what.kinds[k].estimated;
    }
    for (uint32_t c = 0; c < kCoreTypes; ++c) {
        from.cores[c].used -= what.cores[c].used;
        from.cores[c].count -= what.cores[c].count;
        from.cores[c].estimated -= what.cores[c].estimated;
    }
    from.kernel_rule -= what.kernel_rule;
}

}  // namespace

void Book::carry(uint32_t number, const Totals& change, uint64_t now_ns) {
    for (uint32_t p = 0; p < kPools; ++p)
        used_pools_ |= uint32_t{(change.pools[p].used | change.pools[p].requested | change.pools[p].count) != 0} << p;
    for (uint32_t k = 0; k < kKinds; ++k)
        used_kinds_ |= uint32_t{(change.kinds[k].used | change.kinds[k].count) != 0} << k;
    const auto carry_to = [&change](Cell& cell, bool may_peak, auto has_peaked) {
        for (uint32_t p = 0; p < kPools; ++p) {
            const Amount& by = change.pools[p];
            if (add_to(cell.pools[p], by.used, by.requested, by.count, may_peak)) has_peaked(cell.pools[p]);
        }
        for (uint32_t k = 0; k < kKinds; ++k) {
            const KindAmount& by = change.kinds[k];
            add_to(cell.kinds[k], by.used, by.count, by.estimated);
        }
        for (uint32_t c = 0; c < kCoreTypes; ++c) {
            const KindAmount& by = change.cores[c];
            add_to(cell.cores[c], by.used, by.count, by.estimated);
        }
        add_to(cell.kernel_rule, change.kernel_rule);
    };
    carry_to(*cell_of_[number], !is_held_, [this](PeakAmount& pool) { pool.peak_raw = last_raw_; });
    if (!is_shared_) return;
    Device& device = devices_.at(number);
    carry_to(device.cell, device.unsettled == 0,
             [&](PeakAmount& pool) { pool.peak_time_ns = when(last_raw_, now_ns); });
    tell_balances(number);
}

void Book::tell_balances(uint32_t number) {
    if (listener_ == nullptr) return;
    const Device& device = devices_.at(number);
    for (uint8_t p = 0; p < kPools; ++p)
        listener_->balance(number, p, device.cell.pools[p].used, device.unsettled == 0);
}

// A scan is no instant: it may find a life that had ended and another that began meanwhile, and what is read again
// after it overlaps with what it found. Until that is over, sums may be too high, and a peak would stay so.
void Book::hold_peaks() {
    ++changes_;
    is_held_ = true;
    for (const auto& [number, cell] : cells_) hold_peaks_of(number);
}

void Book::hold_peaks_of(uint32_t device) {
    if (!is_shared_ || std::find(held_.begin(), held_.end(), device) != held_.end()) return;
    held_.push_back(device);
    ++devices_.at(device).unsettled;
}

void Book::take_peaks(uint64_t sequence, uint64_t now_ns) {
    if (!is_held_) return;
    ++changes_;
    let_go();
    for (auto& [number, cell] : cells_) {
        for (PeakAmount& pool : cell.pools) {
            if (!raise_peak(pool)) continue;
            pool.peak_sequence = sequence;
            pool.peak_raw = last_raw_;
        }
        Device& device = devices_.at(number);
        if (!is_shared_ || device.unsettled != 0) continue;
        tell_balances(number);
        for (PeakAmount& pool : device.cell.pools)
            if (raise_peak(pool)) pool.peak_time_ns = when(last_raw_, now_ns);
    }
}

void Book::let_go() {
    is_held_ = false;
    for (const uint32_t device : held_) --devices_.at(device).unsettled;
    held_.clear();
}

void Book::set_open(TargetBook& target, bool is_open) {
    if (target.is_open == is_open) return;
    ++changes_;
    target.is_open = is_open;
    for (const uint32_t device : target.devices) {
        Cell& own = *cell_of_[device];
        own.open_targets += is_open ? 1 : -1;
        const bool has_changed = own.open_targets == (is_open ? 1 : 0);
        if (is_shared_ && has_changed) devices_.at(device).open_count += is_open ? 1 : -1;
        if (is_shared_ && has_changed && !is_open) devices_.withdraw(device, key_);
    }
}

void Book::set_totals(TargetBook& target, const Totals& totals, uint64_t now_ns) {
    Totals change = totals;
    subtract(change, target.totals);
    target.totals = totals;
    for (const uint32_t number : target.devices) carry(number, change, now_ns);
}

void Book::place_target(TargetBook& target, std::vector<uint32_t> devices, uint64_t now_ns) {
    if (target.devices == devices) return;
    ++changes_;
    const bool is_moving = !target.devices.empty();
    if (is_moving) forget_sharing();
    const Totals held = target.totals;
    set_totals(target, Totals{}, now_ns);
    target.devices = std::move(devices);
    for (const uint32_t number : target.devices) {
        if (cell_of_.size() <= number) cell_of_.resize(number + 1);
        if (cell_of_[number] == nullptr) {
            cell_of_[number] = &cells_[number];
            devices_.join(number);
        }
        if (is_held_) hold_peaks_of(number);
    }
    set_totals(target, held, now_ns);
    if (is_moving) find_sharing();
}

TargetBook& Book::target_at(uint16_t number) {
    if (number >= targets_.size()) targets_.resize(std::max<size_t>(number + size_t{1}, targets_.size() * 2));
    target_count_ = std::max<uint32_t>(target_count_, number + 1u);
    return targets_[number];
}

Book::~Book() {
    leave();
    for (const auto& [number, cell] : cells_) devices_.part(number);
}

void Book::open_server_chip(uint16_t number, int32_t id, uint64_t now_ns) {
    TargetBook& target = target_at(number);
    if (id < 0) return ensure_place(number, now_ns);
    if (listener_ != nullptr) listener_->opened(key_, number, server_device(id), 0);
    target.is_named = true;
    target.server_id = id;
    target.unique_id = server_device(id);
    place_target(target, {devices_.by_server_id(id, now_ns)}, now_ns);
    set_open(target, true);
}

void Book::follow_mapping(uint64_t now_ns) {
    for (uint32_t i = 0; i < target_count_; ++i) {
        TargetBook& target = targets_[i];
        if (target.server_id < 0) continue;
        const uint32_t device = devices_.by_server_id(static_cast<int32_t>(target.server_id), now_ns);
        if (target.devices.size() == 1 && target.devices[0] == device) continue;
        const bool was_open = target.is_open;
        const std::vector<uint32_t> before = target.devices;
        set_open(target, false);
        place_target(target, {device}, now_ns);
        set_open(target, was_open);
        for (const uint32_t old : before) move_history(old, device);
    }
}

// The same chip under another name: what was its highest stays so, and the old name is given up once nothing uses it.
void Book::move_history(uint32_t from, uint32_t to) {
    Cell& old = *cell_of_[from];
    for (uint32_t p = 0; p < kPools; ++p) {
        PeakAmount& now = cell_of_[to]->pools[p];
        if (old.pools[p].peak <= now.peak) continue;
        now.peak = old.pools[p].peak;
        now.peak_sequence = old.pools[p].peak_sequence;
        now.peak_raw = old.pools[p].peak_raw;
    }
    for (uint32_t i = 0; i < target_count_; ++i)
        if (touches(targets_[i], from)) return;
    recent_.rename(from, to);
    cells_.erase(from);
    cell_of_[from] = nullptr;
    if (std::erase(held_, from) != 0) --devices_.at(from).unsettled;
    devices_.part(from);
}

// A target that reports before (or without) having been opened stands for an unknown device.
void Book::ensure_place(uint16_t number, uint64_t now_ns) {
    TargetBook& target = targets_[number];
    if (target.is_named) return;
    target.is_named = true;
    target_count_ = std::max<uint32_t>(target_count_, number + 1u);
    place_target(target, {devices_.unknown("unknown:" + std::to_string(number) + "@" + std::to_string(key_), now_ns)},
                 now_ns);
}

void Book::open_target(uint16_t number, uint64_t unique_id, uint32_t descriptor, uint64_t now_ns) {
    if (number == 0 || number >= kTargets || cells_.size() >= kDevicesMost) return;
    if (listener_ != nullptr) listener_->opened(key_, number, unique_id, descriptor);
    TargetBook& target = targets_[number];
    std::vector<uint32_t> devices;
    const std::string mesh = arena_ != nullptr ? arena_(arena_from_, descriptor, Item::mesh) : std::string();
    MeshDescriptor head{};
    if (mesh.size() >= sizeof head) std::memcpy(&head, mesh.data(), sizeof head);
    target.is_mesh = head.chip_count > 0 && head.chip_count <= kTargets &&
                     mesh.size() == sizeof head + head.chip_count * sizeof(uint64_t);
    if (target.is_mesh) {
        target.rows = head.rows;
        target.columns = head.columns;
        for (uint32_t i = 0; i < head.chip_count; ++i) {
            uint64_t chip = 0;
            std::memcpy(&chip, mesh.data() + sizeof head + i * sizeof chip, sizeof chip);
            const bool is_known = chip != 0 || devices_.has(0);  // the writer had no id for a target no process opened
            const uint32_t device = is_known ? devices_.by_unique_id(chip, now_ns)
                                             : devices_.unknown("unknown:0@" + std::to_string(key_), now_ns);
            if (std::find(devices.begin(), devices.end(), device) == devices.end()) devices.push_back(device);
        }
    } else {
        target.server_id = is_server_device(unique_id) ? static_cast<int64_t>(unique_id & 0x7fff'ffff) : -1;
        const uint32_t device = target.server_id >= 0
                                    ? devices_.by_server_id(static_cast<int32_t>(target.server_id), now_ns)
                                    : devices_.by_unique_id(unique_id, now_ns);
        devices.push_back(device);
        const std::string bytes = arena_ != nullptr ? arena_(arena_from_, descriptor, Item::device) : std::string();
        Claim claim{key_, trust_, {}};
        if (target.server_id < 0 && bytes.size() == sizeof claim.facts) {
            std::memcpy(&claim.facts, bytes.data(), sizeof claim.facts);
            claim.facts.arch[sizeof claim.facts.arch - 1] = claim.facts.board[sizeof claim.facts.board - 1] = '\0';
            devices_.describe(device, claim, is_shared_);
        }
    }
    target.is_named = true;
    target_count_ = std::max<uint32_t>(target_count_, number + 1u);
    target.unique_id = unique_id;
    if (target.devices != devices) set_open(target, false);  // of the chips it stood for until now
    place_target(target, std::move(devices), now_ns);
    set_open(target, true);
}

void Book::on_opened(const RecordCopy& event, uint64_t now_ns) {
    const TargetOpenedRecord opened = TargetOpenedRecord::unpack(event);
    open_target(opened.target, opened.unique_id, opened.descriptor, now_ns);
}

void Book::on_closed(const RecordCopy& event, uint64_t now_ns) {
    const uint16_t number = event.target();
    TargetBook& target = targets_[number];
    if (!target.is_named) return;
    set_open(target, false);
    const uint64_t sequence = event.sequence();
    target.closed_sequence = std::max(target.closed_sequence, sequence);
    if (target.activity != nullptr) end_activity(*target.activity);
    std::vector<RecordCopy> ended;
    table_.for_each([&](const RecordCopy& words) {
        if (words.target() == number && words.sequence() < sequence) ended.push_back(words);
    });
    const bool is_said = log_ != nullptr && may_log(sequence);
    for (const RecordCopy& words : ended) {
        charge(words, -1, sequence, event.time, now_ns);
        ended_.add(words, sequence);
        table_.erase(entry_key(words), entry_hash(entry_key(words)), words.sequence());
        if (is_said) log_ended(words);
    }
}

void Book::learn_targets(const std::vector<TargetCounters>& targets, uint64_t now_ns) {
    ++changes_;
    for (uint16_t i = 0; i < targets.size() && i < kTargets; ++i) {
        const TargetCounters& words = targets[i];
        targets_[i].launches = words.launches;
        if (words.state == kTargetUnnamed) {
            const auto& pools = words.pools;
            const bool was_used =
                std::any_of(std::begin(pools), std::end(pools), [](const auto& pool) { return pool.peak != 0; });
            if ((words.launches | words.clashes | words.refusals) != 0 || was_used) ensure_place(i, now_ns);
            continue;
        }
        open_target(i, words.unique_id, words.descriptor, now_ns);
        if (words.state != kTargetClosed) continue;
        set_open(targets_[i], false);
        targets_[i].closed_sequence = words.closed_sequence;
    }
}

void Book::inherit_targets(const std::vector<TargetCounters>& targets, uint64_t now_ns) {
    for (uint16_t i = 0; i < targets.size() && i < kTargets; ++i) {
        const TargetCounters& words = targets[i];
        const bool was_closed_before = words.state == kTargetClosed && words.closed_sequence == 0;
        if (words.state == kTargetUnnamed || was_closed_before) continue;
        open_target(i, words.unique_id, words.descriptor, now_ns);
    }
}

void Book::adopt_counters(const std::vector<TargetCounters>& targets, uint64_t now_ns) {
    ++changes_;
    if (listener_ != nullptr) listener_->lost(key_);
    is_counting_ = false;
    forget_sharing();
    for (uint16_t i = 0; i < targets.size() && i < kTargets; ++i) {
        Totals totals;
        bool has_any = false;
        int64_t buffers = 0, buffer_count = 0;
        for (uint32_t p = 0; p < kPools; ++p) {
            const auto& pool = targets[i].pools[p];
            totals.pools[p].used = clamped(pool.used);
            totals.pools[p].requested = 0;
            totals.pools[p].count = clamped(pool.allocs - pool.frees);
            buffers += totals.pools[p].used;
            buffer_count += totals.pools[p].count;
            has_any |= pool.allocs != 0;
        }
        for (uint32_t k = 0; k < kKinds; ++k) {
            if (k == TTMEM_BUFFER) continue;
            totals.kinds[k] = {clamped(targets[i].kinds[k].used), clamped(targets[i].kinds[k].count), 0};
            if (k >= TTMEM_KERNEL_APPLICATION && k != TTMEM_PROGRAM_BINARY &&
                k != TTMEM_TRACE_BUFFER)  // counters do not say on which cores
                add_to(totals.cores[TTMEM_CORE_UNKNOWN], totals.kinds[k].used, totals.kinds[k].count, 0);
            if (is_kernel(static_cast<uint8_t>(k))) totals.kernel_rule += totals.kinds[k].used;  // nor binary x cores
            buffers -= totals.kinds[k].used;
            buffer_count -= totals.kinds[k].count;
        }
        totals.kinds[TTMEM_BUFFER] = {std::max<int64_t>(buffers, 0), std::max<int64_t>(buffer_count, 0), 0};
        if (has_any) ensure_place(i, now_ns);
        targets_[i].launches = targets[i].launches;
        set_totals(targets_[i], totals, now_ns);
    }
}

// Every target's totals, into the chips' sums or out of them.
void Book::add_shares(int64_t sign, uint64_t now_ns) {
    for (const auto& [place, shared] : shared_)
        add_to(devices_.at(place.first).cell.pools[place.second].used, -sign * shared.overlap);
    for (uint32_t i = 0; i < target_count_; ++i) {
        const Totals& held = targets_[i].totals;
        for (const uint32_t number : targets_[i].devices) {
            Device& device = devices_.at(number);
            for (uint32_t p = 0; p < kPools; ++p) {
                const Amount& by = held.pools[p];
                const bool may_peak = sign > 0 && device.unsettled == 0;
                if (add_to(device.cell.pools[p], sign * by.used, sign * by.requested, sign * by.count, may_peak))
                    device.cell.pools[p].peak_time_ns = now_ns;
            }
            for (uint32_t k = 0; k < kKinds; ++k) {
                const KindAmount& by = held.kinds[k];
                add_to(device.cell.kinds[k], sign * by.used, sign * by.count, sign * by.estimated);
            }
            for (uint32_t c = 0; c < kCoreTypes; ++c) {
                const KindAmount& by = held.cores[c];
                add_to(device.cell.cores[c], sign * by.used, sign * by.count, sign * by.estimated);
            }
            add_to(device.cell.kernel_rule, sign * held.kernel_rule);
        }
    }
}

void Book::leave() {
    if (!is_shared_) return;
    ++changes_;
    if (listener_ != nullptr) listener_->shared(key_, false);
    let_go();
    for (uint32_t i = 0; i < target_count_; ++i) set_open(targets_[i], false);
    add_shares(-1, 0);
    is_shared_ = false;
    for (const auto& [number, cell] : cells_) tell_balances(number);
}

void Book::rejoin(uint64_t now_ns) {
    if (is_shared_) return;
    ++changes_;
    if (listener_ != nullptr) listener_->shared(key_, true);
    is_shared_ = true;
    for (uint32_t i = 0; i < target_count_; ++i) set_open(targets_[i], targets_[i].is_named);
    add_shares(+1, now_ns);
    for (const auto& [number, cell] : cells_) tell_balances(number);
}

void Book::reset_peaks() {
    ++changes_;
    for (auto& [number, cell] : cells_) {
        for (PeakAmount& pool : cell.pools) {
            pool.peak = pool.used;
            pool.peak_sequence = 0;
            pool.peak_raw = last_raw_;
        }
        cell.shown_peak_mb = 0;
    }
}

std::string Book::difference(const std::vector<TargetCounters>& targets) const {
    for (uint32_t i = 0; i < kTargets && i < targets.size(); ++i)
        for (uint32_t p = 0; p < kPools; ++p) {
            const auto& pool = targets[i].pools[p];
            const Amount& held = targets_[i].totals.pools[p];
            if (static_cast<int64_t>(pool.used) != held.used ||
                static_cast<int64_t>(pool.allocs - pool.frees) != held.count)
                return "target " + std::to_string(i) + " pool " + std::to_string(p) + ": counters say " +
                       std::to_string(pool.used) + " bytes, the list " + std::to_string(held.used);
        }
    return {};
}

}  // namespace ttmem
