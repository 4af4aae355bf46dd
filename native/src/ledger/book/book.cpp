#include "ledger/book/book.hpp"

#include <algorithm>
#include <cstring>

namespace ttmem {
namespace {

constexpr size_t kLookAhead = 16;
constexpr uint64_t kUnmatchedExplained = 65'536;

// Only buffers ask for less than they get; for everything else what was charged was asked for.
int64_t requested_of(const RecordCopy& words) {
    const bool is_plain_buffer = is_buffer(words.kind()) && (words.flags() & kView) == 0;
    return static_cast<int64_t>(is_plain_buffer ? words.requested_bytes() : words.reserved_bytes());
}

// A buffer is one allocation, however many parts it has.
int64_t count_of(const RecordCopy& words) { return words.is_further() ? 0 : 1; }

bool is_estimated(const RecordCopy& words) { return words.kind() != TTMEM_BUFFER && (words.flags() & kEstimated) != 0; }

// Which sum of kernels by core type an entry belongs to.
KindAmount* amounts_by_core_type(KindAmount (&cores)[kCoreTypes], const RecordCopy& words) {
    if (!is_kernel(words.kind())) return nullptr;
    return &cores[words.core_type() < kCoreTypes ? words.core_type() : uint8_t{TTMEM_CORE_UNKNOWN}];
}

// In a program's entry, `address` is the sequence of its last launch and, here, `requested` that of its status.
RecordCopy as_listed(const RecordCopy& entry) {
    RecordCopy life = entry;
    if (life.kind() != TTMEM_PROGRAM_BINARY) return life;
    life.set_requested(0);
    if (life.address == 0 && life.launches() != 0) life.address = life.sequence();
    return life;
}

// Data of another process: an index out of range would be ours to suffer.
bool is_sound(const RecordCopy& event) {
    if (event.target() >= kTargets || event.kind() >= kKinds || event.pool() >= kPools) return false;
    if (event.type() > Type::freed) return true;  // only these two are charged; a phase's peak is a sum of many
    return event.reserved_bytes() <= kSizeMost && (!is_buffer(event.kind()) || event.requested_bytes() <= kSizeMost);
}

// What begins and ends lives is told as it is understood; what rings and caches do is for counters alone.
bool is_told_as_it_is(Type type) {
    return type > Type::freed && type != Type::target_opened && type != Type::ring_moved &&
           type != Type::cache_answered && type != Type::phase_peaked;
}

// A newer writer may know more kinds and pools: those are kept as unknown. False when nothing makes sense of it.
bool make_sound(RecordCopy& event) {
    Tag tag = Tag::unpack(event.tag);
    if (tag.kind >= kKinds) tag.kind = TTMEM_KIND_UNKNOWN;
    if (tag.pool >= kPools) tag.pool = TTMEM_POOL_UNKNOWN;
    event.tag = tag.pack();
    return is_sound(event);
}

}  // namespace

void Book::note_gap() {
    for (auto& [number, cell] : cells_) devices_.at(number).is_lower_bound = true;
}

bool Book::touches(const TargetBook& target, uint32_t device) const {
    return std::find(target.devices.begin(), target.devices.end(), device) != target.devices.end();
}

const TargetBook* Book::only_target_on(uint32_t device, size_t& number) const {
    const TargetBook* only = nullptr;
    for (size_t i = 0; i < targets_.size(); ++i) {
        if (!targets_[i].is_named || !touches(targets_[i], device)) continue;
        if (only != nullptr) return nullptr;
        only = &targets_[i];
        number = i;
    }
    return only;
}

uint64_t Book::when(uint64_t raw, uint64_t now_ns) const {
    const uint64_t known = clock_ != nullptr ? clock_->realtime(raw, *journal_) : 0;
    return known != 0 ? known : now_ns;
}

void Book::charge(const RecordCopy& words, int64_t sign, uint64_t sequence, uint64_t raw, uint64_t now_ns) {
    if (!is_counting_ || is_bookkeeping(words)) return;
    TargetBook& target = targets_[words.target()];
    const int64_t used = sign * static_cast<int64_t>(words.reserved_bytes());
    const int64_t requested = sign * requested_of(words);
    const int64_t count = sign * count_of(words), estimated = is_estimated(words) ? sign : 0;
    const uint8_t pool = words.pool(), kind = words.kind();
    const auto add = [&](Amount& to) {
        to.used += used;
        to.requested += requested;
        to.count += count;
    };
    const auto add_kind = [&](KindAmount& to) { add_to(to, used, count, estimated); };
    add(target.totals.pools[pool]);
    used_pools_ |= 1u << pool;
    used_kinds_ |= 1u << kind;
    const bool has_cores = is_kernel(kind), may_share = has_addresses_ && pool < kPlacedPools;
    const int64_t rule = has_cores ? sign * static_cast<int64_t>(rule_bytes(words)) : 0;
    add_kind(target.totals.kinds[kind]);
    if (has_cores) add_kind(*amounts_by_core_type(target.totals.cores, words));
    target.totals.kernel_rule += rule;
    for (const uint32_t number : target.devices) {
        Cell& own = *cell_of_[number];
        // Usually one target alone holds something of a pool; what several hold at one address is there once.
        const bool is_alone = !may_share || (shared_.empty() && (sign < 0 || own.holders[pool] == words.target()));
        const int64_t by = is_alone ? used : used - overlap_change(words, number, sign > 0);
        if (add_to(own.pools[pool], by, requested, count, !is_held_)) {
            own.pools[pool].peak_sequence = sequence;
            own.pools[pool].peak_raw = raw;
        }
        add_kind(own.kinds[kind]);
        if (has_cores) add_kind(*amounts_by_core_type(own.cores, words));
        add_to(own.kernel_rule, rule);
        if (!is_shared_) continue;
        Device& device = devices_.at(number);
        PeakAmount& all = device.cell.pools[pool];
        if (listener_ != nullptr) listener_->balance(number, pool, all.used + by, device.unsettled == 0);
        if (add_to(all, by, requested, count, device.unsettled == 0))
            all.peak_time_ns = when(raw, now_ns);
        else if (all.used > all.peak && !is_held_)
            device.is_lower_bound = true;  // a peak, but its height is unknown
        add_kind(device.cell.kinds[kind]);
        if (has_cores) add_kind(*amounts_by_core_type(device.cell.cores, words));
        add_to(device.cell.kernel_rule, rule);
    }
}

// A scan may have found the life while its own record is still pending: that record must not begin it again.
void Book::end_life(size_t slot, const Step& by) {
    const RecordCopy& life = *table_.at_slot(slot);
    const uint64_t sequence = by.event.sequence();
    if (by.is_pending(life.sequence())) early_.end(life.sequence());
    if (listener_ != nullptr) listener_->ended(key_, life, sequence, by.event.time, by.event.type() == Type::allocated);
    charge(life, -1, sequence, by.event.time, by.now_ns);
    ended_.add(life, sequence);
    const bool is_freed_program = life.kind() == TTMEM_PROGRAM_BINARY && by.event.type() == Type::freed;
    if (is_freed_program) operations_.erase({life.target(), life.id});
    table_.erase_at(slot);
}

// An allocation of an id that was alive names the life that ended with it. If that one's own record is still pending, it
// is remembered until it comes. Returns what a kernel that ended took.
uint64_t Book::on_replaced(const Step& step) {
    const size_t slot = table_.slot_replaced_by(step.event, step.hash);
    if (const RecordCopy* life = table_.at_slot(slot)) {
        const uint64_t bytes = is_kernel(life->kind()) ? rule_bytes(*life) : 0;
        end_life(slot, step);
        return bytes;
    }
    if (step.may_be_pending()) early_.replace(step.event);
    return 0;
}

void Book::on_allocated(const Step& step) {
    const RecordCopy& event = step.event;
    ensure_place(event.target(), step.now_ns);
    const uint64_t replaced = (event.flags() & kReplaced) != 0 ? on_replaced(step) : 0;
    if ((event.flags() & kStillborn) != 0) return;
    if ((event.flags() & kUntabled) != 0) {  // counted by the counters, which this journal is then read by
        if (log_ != nullptr) log_begun(event, event, replaced);
        return;
    }
    const uint64_t sequence = event.sequence();
    if (sequence < targets_[event.target()].closed_sequence || early_.take_end_of(event)) return;
    const bool may_be_known = step.reader == nullptr || sequence < step.reader->settled_at();
    if (may_be_known && table_.find(entry_key(event), step.hash, sequence) != nullptr)
        return;  // the scan has seen it already
    if (table_.size() >= kEntriesMost) {
        ++findings_["impossible_record"];
        return;
    }
    if (listener_ != nullptr) {
        RecordCopy begun = event;
        begun.forget_replaced();
        listener_->record(key_, begun);
    }
    const RecordCopy life = life_begun_by(event);
    table_.insert(life, step.hash);
    charge(life, +1, sequence, event.time, step.now_ns);
    if (log_ != nullptr) log_begun(event, life, replaced);
}

// As it stands in the live state, with what was read of it before.
RecordCopy Book::life_begun_by(const RecordCopy& event) {
    RecordCopy life = as_listed(event);
    life.forget_replaced();
    if (event.kind() == TTMEM_PROGRAM_BINARY) {
        on_named({event.target(), event.id, ProgramRecord::unpack(event).operation});
        // An unheard-of program begins with a launch; one that is entered again brings its history along.
        if (event.launches() != 0 && (event.flags() & kReplaced) == 0) note_launch(event);
        for (const RecordCopy& change : early_.program_changes())
            if (entry_key(change) == entry_key(life)) change_program(life, change);
    }
    early_.give_site(life);
    return life;
}

void Book::end_and_log(size_t slot, const Step& by) {
    const bool is_said = may_log(by.event.sequence());  // before it ends: it may be one that is still to be said
    const RecordCopy life = *table_.at_slot(slot);
    end_life(slot, by);
    if (is_said) log_ended(life);
}

void Book::on_freed(const Step& step) {
    const RecordCopy& event = step.event;
    if ((event.flags() & kUnmatched) != 0) {
        if (log_ != nullptr && (event.flags() & kExcused) == 0) log_unmatched(event);
        return note_unmatched(event);
    }
    ensure_place(event.target(), step.now_ns);
    if ((event.flags() & kUntabled) != 0) {
        if (log_ != nullptr && may_log(event.sequence())) log_ended(event);
        return;
    }
    const uint64_t made_by = FreedRecord::unpack(event).made_by;
    const size_t slot = table_.slot_of(entry_key(event), step.hash, made_by);
    if (table_.at_slot(slot) != nullptr)
        log_ != nullptr ? end_and_log(slot, step) : end_life(slot, step);
    else if (step.is_pending(made_by))
        early_.end(made_by);
}

// The writer has found nothing to free and counted it; here it is reported what kind of mistake it was. Anyone who makes more
// mistakes than any process will read is not looked after any further.
void Book::note_unmatched(const RecordCopy& event) {
    if ((event.flags() & kExcused) != 0 || ++unmatched_ > kUnmatchedExplained) return;
    ++changes_;
    EntryKey key = entry_key(event);
    if (ended_.has_newly(key)) {
        ++findings_["double_free"];
        return;
    }
    for (uint32_t number = 0; number < std::min(target_count_, kTargets); ++number) {
        const auto target = static_cast<uint16_t>(number);
        key.target = target;
        if (target == event.target() || !targets_[target].is_named || table_.find(key) == nullptr) continue;
        ++findings_["wrong_target_free"];
        return;
    }
}

void Book::drop_lists() {
    ++changes_;
    table_.clear();
    ended_.clear();
}

void Book::begin(const RecordCopy& life, uint32_t hash, uint64_t now_ns) {
    ++changes_;
    if (listener_ != nullptr) listener_->record(key_, life);
    table_.insert(life, hash);
    charge(life, +1, life.sequence(), life.time, now_ns);
}

void Book::end(size_t slot, uint64_t sequence, uint64_t now_ns) {
    ++changes_;
    const RecordCopy& life = *table_.at_slot(slot);
    if (listener_ != nullptr) listener_->ended(key_, life, sequence, now_ns, false);
    charge(life, -1, sequence, now_ns, now_ns);
    ended_.add(life, sequence);
    table_.erase_at(slot);
}

void Book::resize(RecordCopy& life, uint64_t bytes, uint64_t sequence, uint64_t now_ns) {
    ++changes_;
    if (listener_ != nullptr) listener_->resized(key_, life, bytes, sequence);
    charge(life, -1, sequence, now_ns, now_ns);
    life.set_reserved(bytes);
    life.set_requested(bytes);
    charge(life, +1, sequence, now_ns, now_ns);
}

// Sites are children of earlier ones as more becomes known: the newest says most.
void Book::on_site_changed(const Step& step) {
    const SiteChangedRecord changed = SiteChangedRecord::unpack(step.event);
    RecordCopy* life = table_.find(entry_key(step.event), step.hash, changed.made_by);
    if (life != nullptr)
        life->set_site(changed.site);
    else if (step.is_pending(changed.made_by))
        early_.change_site(changed.made_by, changed.site);
}

void Book::learn_refusals(const std::vector<RecordCopy>& events, uint64_t now_ns) {
    ++changes_;
    for (const RecordCopy& event : events) {
        if (!is_sound(event))
            ++findings_["impossible_record"];
        else if (event.type() == Type::out_of_memory)
            on_out_of_memory(event, now_ns);
        else
            on_clash(event, now_ns);
    }
}

void Book::apply(const RecordCopy& event, const JournalReader* reader, uint64_t now_ns) {
    apply({event, entry_hash(entry_key(event)), reader, now_ns});
}

void Book::apply(const Step& step) {
    const RecordCopy& event = step.event;
    if (event.type() > kNewestType) return;  // newer types are not for us
    ++changes_;
    if (!is_sound(event)) {
        RecordCopy known = event;
        if (make_sound(known)) return apply(known, step.reader, step.now_ns);
        ++findings_["impossible_record"];
        return;
    }
    if (event.time > last_raw_) last_raw_ = event.time;
    if (listener_ != nullptr && is_told_as_it_is(event.type())) listener_->record(key_, event);
    switch (event.type()) {
        case Type::allocated:
            return on_allocated(step);
        case Type::freed:
            return on_freed(step);
        case Type::status_changed:
        case Type::launched:
            return on_program(step);
        case Type::target_opened:
            return on_opened(event, step.now_ns);
        case Type::target_closed:
            return on_closed(event, step.now_ns);
        case Type::site_changed:
            return on_site_changed(step);
        case Type::program_named:
            return on_named(ProgramNamedRecord::unpack(event));
        case Type::out_of_memory:
            return on_out_of_memory(event, step.now_ns);
        case Type::clashed:
            return on_clash(event, step.now_ns);
        case Type::ring_moved:
        case Type::cache_answered:
            return on_activity(event, step.now_ns);
        case Type::phase_began:
        case Type::phase_ended:
            return recent_.add_phase(event);
        default:
            return;  // peaks of phases, and labels, are read from the journal's own tables
    }
}

size_t Book::apply_run(const std::vector<RecordCopy>& events, size_t from, uint64_t until, const JournalReader* reader,
                       uint64_t now_ns) {
    const size_t count = events.size();
    uint32_t hashes[2 * kLookAhead];  // of the events ahead: each is hashed once, far enough before it is needed
    const auto hash_at = [&](size_t at) -> uint32_t& { return hashes[at % (2 * kLookAhead)]; };
    const auto look_ahead = [&](size_t at) {
        if (at < count) table_.prefetch_slot(hash_at(at) = entry_hash(entry_key(events[at])));
    };
    size_t i = from;
    for (size_t at = from; at < from + kLookAhead; ++at) look_ahead(at);
    for (; i < count && (i == from || events[i].time <= until); ++i) {
        look_ahead(i + kLookAhead);
        const size_t soon = i + kLookAhead / 2;
        if (soon < count && events[soon].type() == Type::freed) table_.prefetch_entry(hash_at(soon));
        apply({events[i], hash_at(i), reader, now_ns});
    }
    if (i == count && (reader == nullptr || reader->pending().empty())) early_.clear();
    return i;
}

void Book::rebuild(const std::vector<RecordCopy>& alive, const std::vector<RecordCopy>& ends, uint64_t now_ns) {
    ++changes_;
    if (listener_ != nullptr) listener_->lost(key_);
    forget_sharing();
    table_.start_over(alive.size());
    early_.clear();
    for (const RecordCopy& end : ends) {
        if (end.type() == Type::freed)
            early_.end(FreedRecord::unpack(end).made_by);
        else
            early_.replace(end);
    }
    is_counting_ = true;
    std::vector<Totals> fresh(kTargets);
    for (const RecordCopy& found : alive) {
        if (found.kind() == TTMEM_PROGRAM_BINARY)
            on_named({found.target(), found.id, ProgramRecord::unpack(found).operation});
        RecordCopy words = as_listed(found);
        if (!is_sound(words) && !make_sound(words)) {
            ++findings_["impossible_record"];
            continue;
        }
        ensure_place(words.target(), now_ns);
        const EntryKey key = entry_key(words);
        const uint32_t hash = entry_hash(key);
        Totals& totals = fresh[words.target()];
        const auto add = [&](const RecordCopy& one, int64_t sign) {
            if (is_bookkeeping(one)) return;
            totals.pools[one.pool()].used += sign * static_cast<int64_t>(one.reserved_bytes());
            totals.pools[one.pool()].requested += sign * requested_of(one);
            totals.pools[one.pool()].count += sign * count_of(one);
            totals.kinds[one.kind()].used += sign * static_cast<int64_t>(one.reserved_bytes());
            totals.kinds[one.kind()].count += sign * count_of(one);
            totals.kinds[one.kind()].estimated += is_estimated(one) ? sign : 0;
            if (KindAmount* cores = amounts_by_core_type(totals.cores, one)) {
                add_to(*cores, sign * static_cast<int64_t>(one.reserved_bytes()), sign, is_estimated(one) ? sign : 0);
                totals.kernel_rule += sign * static_cast<int64_t>(rule_bytes(one));
            }
        };
        // Two lives of one id in the index: the call that ends the older one is still under way.
        RecordCopy* twin = (words.flags() & kIndexed) != 0 ? table_.find_any(key, hash) : nullptr;
        if (twin != nullptr && (twin->flags() & kIndexed) != 0) {
            if (twin->sequence() >= words.sequence()) continue;
            add(*twin, -1);
            table_.erase(key, hash, twin->sequence());
        }
        table_.insert(words, hash);
        add(words, +1);
    }
    for (uint16_t i = 0; i < target_count_; ++i) set_totals(targets_[i], fresh[i], now_ns);
    find_sharing();
}

}  // namespace ttmem
