#include "recording/watch/watcher.hpp"

#include <algorithm>

#include "ledger/places/headroom.hpp"
#include "ledger/places/regions.hpp"

namespace ttmem::recording {

void Watcher::measure(bool is_wanted) {
    is_measuring_ = is_wanted;
    for (uint32_t number = 0; number < loads_.chips().size(); ++number) {
        CoreLoads::Chip& chip = loads_.chips()[number];
        chip.highest = loads_.now(number);
        chip.is_raised = true;
    }
}

void Watcher::set_only(uint32_t core) {
    only_ = core;
    loads_.set_only(core);
}

void Watcher::forget(uint64_t process) {
    loads_.forget(process);
    std::erase_if(buffers_, [&](const auto& one) { return one.first.first == process; });
}

void Watcher::reset(uint64_t process) {
    forget(process);
    loads_.reset(process);
    const Process* its = loads_.process_of(process);
    if (its == nullptr) return;
    its->book.table().for_each([&](const RecordCopy& words) { add(process, words); });
}

void Watcher::record(uint64_t process, const RecordCopy& words) {
    loads_.record(process, words);
    if (words.type() == Type::allocated) return add(process, words);
    if (words.type() == Type::launched) return note_launch(process, words);
    if (words.type() == Type::target_closed) buffers_.erase({process, words.target()});
}

void Watcher::add(uint64_t process, const RecordCopy& words) {
    if (!takes_banks(words)) return;
    const Process* its = loads_.process_of(process);
    if (its == nullptr || words.target() >= its->book.targets().size()) return;
    note_extent(*its, words);
    if (words.pool() != TTMEM_L1) return;
    const bool is_by_core = words.is_by_core();
    const uint64_t address = its->way == Way::socket ? 0 : words.buffer_address();
    if (address == 0) {
        for (const uint32_t device : its->book.targets()[words.target()].devices) room_[device].has_unplaced = true;
        return;
    }
    Buffers& buffers = buffers_[{process, words.target()}];
    if (is_by_core)
        buffers.own.push_back(
            {address, words.sequence(), mask_of(loads_.cores_of_set(*its, words.core_set(), words.core_count()))});
    else
        buffers.lockstep.emplace(address, words.sequence());
    note_floor(process, *its, words, address);
}

void Watcher::note_floor(uint64_t process, const Process& its, const RecordCopy& words, uint64_t address) {
    for (const uint32_t device : its.book.targets()[words.target()].devices) {
        LeastRoom& room = room_[device];
        if (address >= room.floor) continue;
        room.floor = address;
        room.floor_life = words.sequence();
        room.floor_process = process;
        room.floor_ns = time_ns_;
    }
}

void Watcher::note_extent(const Process& process, const RecordCopy& words) {
    for (const uint32_t device : process.book.targets()[words.target()].devices) {
        const Device& known = collector_.devices().at(device);
        Extent& extent = extents_[{device, words.pool()}];
        const uint64_t banks = bank_count_of(known.facts, words.pool());
        const Span span = words.is_by_core()           ? span_at(words.buffer_address(), words.per_core_bytes())
                          : process.way == Way::socket ? Span{}
                                                       : placed_span(words, banks);
        if (span.first == span.second) {
            extent.has_unplaced = true;
            continue;
        }
        if (const auto bounds = bounds_of(known.facts, words.pool(), collector_.devices().bank_sizes(known))) {
            extent.begin = bounds->begin;
            extent.end = bounds->end;
        }
        if (span.first < extent.lowest) {
            extent.lowest = span.first;
            extent.lowest_ns = time_ns_;
        }
        if (span.second > extent.highest) {
            extent.highest = span.second;
            extent.highest_ns = time_ns_;
        }
    }
}

void Watcher::ended(uint64_t process, const RecordCopy& life, uint64_t, uint64_t, bool) {
    loads_.ended(process, life);
    if (life.pool() != TTMEM_L1 || !takes_banks(life)) return;
    const auto found = buffers_.find({process, life.target()});
    if (found == buffers_.end()) return;
    Buffers& buffers = found->second;
    if (life.is_by_core()) {
        std::erase_if(buffers.own, [&](const Own& one) {
            return one.life == life.sequence() && one.address == life.buffer_address();
        });
        return;
    }
    auto [at, end] = buffers.lockstep.equal_range(life.buffer_address());
    for (; at != end; ++at)
        if (at->second == life.sequence()) {
            buffers.lockstep.erase(at);
            return;
        }
}

// As the runtime compares them: with the lowest buffer on any core of the program, else with the end of L1.
void Watcher::note_launch(uint64_t process, const RecordCopy& words) {
    const ProgramLoad* program = loads_.program(process, words.target(), words.id);
    const Process* its = loads_.process_of(process);
    if (program == nullptr || its == nullptr) return;
    uint64_t lowest = ~uint64_t{0}, life = 0;
    if (const auto found = buffers_.find({process, words.target()}); found != buffers_.end()) {
        const Buffers& buffers = found->second;
        if (!buffers.lockstep.empty()) {
            lowest = buffers.lockstep.begin()->first;
            life = buffers.lockstep.begin()->second;
        }
        for (const Own& one : buffers.own)
            if (one.address < lowest && (one.cores & program->cores).any()) {
                lowest = one.address;
                life = one.life;
            }
    }
    for (const uint32_t device : its->book.targets()[words.target()].devices) {
        const Device& known = collector_.devices().at(device);
        uint64_t top = lowest;
        if (top == ~uint64_t{0}) {
            const auto bounds = bounds_of(known.facts, TTMEM_L1, collector_.devices().bank_sizes(known));
            if (!bounds) continue;
            top = bounds->end;
        }
        LeastRoom& room = room_[device];
        const int64_t left = room_between(top, program->end);
        if (room.room && left >= *room.room) continue;
        room.room = left;
        room.room_ns = time_ns_;
        room.program = words.id;
        room.program_process = process;
        room.cb_end = program->end;
        room.lowest = lowest == ~uint64_t{0} ? 0 : lowest;
        room.lowest_life = life;
    }
}

// None where it is not known.
std::optional<FullestCore> Watcher::now(const Seen& seen, uint32_t device) {
    const Places* places = seen.places.get();
    if (places == nullptr) return FullestCore{};  // nobody has anything
    if (!places->is_followed || !seen.now.is_known) return std::nullopt;
    if ((places->pools[TTMEM_L1].unplaced | places->pools[TTMEM_L1_SMALL].unplaced) != 0) return std::nullopt;
    if (!only_) return seen.now;
    const Places all = collector_.atlas().look_at(collector_.processes(), collector_.devices(), device);
    FullestCore found{all.buffers, *only_, true, true};
    for (const CoreTaken& core : all.cores) {
        if (core.core != *only_) continue;
        Spans spans = core.own;
        spans.insert(spans.end(), core.resident.begin(), core.resident.end());
        join(spans);
        found.used = all.buffers + length_of(spans) - overlap_of(all.buffer_spans, spans);
    }
    return found;
}

void Watcher::look(uint64_t rows, uint64_t time_ns) {
    if (!is_measuring_ || !loads_.has_raised()) return;
    loads_.set_seen();
    const std::vector<Seen> seen = collector_.atlas().look(collector_.processes(), collector_.devices());
    for (uint32_t number = 0; number < loads_.chips().size() && number < seen.size(); ++number) {
        CoreLoads::Chip& chip = loads_.chips()[number];
        if (!chip.is_raised) continue;
        chip.is_raised = false;
        const std::optional<FullestCore> found = now(seen[number], number);
        if (!found) continue;
        const Device& known = collector_.devices().at(number);
        const uint64_t bytes = found->used + (known.open_count > 0 ? known.facts.kernel_ring_bytes : 0);
        FullestEver& ever = fullest_[number];
        chip.highest = static_cast<int64_t>(std::max(bytes, ever.bytes));
        if (bytes > ever.bytes) ever = {bytes, rows, time_ns, found->core, found->has_core};
    }
}

}  // namespace ttmem::recording
