#include "ledger/book.hpp"

#include <algorithm>
#include <cstring>

namespace ttmem {
namespace {

constexpr size_t kRefusalsKept = 256;
constexpr size_t kHappeningsKept = 256;
constexpr size_t kLookAhead = 16;
constexpr uint64_t kUnmatchedExplained = 65'536;
constexpr size_t kEntriesMost = kTableMost + kPendingMost;  // more no journal can list: it must not fill our memory

// Only buffers ask for less than they get; for everything else what was charged was asked for.
int64_t requested_of(const Words& words) {
    const bool is_plain_buffer = is_buffer(words.kind()) && (words.flags() & kView) == 0;
    return static_cast<int64_t>(is_plain_buffer ? words.requested_bytes() : words.reserved_bytes());
}

// A buffer is one allocation, however many parts it has.
int64_t count_of(const Words& words) { return words.is_further() ? 0 : 1; }

bool is_estimated(const Words& words) { return words.kind() != TTMEM_BUFFER && (words.flags() & kEstimated) != 0; }

// Which sum of kernels by core type an entry belongs to.
KindAmount* cores_of(KindAmount (&cores)[kCoreTypes], const Words& words) {
    if (!is_kernel(words.kind())) return nullptr;
    return &cores[words.core_type() < kCoreTypes ? words.core_type() : uint8_t{TTMEM_CORE_UNKNOWN}];
}

// In a program's entry, `address` is the sequence of its last launch and, here, `requested` that of its status.
Words as_kept(const Words& entry) {
    Words life = entry;
    if (life.kind() != TTMEM_PROGRAM_BINARY) return life;
    life.set_requested(0);
    if (life.address == 0 && life.launches() != 0) life.address = life.sequence();
    return life;
}

// Data of another process: an index out of range would be ours to suffer.
bool is_sound(const Words& event) {
    if (event.target() >= kTargets || event.kind() >= kKinds || event.pool() >= kPools) return false;
    if (event.type() > Type::freed) return true;  // only these two are charged; a phase's peak is a sum of many
    return event.reserved_bytes() <= kSizeMost && (!is_buffer(event.kind()) || event.requested_bytes() <= kSizeMost);
}

// A newer writer may know more kinds and pools: those are kept as unknown. False when nothing makes sense of it.
bool make_sound(Words& event) {
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

void Book::keep_freed(const Words& words, uint64_t freed_sequence) {
    if (freed_.size() < freed_most_) {
        freed_.push_back({words, freed_sequence});
        return;
    }
    freed_dropped_ = std::max(freed_dropped_, freed_[freed_next_].freed_sequence);
    freed_[freed_next_] = {words, freed_sequence};
    freed_next_ = (freed_next_ + 1) % freed_most_;
}

void Book::charge(const Words& words, int64_t sign, uint64_t sequence, uint64_t raw, uint64_t now_ns) {
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
    if (has_cores) add_kind(*cores_of(target.totals.cores, words));
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
        if (has_cores) add_kind(*cores_of(own.cores, words));
        add_to(own.kernel_rule, rule);
        if (!is_shared_) continue;
        Device& device = devices_.at(number);
        PeakAmount& all = device.cell.pools[pool];
        if (add_to(all, by, requested, count, device.unsettled == 0))
            all.peak_time_ns = when(raw, now_ns);
        else if (all.used > all.peak && !is_held_)
            device.is_lower_bound = true;  // a peak, but nobody can say how high
        add_kind(device.cell.kinds[kind]);
        if (has_cores) add_kind(*cores_of(device.cell.cores, words));
        add_to(device.cell.kernel_rule, rule);
    }
}

// A scan may have found the life while its own record is still pending: that record must not begin it again.
void Book::end_life(size_t slot, const Words& by, const JournalReader* reader, uint64_t now_ns) {
    const Words& life = *table_.at_slot(slot);
    if (reader != nullptr && reader->is_pending(life.sequence())) freed_early_.insert(life.sequence());
    charge(life, -1, by.sequence(), by.time, now_ns);
    keep_freed(life, by.sequence());
    if (life.kind() == TTMEM_PROGRAM_BINARY && by.type() == Type::freed) operations_.erase({life.target(), life.id});
    table_.erase_at(slot);
}

// An allocation of an id that was alive names the life that ended with it. If that one's own record is still pending, it
// is remembered until it comes. Returns what a kernel that ended took.
uint64_t Book::on_replaced(const Words& event, uint32_t hash, const JournalReader* reader, uint64_t now_ns) {
    const size_t slot = table_.slot_replaced_by(event, hash);
    if (const Words* life = table_.at_slot(slot)) {
        const uint64_t bytes = is_kernel(life->kind()) ? rule_bytes(*life) : 0;
        end_life(slot, event, reader, now_ns);
        return bytes;
    }
    if (reader != nullptr && !reader->pending().empty()) replaced_early_.push_back(event);
    return 0;
}

bool Book::has_ended_early(const Words& event) {
    if (freed_early_.erase(event.sequence()) != 0) return true;
    return std::erase_if(replaced_early_, [&](const Words& by) {
               return entry_key(by) == entry_key(event) && by.is_replacement_of(event.sequence());
           }) != 0;
}

void Book::on_allocated(const Words& event, uint32_t hash, const JournalReader* reader, uint64_t now_ns) {
    ensure_place(event.target(), now_ns);
    const uint64_t replaced = (event.flags() & kReplaced) != 0 ? on_replaced(event, hash, reader, now_ns) : 0;
    if ((event.flags() & kStillborn) != 0) return;
    if ((event.flags() & kUntabled) != 0) {  // counted by the counters, which this journal is then read by
        if (log_ != nullptr) say_begun(event, event, replaced);
        return;
    }
    const uint64_t sequence = event.sequence();
    if (sequence < targets_[event.target()].closed_sequence) return;
    if ((!freed_early_.empty() || !replaced_early_.empty()) && has_ended_early(event)) return;
    const bool may_be_known = reader == nullptr || sequence < reader->settled_at();
    if (may_be_known && table_.find(entry_key(event), hash, sequence) != nullptr)
        return;  // the scan has seen it already
    if (table_.size() >= kEntriesMost) {
        ++findings_["impossible_record"];
        return;
    }
    Words life = as_kept(event);
    if (event.kind() == TTMEM_PROGRAM_BINARY)
        on_named({event.target(), event.id, ProgramEntry::unpack(event).operation});
    life.forget_replaced();
    if (event.kind() == TTMEM_PROGRAM_BINARY) {
        // An unheard-of program begins with a launch; one that is entered anew brings its history along.
        if (event.launches() != 0 && (event.flags() & kReplaced) == 0) note_launch(event);
        for (const Words& early : programs_early_)
            if (entry_key(early) == entry_key(life)) change_program(life, early);
    }
    if (const auto early = sites_early_.find(sequence); early != sites_early_.end()) life.set_site(early->second);
    table_.insert(life, hash);
    charge(life, +1, sequence, event.time, now_ns);
    if (log_ != nullptr) say_begun(event, life, replaced);
}

void Book::end_aloud(size_t slot, const Words& by, const JournalReader* reader, uint64_t now_ns) {
    const bool is_said = may_say(by.sequence());  // before it ends: it may be one that is still to be said
    const Words life = *table_.at_slot(slot);
    end_life(slot, by, reader, now_ns);
    if (is_said) say_ended(life);
}

void Book::on_freed(const Words& event, uint32_t hash, const JournalReader* reader, uint64_t now_ns) {
    if ((event.flags() & kUnmatched) != 0) {
        if (log_ != nullptr && (event.flags() & kExcused) == 0) say_unmatched(event);
        return note_unmatched(event);
    }
    ensure_place(event.target(), now_ns);
    if ((event.flags() & kUntabled) != 0) {
        if (log_ != nullptr && may_say(event.sequence())) say_ended(event);
        return;
    }
    const uint64_t made_by = FreedRecord::unpack(event).made_by;
    const size_t slot = table_.slot_of(entry_key(event), hash, made_by);
    if (table_.at_slot(slot) != nullptr)
        log_ != nullptr ? end_aloud(slot, event, reader, now_ns) : end_life(slot, event, reader, now_ns);
    else if (reader != nullptr && reader->is_pending(made_by))
        freed_early_.insert(made_by);
}

// The writer has found nothing to free and counted it; here it is told what kind of mistake it was. Whoever makes more
// mistakes than anybody will read is not looked after any further.
void Book::note_unmatched(const Words& event) {
    if ((event.flags() & kExcused) != 0 || ++unmatched_ > kUnmatchedExplained) return;
    ++changes_;
    EntryKey key = entry_key(event);
    const size_t kept = freed_.size();
    for (size_t i = 0; i < std::min<size_t>(kept, 4096); ++i) {
        const size_t at = (freed_next_ + kept - 1 - i) % kept;
        const Words& life = freed_[at].words;
        const bool is_by_handle = key.kind == 0 && life.sequence() == Handle::unpack(key.id).made_by;
        if (!(entry_key(life) == key) && !is_by_handle) continue;
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
    freed_.clear();
    freed_.shrink_to_fit();
    freed_next_ = 0;
}

void Book::begin(const Words& life, uint32_t hash, uint64_t now_ns) {
    ++changes_;
    table_.insert(life, hash);
    charge(life, +1, life.sequence(), life.time, now_ns);
}

void Book::end(size_t slot, uint64_t sequence, uint64_t now_ns) {
    ++changes_;
    const Words& life = *table_.at_slot(slot);
    charge(life, -1, sequence, now_ns, now_ns);
    keep_freed(life, sequence);
    table_.erase_at(slot);
}

void Book::resize(Words& life, uint64_t bytes, uint64_t sequence, uint64_t now_ns) {
    ++changes_;
    charge(life, -1, sequence, now_ns, now_ns);
    life.set_reserved(bytes);
    life.set_requested(bytes);
    charge(life, +1, sequence, now_ns, now_ns);
}

// Of a followed process the counters know; a replayed one has only its records, each of which counts once.
void Book::note_launch(const Words& event) {
    TargetBook& target = targets_[event.target()];
    if (event.sequence() <= target.launched_sequence) return;
    target.launched_sequence = event.sequence();
    ++target.launches;
}

// Launches are told as their number so far, so the highest counts; of statuses the newest does, whatever is read last.
void Book::change_program(Words& program, const Words& event) {
    const uint64_t sequence = event.sequence();
    if (sequence < program.sequence()) return;  // of an earlier life of this program
    if (event.type() == Type::launched) {
        const uint64_t launches = LaunchedRecord::unpack(event).launches;
        if (launches <= in::kLaunches.most() && launches > program.launches())
            program.per_bank = ProgramEntry::with_launches(program.per_bank, launches);
        program.address = std::max(program.address, sequence);
        ++launches_;
    } else if (sequence > program.requested_bytes()) {
        program.per_bank = ProgramEntry::with_status(program.per_bank, StatusChangedRecord::unpack(event).status);
        program.set_requested(sequence);
    }
}

void Book::on_program(const Words& event, const JournalReader* reader, uint64_t now_ns) {
    ensure_place(event.target(), now_ns);
    if (event.type() == Type::launched) note_launch(event);
    if (LaunchedRecord::has_ring(event)) on_activity(ring_of_launch(event), now_ns);
    const EntryKey key{event.id, event.target(), TTMEM_PROGRAM_BINARY};
    if (Words* program = table_.find_any(key, entry_hash(key))) return change_program(*program, event);
    const bool may_come = reader != nullptr && !reader->pending().empty() && programs_early_.size() < kPendingMost;
    if (may_come && event.id != 0) programs_early_.push_back(event);
}

// Sites are children of earlier ones as more becomes known: the newest says most.
void Book::on_site_changed(const Words& event, uint32_t hash, const JournalReader* reader) {
    const SiteChangedRecord changed = SiteChangedRecord::unpack(event);
    Words* life = table_.find(entry_key(event), hash, changed.made_by);
    if (life != nullptr)
        life->set_site(changed.site);
    else if (reader != nullptr && reader->is_pending(changed.made_by))
        sites_early_[changed.made_by] = changed.site;
}

void Book::on_named(const ProgramNamedRecord& named) {
    if (named.site != 0 && operations_.size() < kEntriesMost) operations_[{named.target, named.program}] = named.site;
}

void Book::learn_refusals(const std::vector<Words>& events, uint64_t now_ns) {
    ++changes_;
    for (const Words& event : events) {
        if (!is_sound(event))
            ++findings_["impossible_record"];
        else if (event.type() == Type::out_of_memory)
            on_out_of_memory(event, now_ns);
        else
            on_clash(event, now_ns);
    }
}

void Book::on_out_of_memory(const Words& event, uint64_t now_ns) {
    const auto [number, pool, requested, free, largest] = OutOfMemoryRecord::unpack(event);
    ensure_place(number, now_ns);
    ++targets_[number].refusals;
    for (const uint32_t device : targets_[number].devices) {
        out_of_memory_.push_back({device, pool, requested, free, largest, event.time});
        if (pool < kPools) ++refusals_[{device, pool}];
        keep({event.type(), device, pool, requested, event.time});
    }
    while (out_of_memory_.size() > kRefusalsKept) out_of_memory_.pop_front();
}

void Book::on_clash(const Words& event, uint64_t now_ns) {
    const auto [number, program, cb_end, buffer] = ClashedRecord::unpack(event);
    ensure_place(number, now_ns);
    TargetBook& target = targets_[number];
    ++target.clashes;
    for (const uint32_t device : target.devices) {
        clashes_.push_back({device, program, cb_end, buffer, event.time});
        keep({event.type(), device, TTMEM_CB, program, event.time});
    }
    while (clashes_.size() > kRefusalsKept) clashes_.pop_front();
}

// Peaks of phases are read from the journal's own table; here is only when they began and ended.
void Book::on_phase(const Words& event) {
    if (event.sequence() <= phase_sequence_) return;
    phase_sequence_ = event.sequence();
    keep({event.type(), 0, TTMEM_POOL_UNKNOWN, PhaseRecord::unpack(event).name, event.time});
}

void Book::keep(const Happening& happening) {
    if (happenings_.size() == kHappeningsKept) happenings_.pop_front();
    happenings_.push_back(happening);
}

// As with launches: counters know better, where there are any.
void Book::on_activity(const Words& event, uint64_t now_ns) {
    ensure_place(event.target(), now_ns);
    TargetBook& target = targets_[event.target()];
    if (event.sequence() <= target.activity_sequence) return;
    target.activity_sequence = event.sequence();
    if (target.activity == nullptr) target.activity = std::make_unique<Activity>();
    if (!apply_activity(*target.activity, event)) ++findings_["impossible_record"];
}

void Book::apply(const Words& event, const JournalReader* reader, uint64_t now_ns) {
    apply_hashed(event, entry_hash(entry_key(event)), reader, now_ns);
}

void Book::apply_hashed(const Words& event, uint32_t hash, const JournalReader* reader, uint64_t now_ns) {
    if (event.type() > kNewestType) return;  // newer types are not for us
    ++changes_;
    if (!is_sound(event)) {
        Words known = event;
        if (make_sound(known)) return apply(known, reader, now_ns);
        ++findings_["impossible_record"];
        return;
    }
    if (event.time > last_raw_) last_raw_ = event.time;
    switch (event.type()) {
        case Type::allocated:
            return on_allocated(event, hash, reader, now_ns);
        case Type::freed:
            return on_freed(event, hash, reader, now_ns);
        case Type::status_changed:
        case Type::launched:
            return on_program(event, reader, now_ns);
        case Type::target_opened:
            return on_opened(event, now_ns);
        case Type::target_closed:
            return on_closed(event, now_ns);
        case Type::site_changed:
            return on_site_changed(event, hash, reader);
        case Type::program_named:
            return on_named(ProgramNamedRecord::unpack(event));
        case Type::out_of_memory:
            return on_out_of_memory(event, now_ns);
        case Type::clashed:
            return on_clash(event, now_ns);
        case Type::ring_moved:
        case Type::cache_answered:
            return on_activity(event, now_ns);
        case Type::phase_began:
        case Type::phase_ended:
            return on_phase(event);
        default:
            return;  // peaks of phases, and labels, are read from the journal's own tables
    }
}

size_t Book::apply_run(const std::vector<Words>& events, size_t from, uint64_t until, const JournalReader* reader,
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
        apply_hashed(events[i], hash_at(i), reader, now_ns);
    }
    if (i == count && (reader == nullptr || reader->pending().empty())) {
        freed_early_.clear();
        replaced_early_.clear();
        programs_early_.clear();
        sites_early_.clear();
    }
    return i;
}

void Book::rebuild(const std::vector<Words>& alive, const std::vector<Words>& ends, uint64_t now_ns) {
    ++changes_;
    forget_sharing();
    table_.clear();
    programs_early_.clear();
    sites_early_.clear();
    freed_early_.clear();
    replaced_early_.clear();
    for (const Words& end : ends) {
        if (end.type() == Type::freed)
            freed_early_.insert(FreedRecord::unpack(end).made_by);
        else
            replaced_early_.push_back(end);
    }
    is_counting_ = true;
    std::vector<Totals> fresh(kTargets);
    for (const Words& found : alive) {
        if (found.kind() == TTMEM_PROGRAM_BINARY)
            on_named({found.target(), found.id, ProgramEntry::unpack(found).operation});
        Words words = as_kept(found);
        if (!is_sound(words) && !make_sound(words)) {
            ++findings_["impossible_record"];
            continue;
        }
        ensure_place(words.target(), now_ns);
        const EntryKey key = entry_key(words);
        const uint32_t hash = entry_hash(key);
        Totals& totals = fresh[words.target()];
        const auto add = [&](const Words& one, int64_t sign) {
            if (is_bookkeeping(one)) return;
            totals.pools[one.pool()].used += sign * static_cast<int64_t>(one.reserved_bytes());
            totals.pools[one.pool()].requested += sign * requested_of(one);
            totals.pools[one.pool()].count += sign * count_of(one);
            totals.kinds[one.kind()].used += sign * static_cast<int64_t>(one.reserved_bytes());
            totals.kinds[one.kind()].count += sign * count_of(one);
            totals.kinds[one.kind()].estimated += is_estimated(one) ? sign : 0;
            if (KindAmount* cores = cores_of(totals.cores, one)) {
                add_to(*cores, sign * static_cast<int64_t>(one.reserved_bytes()), sign, is_estimated(one) ? sign : 0);
                totals.kernel_rule += sign * static_cast<int64_t>(rule_bytes(one));
            }
        };
        // Two lives of one id in the index: the call that ends the older one is still under way.
        Words* twin = (words.flags() & kIndexed) != 0 ? table_.find_any(key, hash) : nullptr;
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
