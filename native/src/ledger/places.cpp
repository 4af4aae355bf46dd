#include "ledger/places.hpp"

#include <algorithm>
#include <set>

#include "ledger/collector.hpp"

namespace ttmem {
namespace {

// What every bank gives up for an allocation: its share of what all give up together, or what it says of one.
uint64_t block_of(const Words& words, uint64_t bank_count) {
    const uint64_t said = words.kind() == TTMEM_BUFFER ? words.per_bank_bytes() : 0;
    const uint64_t share = bank_count == 0 ? 0 : (words.reserved_bytes() + bank_count - 1) / bank_count;
    return std::max(said, share);
}

// Binaries of a program lie at the address that their entry has in place of a site.
uint64_t address_of(const Words& words) {
    if (words.kind() == TTMEM_BUFFER) return words.buffer_address();
    return words.kind() == TTMEM_PROGRAM_BINARY ? words.site() : 0;
}

bool is_held(const Words& words) {
    return words.pool() < kPlacedPools && words.reserved_bytes() != 0 && (words.flags() & kView) == 0;
}

struct BankCounts {
    uint64_t dram = 0, l1 = 0;
    uint64_t of(uint8_t pool) const { return pool <= TTMEM_TRACE ? dram : l1; }
};

// Chips of one mesh are alike.
BankCounts banks_of(const TargetBook& target, const Devices& devices) {
    if (target.devices.empty() || target.devices.front() >= devices.all().size()) return {};
    const DeviceDescriptor& facts = devices.all()[target.devices.front()].facts;
    return {facts.dram_banks, facts.l1_banks};
}

void add(Taken& sum, const Taken& part) {
    sum.spans.insert(sum.spans.end(), part.spans.begin(), part.spans.end());
    sum.counts.insert(sum.counts.end(), part.counts.begin(), part.counts.end());
    sum.count += part.count;
    sum.unplaced += part.unplaced;
}

// Sorts what was joined of several, and joins it once more.
void join_parts(Taken& taken) {
    std::vector<std::pair<Span, uint32_t>> parts;
    parts.reserve(taken.spans.size());
    for (size_t i = 0; i < taken.spans.size(); ++i) parts.emplace_back(taken.spans[i], taken.counts[i]);
    sort_by(parts, [](const auto& part) { return part.first.first; });
    taken.spans.clear();
    taken.counts.clear();
    for (const auto& [span, count] : parts) {
        if (taken.spans.empty() || span.first > taken.spans.back().second) {
            taken.spans.push_back(span);
            taken.counts.push_back(count);
        } else {
            taken.spans.back().second = std::max(taken.spans.back().second, span.second);
            taken.counts.back() += count;
        }
    }
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

void fill_cores(Places& places, std::map<uint32_t, CoreTaken>& cores) {
    Spans buffers = places.pools[TTMEM_L1].spans;
    append(buffers, places.pools[TTMEM_L1_SMALL].spans);
    join(buffers);
    places.buffers = length_of(buffers);
    for (auto& [number, core] : cores) {
        join(core.planned);
        join(core.resident);
        core.used = places.buffers + length_of(core.planned) - overlap_of(buffers, core.planned);
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

std::map<uint16_t, TakenPools> taken_by(const Book& book, const Devices& devices, bool is_placed) {
    std::vector<BankCounts> banks;
    for (const TargetBook& target : book.targets()) banks.push_back(banks_of(target, devices));
    std::vector<TakenPools> targets(book.targets().size());
    book.table().for_each([&](const Words& words) {
        if (!is_held(words)) return;
        TakenPools& pools = targets[words.target()];
        if (pools.empty()) pools.resize(kPlacedPools);
        Taken& taken = pools[words.pool()];
        const uint64_t address = is_placed ? address_of(words) : 0;
        const uint64_t block = address == 0 ? 0 : block_of(words, banks[words.target()].of(words.pool()));
        if (block == 0)
            ++taken.unplaced;
        else
            taken.spans.push_back(span_at(address, block));
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

std::vector<Atlas::Holders> Atlas::holders_by_device(const Processes& processes, size_t device_count) {
    std::vector<Holders> holders(device_count);
    for (const auto& process : processes) {
        if (process->is_over() || process->shadowed_by != 0) continue;
        const std::vector<TargetBook>& targets = process->book.targets();
        for (size_t number = 0; number < targets.size() && number < process->book.target_count(); ++number)
            for (const uint32_t device : targets[number].devices) {
                if (device >= device_count) continue;
                Holders& there = holders[device];
                if (there.empty() || there.back().process != process.get()) there.push_back({process.get(), {}});
                there.back().targets.push_back(static_cast<uint16_t>(number));
            }
    }
    return holders;
}

Atlas::Name Atlas::name_of(const Holders& holders) {
    Name name;
    for (const Holder& holder : holders) {
        const uint64_t count = holder.targets.size();
        name.insert(name.end(), {holder.process->key, holder.process->book.table().changes(),
                                 count << 1 | uint64_t{is_followed(*holder.process)}});
        name.insert(name.end(), holder.targets.begin(), holder.targets.end());
    }
    return name;
}

const Atlas::Sorted& Atlas::sorted(const Process& process, const Devices& devices) {
    Sorted& sorted = processes_[process.key];
    const uint64_t changes = process.book.table().changes();
    if (sorted.changes != changes) {
        sorted.targets = taken_by(process.book, devices, process.way != Way::socket);
        sorted.laid = laid_by(process.book);
        sorted.changes = changes;
    }
    return sorted;
}

Places Atlas::together(const Holders& holders, const Devices& devices, bool is_now) {
    Places places;
    std::map<uint32_t, CoreTaken> cores;
    size_t parts[kPlacedPools] = {};
    for (const auto& [process, targets] : holders) {
        if (!is_followed(*process)) {
            places.is_followed = false;
            continue;
        }
        const Sorted& own = sorted(*process, devices);
        for (const uint16_t target : targets) {
            const auto found = own.targets.find(target);
            for (uint32_t pool = 0; found != own.targets.end() && pool < kPlacedPools; ++pool) {
                add(places.pools[pool], found->second[pool]);
                parts[pool] += !found->second[pool].spans.empty();
            }
        }
        places.is_followed &= !own.laid.is_too_much();
        places.is_estimated |= own.laid.has_unplaced;
        if (is_now)
            lay_on_cores(laid_by(process->book), targets, cores);
        else
            lay_on_cores(own.laid, targets, cores);
    }
    for (uint32_t pool = 0; pool < kPlacedPools; ++pool) {
        if (parts[pool] > 1) join_parts(places.pools[pool]);
        places.gaps[pool] = gaps_of(places.pools[pool].spans);
    }
    fill_cores(places, cores);
    return places;
}

void Atlas::forget(const Processes& processes) {
    std::set<uint64_t> alive;
    for (const auto& process : processes)
        if (!process->is_over()) alive.insert(process->key);
    std::erase_if(processes_, [&](const auto& one) { return !alive.contains(one.first); });
}

// Chips of one mesh are targets of their own, too: only those that hold something tell the chips apart.
void Atlas::leave_empty_targets(Holder& holder, const Devices& devices) {
    if (!is_followed(*holder.process)) return holder.targets.clear();
    const Sorted& own = sorted(*holder.process, devices);
    std::erase_if(holder.targets, [&](uint16_t target) {
        return !own.targets.contains(target) && !own.laid.by_target.contains(target);
    });
}

std::vector<std::shared_ptr<const Places>> Atlas::look(const Processes& processes, const Devices& devices) {
    forget(processes);
    std::map<Name, std::shared_ptr<const Places>> before = std::move(known_);
    known_.clear();
    std::vector<std::shared_ptr<const Places>> found;
    for (Holders& holders : holders_by_device(processes, devices.all().size())) {
        if (holders.empty()) {
            found.emplace_back();
            continue;
        }
        for (Holder& holder : holders) leave_empty_targets(holder, devices);
        const auto [at, is_new] = known_.try_emplace(name_of(holders));
        if (is_new) {
            const auto old = before.find(at->first);
            at->second =
                old != before.end() ? old->second : std::make_shared<const Places>(together(holders, devices, false));
        }
        found.push_back(at->second);
    }
    return found;
}

Places Atlas::look_at(const Processes& processes, const Devices& devices, uint32_t device) {
    const std::vector<Holders> holders = holders_by_device(processes, devices.all().size());
    return device < holders.size() ? together(holders[device], devices, true) : Places{};
}

}  // namespace ttmem
