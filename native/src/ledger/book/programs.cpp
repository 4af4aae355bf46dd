// What records say of programs in a book: launches, status, names, refusals, what rings and caches did.
#include <algorithm>

#include "ledger/book/book.hpp"

namespace ttmem {

// Of a followed process the counters know; a replayed one has only its records, each of which counts once.
void Book::note_launch(const RecordCopy& event) {
    TargetBook& target = targets_[event.target()];
    if (event.sequence() <= target.launched_sequence) return;
    target.launched_sequence = event.sequence();
    ++target.launches;
}

// Launches are reported as their number so far, so the highest counts; of statuses the newest does, whatever is read last.
void Book::change_program(RecordCopy& program, const RecordCopy& event) {
    const uint64_t sequence = event.sequence();
    if (sequence < program.sequence()) return;  // of an earlier life of this program
    if (event.type() == Type::launched) {
        const uint64_t launches = LaunchedRecord::unpack(event).launches;
        if (launches <= in::kLaunches.most() && launches > program.launches())
            program.per_bank = ProgramRecord::with_launches(program.per_bank, launches);
        program.address = std::max(program.address, sequence);
        ++launches_;
    } else if (sequence > program.requested_bytes()) {
        program.per_bank = ProgramRecord::with_status(program.per_bank, StatusChangedRecord::unpack(event).status);
        program.set_requested(sequence);
    }
}

void Book::on_program(const Step& step) {
    const RecordCopy& event = step.event;
    ensure_place(event.target(), step.now_ns);
    if (event.type() == Type::launched) note_launch(event);
    if (LaunchedRecord::has_ring(event)) on_activity(ring_of_launch(event), step.now_ns);
    const EntryKey key{event.id, event.target(), TTMEM_PROGRAM_BINARY};
    if (RecordCopy* program = table_.find_any(key, entry_hash(key))) return change_program(*program, event);
    const bool may_come = step.may_be_pending() && early_.program_changes().size() < kPendingMost;
    if (may_come && event.id != 0) early_.change_program(event);
}

void Book::on_named(const ProgramNamedRecord& named) {
    if (named.site != 0 && operations_.size() < kEntriesMost) operations_[{named.target, named.program}] = named.site;
}

void Book::on_out_of_memory(const RecordCopy& event, uint64_t now_ns) {
    const auto [number, pool, requested, free, largest] = OutOfMemoryRecord::unpack(event);
    ensure_place(number, now_ns);
    ++targets_[number].refusals;
    for (const uint32_t device : targets_[number].devices)
        recent_.add(OutOfMemory{device, pool, requested, free, largest, event.time});
}

void Book::on_clash(const RecordCopy& event, uint64_t now_ns) {
    const auto [number, program, cb_end, buffer] = ClashedRecord::unpack(event);
    ensure_place(number, now_ns);
    ++targets_[number].clashes;
    for (const uint32_t device : targets_[number].devices)
        recent_.add(Clash{device, program, cb_end, buffer, event.time});
}

// As with launches: counters know better, where there are any.
void Book::on_activity(const RecordCopy& event, uint64_t now_ns) {
    ensure_place(event.target(), now_ns);
    TargetBook& target = targets_[event.target()];
    if (event.sequence() <= target.activity_sequence) return;
    target.activity_sequence = event.sequence();
    if (target.activity == nullptr) target.activity = std::make_unique<Activity>();
    if (!apply_activity(*target.activity, event)) ++findings_["impossible_record"];
}

}  // namespace ttmem
