// The way back to exactness: what is alive now, and from where in the ring to go on.
//
//   r = head; wait at most 1 ms for the slots below r; the still open ones stay pending
//   scan the slab; go on reading at r; at the head seen after the scan the balances are exact
//
// Calls below r that had returned are in the slab already (the slab is written before the ring). Everything from r on
// is read again; an event that the scan has seen changes nothing the second time.
//
// What the ring still has of refusals below r is handed out as well: they change nothing that is alive, and anyone who comes
// late wants to know of them.
#include <algorithm>
#include <ctime>

#include "journal/clock.hpp"
#include "reader/journal.hpp"

namespace ttmem {
namespace {

constexpr size_t kRefusalsMost = 4096;  // of those that happened before: the newest

bool is_refusal(const RecordCopy& record) {
    return record.type() == Type::out_of_memory || record.type() == Type::clashed;
}

}  // namespace

bool JournalReader::find_open_slots(uint64_t end, std::vector<uint64_t>& open) {
    constexpr size_t kRun = 4096;
    const uint64_t ring = identity_.ring_slots;
    uint64_t from = end > identity_.first_sequence + ring ? end - ring : identity_.first_sequence;
    open.clear();
    refusals_seen_.clear();
    while (from < end) {
        const auto count = static_cast<size_t>(std::min<uint64_t>(end - from, kRun));
        if (!copy_slots(from, count, before_)) return false;
        for (size_t i = 0; i < count; ++i) {
            if (before_[i].commit < committed(from + i) || before_[i].commit == busy(from + i))
                open.push_back(from + i);
            else if (is_refusal(before_[i]))
                refusals_seen_.push_back(from + i);
        }
        from += count;
    }
    return true;
}

// Refusals below the place to go on from that no read() has handed out: neither before this scan, nor later as pending
// ones. Copied once more, now that they are known to have been committed; the head says whether any process wrote over them.
bool JournalReader::find_refused_before(const std::vector<uint64_t>& open) {
    refused_before_.clear();
    std::sort(refusals_seen_.begin(), refusals_seen_.end());  // those that were waited for came last
    const size_t skipped = refusals_seen_.size() > kRefusalsMost ? refusals_seen_.size() - kRefusalsMost : 0;
    for (size_t i = skipped; i < refusals_seen_.size(); ++i) {
        const uint64_t sequence = refusals_seen_[i];
        if (sequence < position_ && !is_pending(sequence)) continue;
        if (std::binary_search(open.begin(), open.end(), sequence)) continue;
        if (!copy_slots(sequence, 1, after_)) return false;
        if (after_[0].commit == committed(sequence) && is_refusal(after_[0])) refused_before_.push_back(after_[0]);
    }
    Hot hot;
    if (!look(hot)) return false;
    std::erase_if(refused_before_,
                  [&](const RecordCopy& one) { return hot.head > one.sequence() + identity_.ring_slots; });
    return true;
}

// Ends that stand in the ring below `end` of lives whose beginning is still open: those must not be begun later.
bool JournalReader::find_ended_early(uint64_t end, const std::vector<uint64_t>& open) {
    constexpr size_t kRun = 4096;
    ended_early_.clear();
    for (uint64_t from = open.empty() ? end : open.front(); from < end;) {
        const auto count = static_cast<size_t>(std::min<uint64_t>(end - from, kRun));
        if (!copy_slots(from, count, before_)) return false;
        for (size_t i = 0; i < count; ++i) {
            const RecordCopy& event = before_[i];
            if (event.commit != committed(from + i)) continue;
            const bool is_free = event.type() == Type::freed &&
                                 std::binary_search(open.begin(), open.end(), FreedRecord::unpack(event).made_by);
            const bool is_replacement = event.type() == Type::allocated && (event.flags() & kReplaced) != 0;
            if (is_free || is_replacement) ended_early_.push_back(event);
        }
        from += count;
    }
    return true;
}

bool JournalReader::wait_for_open_slots(std::vector<uint64_t>& open) {
    const uint64_t deadline = nanoseconds(CLOCK_MONOTONIC) + 1'000'000;
    while (!open.empty() && open.size() <= 64 && nanoseconds(CLOCK_MONOTONIC) < deadline) {
        std::vector<uint64_t> still_open;
        for (const uint64_t sequence : open) {
            if (!copy_slots(sequence, 1, before_)) return false;
            const uint64_t seen = before_[0].commit;
            if (seen < committed(sequence) || seen == busy(sequence))
                still_open.push_back(sequence);
            else if (is_refusal(before_[0]))
                refusals_seen_.push_back(sequence);
        }
        open.swap(still_open);
        const timespec nap{0, 50'000};
        if (!open.empty()) nanosleep(&nap, nullptr);
    }
    return true;
}

// Three copies of each stretch: an entry whose commit word is the same in the first and the last was that one life all
// the while, so the words of the copy between them are its own.
bool JournalReader::scan_slab(uint64_t high, std::vector<RecordCopy>& alive) const {
    constexpr size_t kRun = 2048;
    std::vector<RecordCopy> last;
    alive.reserve(high);
    for (uint64_t from = 0; from < high; from += kRun) {
        const auto count = static_cast<size_t>(std::min<uint64_t>(high - from, kRun));
        const uint64_t offset = identity_.slab_offset + from * sizeof(Record);
        for (std::vector<RecordCopy>* copy : {&before_, &after_, &last})
            if (copy->size() < count) copy->resize(count);
        if (!source_->copy(offset, before_.data(), count * sizeof(RecordCopy)) ||
            !source_->copy(offset, after_.data(), count * sizeof(RecordCopy)) ||
            !source_->copy(offset, last.data(), count * sizeof(RecordCopy)))
            return false;
        for (size_t i = 0; i < count; ++i)
            if (is_committed(before_[i].commit) && before_[i].commit == last[i].commit &&
                after_[i].commit == last[i].commit)
                alive.push_back(after_[i]);
    }
    return true;
}

ReadResult JournalReader::scan(std::vector<RecordCopy>& alive) {
    Hot hot;
    if (!look(hot) || hot.head < identity_.first_sequence) return ReadResult::damaged;
    const uint64_t from = hot.head;
    const uint64_t skipped = hot.skipped;
    std::vector<uint64_t> open;
    if (!find_open_slots(from, open) || !wait_for_open_slots(open) || !look(hot)) return ReadResult::damaged;
    if (open.size() > kPendingMost) return ReadResult::damaged;  // no program has that many calls under way
    if (!find_ended_early(from, open) || !find_refused_before(open)) return ReadResult::damaged;
    alive.clear();
    if (!scan_slab(hot.slab_high, alive) || !look(hot) || hot.head < from) return ReadResult::damaged;
    position_ = from;
    settled_at_ = hot.head;
    skipped_seen_ = skipped;
    pending_ = std::move(open);
    return ReadResult::ok;
}

}  // namespace ttmem
