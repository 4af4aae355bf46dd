#include "reader/journal.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace ttmem {
namespace {

bool is_power_between(uint32_t value, uint32_t least, uint32_t most) {
    return value >= least && value <= most && (value & (value - 1)) == 0;
}

std::string say(const char* format, unsigned long long found, unsigned long long expected) {
    char text[256];
    std::snprintf(text, sizeof text, format, found, expected);
    return text;
}

// Empty when the header describes a journal whose parts all lie inside the file.
std::string fault_of(const Identity& identity, uint64_t file_bytes) {
    if (identity.magic != kMagic)
        return say("not a ttmem journal (magic %016llx, expected %016llx); remove the file", identity.magic, kMagic);
    if (identity.version != kVersion)
        return say("journal version %llu, this ttmem reads version %llu; upgrade the older one", identity.version,
                   kVersion);
    if (!is_power_between(identity.table, kTableLeast, kTableMost) ||
        !is_power_between(identity.ring_slots, 16, kRingSlotsMost))
        return say("impossible sizes in the header (table %llu, ring %llu); the file is damaged", identity.table,
                   identity.ring_slots);
    const Plan plan = plan_of({identity.table, identity.ring_slots});
    if (identity.file_bytes != plan.file || file_bytes != plan.file)
        return say("%llu bytes long, its header needs %llu; the file was cut or damaged", file_bytes, plan.file);
    const bool parts_fit = identity.header_bytes == sizeof(Header) && identity.targets_offset == plan.targets &&
                           identity.threads_offset == plan.threads && identity.slab_offset == plan.slab &&
                           identity.index_offset == plan.index && identity.ring_offset == plan.ring &&
                           identity.phases_offset == plan.phases && identity.arena_offset == plan.arena &&
                           identity.target_count == kTargets && identity.thread_count == kThreads &&
                           identity.phase_peaks == kPhasePeaks && identity.arena_bytes == kArenaBytes;
    const bool holes_fit = identity.incidents_offset == plan.incidents && identity.copies_offset == plan.copies &&
                           identity.stack_nodes_offset == plan.stack_nodes &&
                           identity.stack_texts_offset == plan.stack_texts &&
                           identity.incident_slots == kIncidentSlots && identity.incident_entries == kIncidentEntries &&
                           identity.stack_nodes == kStackNodes && identity.stack_text_bytes == kStackTextBytes;
    if (!parts_fit || !holes_fit)
        return "its parts are not where version " + std::to_string(kVersion) + " puts them; the file is damaged";
    if (identity.first_sequence == 0 || identity.first_sequence >> 60 != 0)
        return say("impossible first sequence %llu (1 to 2^%llu expected); the file is damaged",
                   identity.first_sequence, 60);
    return {};
}

void unpack(const uint64_t* from, TargetCounters& to) {
    to.state = kLowHalf.as<uint32_t>(from[0]);
    to.descriptor = kHighHalf.as<uint32_t>(from[0]);
    to.unique_id = from[offsetof(Target, unique_id) / 8];
    to.closed_sequence = from[offsetof(Target, closed_sequence) / 8];
    to.launches = from[offsetof(Target, launches) / 8];
    to.clashes = from[offsetof(Target, clashes) / 8];
    to.refusals = from[offsetof(Target, refusals) / 8];
    for (uint32_t k = 0; k < kKinds; ++k) {
        const uint64_t* kind = from + (offsetof(Target, kinds) + k * sizeof(KindCounters)) / 8;
        to.kinds[k] = {kind[0], kind[1]};
    }
    for (uint32_t p = 0; p < kPools; ++p) {
        const uint64_t* pool = from + (offsetof(Target, pools) + p * sizeof(PoolCounters)) / 8;
        to.pools[p] = {pool[0], pool[1], pool[2], pool[4], pool[5], {}};
        std::memcpy(to.pools[p].totals, pool + offsetof(PoolCounters, totals) / 8, sizeof to.pools[p].totals);
    }
    std::memcpy(&to.activity, from + offsetof(Target, caches) / 8, sizeof to.activity);
}

}  // namespace

JournalReader::JournalReader(std::unique_ptr<Source> source, const Identity& identity)
    : source_(std::move(source)), identity_(identity), position_(identity.first_sequence) {
    identity_.command[sizeof identity_.command - 1] = '\0';
}

std::unique_ptr<JournalReader> JournalReader::open(std::unique_ptr<Source> source, uint64_t file_bytes,
                                                   std::string& error) {
    Identity identity{};
    if (file_bytes < sizeof(Header) || !source->copy(0, &identity, sizeof identity)) {
        error = say("%llu bytes long, too short for a journal (%llu at least); the file was cut", file_bytes,
                    sizeof(Header));
        return nullptr;
    }
    error = fault_of(identity, file_bytes);
    if (!error.empty()) return nullptr;
    return std::unique_ptr<JournalReader>(new JournalReader(std::move(source), identity));
}

bool JournalReader::is_pending(uint64_t sequence) const {
    return std::find(pending_.begin(), pending_.end(), sequence) != pending_.end();
}

bool JournalReader::look(Hot& hot) const {
    constexpr size_t kFrom = offsetof(Header, next_sequence);
    constexpr size_t kTo = offsetof(Header, pad3);
    uint64_t words[(kTo - kFrom) / 8];
    if (!source_->copy(kFrom, words, sizeof words)) return false;
    const auto word = [&](size_t offset) { return words[(offset - kFrom) / 8]; };
    hot.head = word(offsetof(Header, next_sequence));
    hot.slab_high = std::min<uint64_t>(word(offsetof(Header, slab_high)), identity_.table);
    hot.skipped = word(offsetof(Header, skipped));
    hot.untabled_allocs = word(offsetof(Header, untabled_allocs));
    hot.untabled_frees = word(offsetof(Header, untabled_frees));
    hot.unsized_frees = word(offsetof(Header, unsized_frees));
    hot.unmatched_frees = word(offsetof(Header, unmatched_frees));
    hot.replaced = word(offsetof(Header, replaced));
    hot.clamped = word(offsetof(Header, clamped));
    hot.shrunk_kernels = word(offsetof(Header, shrunk_kernels));
    hot.arena_used = std::min<uint64_t>(word(offsetof(Header, arena_used)), kArenaBytes);
    hot.arena_refused = word(offsetof(Header, arena_refused));
    hot.phases_refused = word(offsetof(Header, phases_refused));
    hot.targets_refused = word(offsetof(Header, target_refused));
    hot.unreported = word(offsetof(Header, unreported));
    hot.undivided_l1 = word(offsetof(Header, undivided_l1));
    hot.unjudged = word(offsetof(Header, unjudged));
    hot.incidents = word(offsetof(Header, incidents));
    std::memcpy(hot.incident_counts, words + (offsetof(Header, incident_counts) - kFrom) / 8,
                sizeof hot.incident_counts);
    hot.stack_nodes_used = std::min<uint64_t>(word(offsetof(Header, stack_nodes_used)), kStackNodes);
    hot.stack_texts_used = std::min<uint64_t>(word(offsetof(Header, stack_texts_used)), kStackTextBytes);
    hot.stacks_refused = word(offsetof(Header, stacks_refused));
    hot.sites_off = static_cast<uint32_t>(word(offsetof(Header, sites_off)));
    hot.label = kLowHalf.as<uint32_t>(word(offsetof(Header, label)));
    hot.threads = kHighHalf.as<uint32_t>(word(offsetof(Header, label)));
    return true;
}

std::vector<uint32_t> JournalReader::threads() const {
    std::vector<uint32_t> ids(kThreads);
    if (!source_->copy(identity_.threads_offset, ids.data(), ids.size() * sizeof(uint32_t))) ids.clear();
    return ids;
}

bool JournalReader::start_at_beginning() {
    Hot hot;
    const uint64_t most = identity_.ring_slots - identity_.ring_slots / 8;  // the writer goes on meanwhile
    if (!look(hot) || hot.skipped != 0 || hot.head - identity_.first_sequence > most) return false;
    position_ = identity_.first_sequence;
    settled_at_ = hot.head;
    skipped_seen_ = 0;
    pending_.clear();
    return true;
}

// Slots of consecutive sequences, the ring's end notwithstanding.
bool JournalReader::copy_slots(uint64_t first, size_t count, std::vector<RecordCopy>& to) const {
    if (to.size() < count) to.resize(count);
    for (size_t done = 0; done < count;) {
        const uint64_t slot = (first + done) & (identity_.ring_slots - 1);
        const size_t run = std::min<size_t>(count - done, identity_.ring_slots - slot);
        if (!source_->copy(identity_.ring_offset + slot * sizeof(Record), to.data() + done, run * sizeof(RecordCopy)))
            return false;
        done += run;
    }
    return true;
}

ReadResult JournalReader::revisit_pending(std::vector<RecordCopy>& events) {
    std::vector<uint64_t> still_open;
    for (const uint64_t sequence : pending_) {
        Hot hot;
        if (!copy_slots(sequence, 1, before_) || !copy_slots(sequence, 1, after_) || !look(hot))
            return ReadResult::damaged;
        const uint64_t seen = before_[0].commit;
        if (seen > busy(sequence) || hot.head > sequence + identity_.ring_slots * uint64_t{2})
            return ReadResult::lost_place;
        if (seen == committed(sequence) && after_[0].commit == seen)
            events.push_back(after_[0]);
        else
            still_open.push_back(sequence);
    }
    pending_.swap(still_open);
    return ReadResult::ok;
}

ReadResult JournalReader::read(std::vector<RecordCopy>& events, size_t most) {
    Hot& hot = last_look_;
    if (!look(hot) || hot.head < position_) return ReadResult::damaged;
    if (hot.skipped != skipped_seen_) return ReadResult::lost_place;
    if (!pending_.empty()) {
        const ReadResult result = revisit_pending(events);
        if (result != ReadResult::ok) return result;
    }
    const uint64_t ring = identity_.ring_slots;
    if (hot.head - position_ > ring) return ReadResult::lost_place;
    const auto count = static_cast<size_t>(std::min<uint64_t>(hot.head - position_, most));
    if (count == 0) return ReadResult::ok;
    // First copy: who is committed. Second copy: their words. Then the head: could anyone have begun to overwrite them?
    if (!copy_slots(position_, count, before_) || !copy_slots(position_, count, after_) || !look(hot))
        return ReadResult::damaged;
    size_t taken = 0;
    const auto take_until = [&](size_t end) {
        events.insert(events.end(), after_.data() + taken, after_.data() + end);
        taken = end + 1;
    };
    for (size_t i = 0; i < count; ++i) {
        const uint64_t sequence = position_ + i;
        const uint64_t seen = before_[i].commit;
        if (seen > busy(sequence) || hot.head > sequence + ring) return ReadResult::lost_place;
        if (seen == committed(sequence) && after_[i].commit == seen) continue;
        take_until(i);
        pending_.push_back(sequence);
    }
    if (taken < count) take_until(count);
    position_ += count;
    return pending_.size() > kPendingMost ? ReadResult::lost_place : ReadResult::ok;
}

bool JournalReader::targets(std::vector<TargetCounters>& targets, uint32_t count) const {
    std::vector<uint64_t> words(count * sizeof(Target) / 8);
    if (!source_->copy(identity_.targets_offset, words.data(), words.size() * 8)) return false;
    targets.resize(count);
    for (uint32_t i = 0; i < count; ++i) unpack(words.data() + i * sizeof(Target) / 8, targets[i]);
    return true;
}

bool JournalReader::target(TargetCounters& to, uint32_t number) const {
    uint64_t words[sizeof(Target) / 8];
    if (!source_->copy(identity_.targets_offset + number * sizeof(Target), words, sizeof words)) return false;
    unpack(words, to);
    return true;
}

bool JournalReader::phase_rows(std::vector<uint64_t>& words) const {
    words.resize(kPhasePeaks * sizeof(PhasePeak) / 8);
    return source_->copy(identity_.phases_offset, words.data(), words.size() * 8);
}

bool JournalReader::has_phases() const {
    uint64_t runs = 0;
    return !source_->copy(identity_.phases_offset + offsetof(PhasePeak, runs), &runs, sizeof runs) || runs != 0;
}

std::string JournalReader::item(uint32_t id, Item kind) const {
    if (is_stack_site(id)) return kind == Item::text ? frames_text(site(id)) : std::string();
    const uint64_t at = uint64_t{id} * 8;
    uint64_t head = 0;
    if (id == 0 || at + sizeof head > kArenaBytes || !source_->copy(identity_.arena_offset + at, &head, sizeof head))
        return {};
    const auto [length, found] = ItemWord::unpack(head);
    if (found != kind || length > kArenaBytes - at - sizeof head) return {};
    std::string bytes(length, '\0');
    if (!source_->copy(identity_.arena_offset + at + sizeof head, bytes.data(), bytes.size())) return {};
    return bytes;
}

std::string JournalReader::arena() const {
    Hot hot;
    if (!look(hot)) return {};
    std::string bytes(hot.arena_used, '\0');
    if (!source_->copy(identity_.arena_offset, bytes.data(), bytes.size())) return {};
    return bytes;
}

}  // namespace ttmem
