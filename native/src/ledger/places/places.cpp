#include "ledger/places/places.hpp"

#include <algorithm>
#include <set>

#include "ledger/collector.hpp"

namespace ttmem {
namespace {

// Chips of one mesh are alike.
DeviceDescriptor facts_of(const TargetBook& target, const Devices& devices) {
    if (target.devices.empty() || target.devices.front() >= devices.all().size()) return {};
    return devices.all()[target.devices.front()].facts;
}

void append(Taken& to, Span span, uint32_t count) {
    if (to.spans.empty() || span.first > to.spans.back().second) {
        to.spans.push_back(span);
        to.counts.push_back(count);
    } else {
        to.spans.back().second = std::max(to.spans.back().second, span.second);
        to.counts.back() += count;
    }
}

// Both are in order, and so is what they are together.
Taken together(const Taken& a, const Taken& b) {
    Taken both;
    both.count = a.count + b.count;
    both.unplaced = a.unplaced + b.unplaced;
    both.spans.reserve(a.spans.size() + b.spans.size());
    both.counts.reserve(both.spans.capacity());
    for (size_t i = 0, j = 0; i < a.spans.size() || j < b.spans.size();) {
        const bool is_first = j == b.spans.size() || (i < a.spans.size() && a.spans[i].first <= b.spans[j].first);
        is_first ? append(both, a.spans[i], a.counts[i]) : append(both, b.spans[j], b.counts[j]);
        ++(is_first ? i : j);
    }
    return both;
}

// Two and two, then these again: what lies at the same addresses is joined early.
Taken together(const std::vector<const Taken*>& parts, size_t from, size_t to) {
    if (from == to) return {};
    if (to - from == 1) return *parts[from];
    const size_t middle = from + (to - from) / 2;
    return together(together(parts, from, middle), together(parts, middle, to));
}

bool is_followed(const Process& process) {
    return process.book.is_counting() && process.mode != Mode::settling && !process.is_table_full;
}

void append(Spans& to, const Spans& from) { to.insert(to.end(), from.begin(), from.end()); }

// The circular buffers of a process on some of its targets, core by core.
void lay_on_cores(const Laid& laid, const std::vector<uint16_t>& targets, std::map<uint32_t, CoreTaken>& cores) {
    std::vector<CbSpan> spans;
    for (const uint16_t target : targets) {
        const auto found = laid.by_target.find(target);
        if (found != laid.by_target.end()) spans.insert(spans.end(), found->second.begin(), found->second.end());
    }
    for (const CoreGroup& group : core_groups(spans, laid.core_sets))
        for (const uint32_t core : group.cores) {
            CoreTaken& taken = cores[core];
            taken.core = core;
            append(taken.planned, group.planned);
            append(taken.resident, group.resident);
        }
}

// Buffers that are allocated by core: on their cores, and together as what a bank that stands for all has taken.
Taken lay_core_buffers(const Laid& laid, const std::vector<uint16_t>& targets, std::map<uint32_t, CoreTaken>& cores) {
    Taken taken;
    for (const uint16_t target : targets) {
        const auto found = laid.by_target.find(target);
        if (found == laid.by_target.end()) continue;
        for (const CbSpan& span : found->second) taken.spans.emplace_back(span.begin, span.end);
        for (const CoreGroup& group : core_groups(found->second, laid.core_sets))
            for (const uint32_t core : group.cores) {
                cores[core].core = core;
                append(cores[core].own, group.planned);
            }
    }
    taken.count = taken.spans.size();
    join(taken.spans, &taken.counts);
    return taken;
}

// What buffers of all cores, buffers of one core and circular buffers take of that core.
uint64_t taken_of(const Places& places, const Spans& own, const Spans& circular) {
    Spans all = own;
    append(all, circular);
    join(all);
    return places.buffers + length_of(all) - overlap_of(places.buffer_spans, all);
}

void fill_cores(Places& places, std::map<uint32_t, CoreTaken>& cores) {
    Spans buffers = places.pools[TTMEM_L1].spans;
    append(buffers, places.pools[TTMEM_L1_SMALL].spans);
    join(buffers);
    places.buffers = length_of(buffers);
    places.buffer_spans = buffers;
    for (auto& [number, core] : cores) {
        core.used = taken_of(places, core.own, core.planned);
        if (places.cores.empty() || core.used > places.cores[places.worst].used) places.worst = places.cores.size();
        places.cores.push_back(std::move(core));
    }
}

}  // namespace

Gaps gaps_of(const Spans& joined) {
    Gaps gaps;
    if (joined.empty()) return gaps;
    gaps.lowest = joined.front().first;
    gaps.highest = joined.back().second;
    gaps.used = length_of(joined);
    gaps.count = joined.size() - 1;
    for (size_t i = 1; i < joined.size(); ++i)
        gaps.largest = std::max(gaps.largest, joined[i].first - joined[i - 1].second);
    return gaps;
}

std::map<uint16_t, TakenPools> taken_by(const Book& book, const Devices& devices, bool is_placed, bool& has_by_core) {
    const size_t count = std::min<size_t>(book.targets().size(), book.target_count());
    std::vector<DeviceDescriptor> facts;
    for (size_t i = 0; i < count; ++i) facts.push_back(facts_of(book.targets()[i], devices));
    std::vector<TakenPools> targets(count);
    book.table().for_each([&](const RecordCopy& words) {
        if (!takes_banks(words) || words.target() >= count) return;
        if (is_placed && words.is_by_core()) {
            has_by_core = true;
            return;
        }
        TakenPools& pools = targets[words.target()];
        if (pools.empty()) pools.resize(kPlacedPools);
        Taken& taken = pools[words.pool()];
        const uint64_t bank_count = bank_count_of(facts[words.target()], words.pool());
        const Span span = is_placed ? placed_span(words, bank_count) : Span{};
        if (span.first == span.second)
            ++taken.unplaced;
        else
            taken.spans.push_back(span);
    });
    std::map<uint16_t, TakenPools> found;
    for (size_t number = 0; number < targets.size(); ++number) {
        for (Taken& taken : targets[number]) {
            taken.count = taken.spans.size();
            join(taken.spans, &taken.counts);
        }
        if (!targets[number].empty()) found[static_cast<uint16_t>(number)] = std::move(targets[number]);
    }
    return found;
}

// Chips of one mesh are targets of their own, too: only those that hold something say the chips apart.
std::vector<uint16_t> Atlas::holding(const Process& process, const Devices& devices) {
    const Sorted& own = sorted(process, devices);
    std::vector<uint16_t> targets;
    for (const auto& [target, pools] : own.targets) targets.push_back(target);
    for (const Laid* laid : {&own.laid, &own.core_buffers})
        for (const auto& [target, spans] : laid->by_target) targets.push_back(target);
    std::sort(targets.begin(), targets.end());
    targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
    return targets;
}

std::vector<Atlas::Holders> Atlas::holders_by_device(const Processes& processes, const Devices& devices) {
    std::vector<Holders> holders(devices.all().size());
    for (const auto& process : processes) {
        if (!process->is_counted()) continue;
        const std::vector<TargetBook>& targets = process->book.targets();
        const auto put = [&](uint16_t number, uint16_t as) {
            for (const uint32_t device : targets[number].devices)
                if (device < holders.size()) holders[device].push_back({process.get(), as});
        };
        const bool is_clear = is_followed(*process) && !sorted(*process, devices).laid.has_unplaced &&
                              !sorted(*process, devices).laid.is_too_much();
        for (uint16_t number = 0; number < targets.size() && number < process->book.target_count() && !is_clear;
             ++number)
            put(number, kNoTarget);
        if (is_followed(*process))
            for (const uint16_t number : holding(*process, devices)) put(number, number);
    }
    return holders;
}

Atlas::Name Atlas::name_of(const Holders& holders, const Devices& devices) {
    Name name{devices.descriptions()};
    name.reserve(3 * holders.size() + 1);
    for (const auto& [process, target] : holders)
        name.insert(name.end(), {process->key, process->book.table().changes(),
                                 uint64_t{target} << 1 | uint64_t{is_followed(*process)}});
    return name;
}

const Atlas::Sorted& Atlas::sorted(const Process& process, const Devices& devices) {
    Sorted& sorted = processes_[process.key];
    const uint64_t changes = process.book.table().changes();
    const uint64_t launches = process.book.launches(), descriptions = devices.descriptions();
    if (sorted.changes == changes && sorted.launches != launches) note_launches(sorted.laid, process.book);
    sorted.launches = launches;
    if (sorted.changes != changes || sorted.descriptions != descriptions) {
        bool has_by_core = false;
        sorted.targets = taken_by(process.book, devices, process.way != Way::socket, has_by_core);
        sorted.laid = laid_by(process.book);
        sorted.core_buffers = has_by_core ? core_buffers_of(process.book) : Laid{};
        sorted.changes = changes;
        sorted.descriptions = descriptions;
    }
    return sorted;
}

// The targets of one process, whose holders stand together; `holder` goes on to the next process.
std::vector<uint16_t> Atlas::targets_of(Holders::const_iterator& holder, Holders::const_iterator end) {
    std::vector<uint16_t> targets;
    const Process* process = holder->process;
    for (; holder != end && holder->process == process; ++holder)
        if (holder->target != kNoTarget) targets.push_back(holder->target);
    return targets;
}

Places Atlas::together(const Holders& holders, const Devices& devices) {
    Places places;
    std::map<uint32_t, CoreTaken> cores;
    std::vector<const Taken*> parts[kPlacedPools];
    Taken on_cores;
    for (auto holder = holders.begin(); holder != holders.end();) {
        const Process& process = *holder->process;
        const std::vector<uint16_t> targets = targets_of(holder, holders.end());
        if (!is_followed(process)) {
            places.is_followed = false;
            continue;
        }
        const Sorted& own = sorted(process, devices);
        for (const uint16_t target : targets) {
            const auto found = own.targets.find(target);
            for (uint32_t pool = 0; found != own.targets.end() && pool < kPlacedPools; ++pool)
                parts[pool].push_back(&found->second[pool]);
        }
        places.is_followed &= !own.laid.is_too_much() && !own.core_buffers.is_too_much();
        places.is_estimated |= own.laid.has_unplaced || own.core_buffers.has_unplaced;
        on_cores = ttmem::together(on_cores, lay_core_buffers(own.core_buffers, targets, cores));
        lay_on_cores(own.laid, targets, cores);
    }
    for (uint32_t pool = 0; pool < kPlacedPools; ++pool)
        places.pools[pool] = ttmem::together(parts[pool], 0, parts[pool].size());
    for (auto& [number, core] : cores) {
        join(core.planned);
        join(core.resident);
    }
    find_headroom(places, holders, devices, cores);
    places.headroom.is_known &= !places.is_estimated || on_cores.count == 0;  // else it matters on which cores they lie
    fill_cores(places, cores);
    places.pools[TTMEM_L1] = ttmem::together(places.pools[TTMEM_L1], on_cores);
    for (uint32_t pool = 0; pool < kPlacedPools; ++pool) places.gaps[pool] = gaps_of(places.pools[pool].spans);
    return places;
}

// By what lies in every bank: those of one core are in `cores`.
void Atlas::find_headroom(Places& places, const Holders& holders, const Devices& devices,
                          const std::map<uint32_t, CoreTaken>& cores) {
    places.headroom = headroom_of(places.pools[TTMEM_L1].spans, cores);
    places.headroom.is_known &= places.pools[TTMEM_L1].unplaced == 0;
    if (places.headroom.least.value_or(0) >= 0) return;
    for (const Holder& holder : holders)
        if (holder.target != kNoTarget && is_followed(*holder.process))
            add_programs(places.headroom, holder.process->key, sorted(*holder.process, devices).laid, {holder.target},
                         cores);
}

void Atlas::forget(const Processes& processes) {
    std::set<uint64_t> alive;
    for (const auto& process : processes)
        if (!process->is_over()) alive.insert(process->key);
    std::erase_if(processes_, [&](const auto& one) { return !alive.contains(one.first); });
}

// By the same walk as for all programs, over those that ran last.
FullestCore Atlas::fullest_now(const Holders& holders, const Devices& devices, const Places& places) {
    FullestCore now{places.buffers};
    std::map<uint32_t, CoreTaken> cores;
    for (auto holder = holders.begin(); holder != holders.end();) {
        const Process& process = *holder->process;
        const std::vector<uint16_t> targets = targets_of(holder, holders.end());
        if (!is_followed(process)) continue;
        const Laid& laid = sorted(process, devices).laid;
        lay_on_cores(laid, targets, cores);
        for (const uint16_t target : targets)
            if (const auto found = laid.by_target.find(target); found != laid.by_target.end())
                for (const CbSpan& span : found->second) now.is_known &= span.program != 0;
    }
    for (const CoreTaken& core : places.cores) {
        const uint64_t used = taken_of(places, core.own, cores[core.core].resident);
        if (!now.has_core || used > now.used) now = {used, core.core, true, now.is_known};
    }
    return now;
}

Footprints Atlas::footprints(const Process& process, const Devices& devices) {
    if (!process.book.is_counting()) return {};  // the list is not whole
    return process.is_over() ? footprints_of(process.book) : footprints_of(process.book, sorted(process, devices).laid);
}

std::vector<Seen> Atlas::look(const Processes& processes, const Devices& devices) {
    forget(processes);
    std::map<Name, Known> before = std::move(known_);
    known_.clear();
    std::vector<Seen> found;
    for (const Holders& holders : holders_by_device(processes, devices)) {
        if (holders.empty()) {
            found.emplace_back();
            continue;
        }
        const auto [at, is_new] = known_.try_emplace(name_of(holders, devices));
        Known& known = at->second;
        if (is_new) {
            if (const auto old = before.find(at->first); old != before.end())
                known = old->second;
            else
                known.places = std::make_shared<const Places>(together(holders, devices));
            uint64_t launches = 0;
            for (const Holder& holder : holders) launches += holder.process->book.launches();
            if (known.launches != launches) known.now = fullest_now(holders, devices, *known.places);
            known.launches = launches;
        }
        found.push_back({known.places, known.now});
    }
    return found;
}

Places Atlas::look_at(const Processes& processes, const Devices& devices, uint32_t device) {
    const std::vector<Holders> holders = holders_by_device(processes, devices);
    return device < holders.size() ? together(holders[device], devices) : Places{};
}

}  // namespace ttmem
