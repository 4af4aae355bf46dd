#include "recording/watch/core_loads.hpp"

#include <algorithm>

namespace ttmem::recording {
namespace {

constexpr uint64_t kFirstCores = uint64_t{1} << 32;  // a set known by its size only: | count
constexpr uint32_t kSide = 32, kRows = 16;

uint32_t place_of(uint32_t core) { return core / 256 % kRows * kSide + core % 256 % kSide; }

bool is_laid(const RecordCopy& words) {
    return words.pool() == TTMEM_CB && is_circular_buffer(words.kind()) && (words.flags() & kView) == 0;
}

}  // namespace

CoreMask mask_of(const Cores& cores) {
    CoreMask mask;
    for (const uint32_t core : cores) mask.set(place_of(core));
    return mask;
}

const Process* CoreLoads::process_of(uint64_t key) {
    if (known_ != nullptr && known_key_ == key) return known_;
    known_ = nullptr;
    known_key_ = key;
    for (const auto& process : collector_.processes())
        if (process->key == key) known_ = process.get();
    return known_;
}

CoreLoads::Target& CoreLoads::target_of(uint64_t process, uint16_t number) {
    if (last_target_ != nullptr && last_key_ == process && last_number_ == number && !last_target_->devices.empty())
        return *last_target_;
    Target& target = processes_[process][number];
    if (target.devices.empty()) {
        const Process* its = process_of(process);
        if (its != nullptr && number < its->book.targets().size()) target.devices = its->book.targets()[number].devices;
    }
    last_key_ = process;
    last_number_ = number;
    last_target_ = &target;
    return target;
}

// The cores that a text names; the first ones where it names none.
const Cores& CoreLoads::cores_of_set(const Process& process, uint64_t set, uint64_t count) {
    const uint64_t name = set != 0 ? set : kFirstCores | count;
    const auto [at, is_new] = core_sets_.try_emplace({process.key, name});
    if (!is_new) return at->second;
    if (set != 0) at->second = cores_of(process.book.text(static_cast<uint32_t>(set)));
    if (at->second.empty())
        for (uint32_t i = 0; i < std::min<uint64_t>(count, kSide * kRows); ++i)
            at->second.push_back(i % kSide + i / kSide * 256);
    return at->second;
}

void CoreLoads::record(uint64_t process, const RecordCopy& words) {
    switch (words.type()) {
        case Type::allocated:
            if (words.kind() == TTMEM_PROGRAM_BINARY) {
                ProgramLoad& program = target_of(process, words.target()).programs[words.id];
                program.is_made = true;
                program.launched = words.launches() != 0 ? ++turn_ : 0;
            } else if (is_laid(words)) {
                lay(process, words);
            } else if (words.is_by_core() && takes_banks(words)) {
                add_own(process, words, +1);
            }
            return;
        case Type::launched:
            return launch(process, words);
        case Type::target_closed:
            return close(process, target_of(process, words.target()));
        default:
            return;
    }
}

void CoreLoads::lay(uint64_t process, const RecordCopy& words) {
    const CircularBufferRecord cb = CircularBufferRecord::unpack(words);
    const Process* its = process_of(process);
    if (its == nullptr || cb.program == 0) return;
    Target& target = target_of(process, words.target());
    const Cores& cores = cores_of_set(*its, cb.core_set, cb.core_count);
    const uint64_t set = cb.core_set != 0 ? cb.core_set : kFirstCores | cb.core_count;
    target.core_sets.try_emplace(set, cores);
    ProgramLoad& program = target.programs[cb.program];
    const auto [begin, end] = span_at(cb.address, cb.per_core);
    program.spans.push_back({begin, end, set, cb.program, 0});
    program.has_changed = true;
    if (program.launched == 0) return;
    work_out_residents(target);
    for (const uint32_t device : target.devices) note(process, device);
}

void CoreLoads::ended(uint64_t process, const RecordCopy& life) {
    if (life.is_by_core() && takes_banks(life)) return add_own(process, life, -1);
    const bool is_program = life.kind() == TTMEM_PROGRAM_BINARY;
    if (!is_program && !is_laid(life)) return;
    Target& target = target_of(process, life.target());
    const CircularBufferRecord cb = CircularBufferRecord::unpack(life);
    const auto found = target.programs.find(is_program ? life.id : cb.program);
    if (found == target.programs.end()) return;
    ProgramLoad& program = found->second;
    if (program.launched != 0 && !target.is_stale) {  // what ran there before it may be larger
        target.is_stale = true;
        set_fullest(target);
    }
    if (is_program) {
        program.is_made = false;
        program.launched = 0;
    } else {
        const auto [begin, end] = span_at(cb.address, cb.per_core);
        const uint64_t set = cb.core_set != 0 ? cb.core_set : kFirstCores | cb.core_count;
        const auto is_it = [&](const CbSpan& one) {
            return one.begin == begin && one.end == end && one.core_set == set;
        };
        const auto span = std::find_if(program.spans.begin(), program.spans.end(), is_it);
        if (span != program.spans.end()) program.spans.erase(span);
        program.has_changed = true;
    }
    if (!program.is_made && program.spans.empty()) target.programs.erase(found);
    if (target.is_stale)
        for (const uint32_t device : target.devices) note(process, device);
}

void CoreLoads::add_own(uint64_t process, const RecordCopy& words, int64_t sign) {
    const Process* its = process_of(process);
    if (its == nullptr) return;
    Target& target = target_of(process, words.target());
    const Cores& cores = cores_of_set(*its, words.core_set(), words.core_count());
    const auto each = sign * static_cast<int64_t>(words.per_core_bytes());
    if (target.own.empty()) target.own.resize(size_t{kSide} * kRows);
    for (const uint32_t core : cores) target.own[place_of(core)] += each;
    const auto all = sign * static_cast<int64_t>(words.reserved_bytes());
    target.own_total += all;
    for (const uint32_t device : target.devices) chip(device).own += all;
    set_fullest(target);  // noted when the balance of L1 comes, of which this is a part
}

void CoreLoads::work_out(Target& target, ProgramLoad& program) {
    program.has_changed = false;
    program.loads.clear();
    program.cores.reset();
    program.end = 0;
    for (const CbSpan& span : program.spans) program.end = std::max(program.end, span.end);
    for (const CoreGroup& group : core_groups(program.spans, target.core_sets)) {
        program.loads.emplace_back(mask_of(group.cores), length_of(group.planned));
        program.cores |= program.loads.back().first;
    }
}

const ProgramLoad* CoreLoads::program(uint64_t process, uint16_t number, uint64_t id) {
    Target& target = target_of(process, number);
    const auto found = target.programs.find(id);
    if (found == target.programs.end() || found->second.spans.empty()) return nullptr;
    if (found->second.has_changed) work_out(target, found->second);
    return &found->second;
}

void CoreLoads::launch(uint64_t process, const RecordCopy& words) {
    Target& target = target_of(process, words.target());
    if (target.last == words.id && !target.is_stale) return;
    const auto found = target.programs.find(words.id);
    if (found == target.programs.end() || !found->second.is_made) return;
    ProgramLoad& program = found->second;
    program.launched = ++turn_;
    target.last = words.id;
    if (target.is_stale || program.has_changed) {
        work_out_residents(target);
    } else if (!program.loads.empty()) {
        for (auto& [cores, bytes] : target.residents) cores &= ~program.cores;
        std::erase_if(target.residents, [](const auto& one) { return one.first.none(); });
        target.residents.insert(target.residents.begin(), program.loads.begin(), program.loads.end());
        set_fullest(target);
    }
    for (const uint32_t device : target.devices) note(process, device);
}

void CoreLoads::work_out_residents(Target& target) {
    target.is_stale = false;
    std::vector<ProgramLoad*> launched;
    for (auto& [id, program] : target.programs) {
        if (program.has_changed) work_out(target, program);
        if (program.launched != 0) launched.push_back(&program);
    }
    std::sort(launched.begin(), launched.end(), [](auto* a, auto* b) { return a->launched > b->launched; });
    target.residents.clear();
    CoreMask left;
    left.set();
    for (const ProgramLoad* program : launched) {
        for (const auto& [cores, bytes] : program->loads)
            if ((cores & left).any()) target.residents.emplace_back(cores & left, bytes);
        left &= ~program->cores;
    }
    set_fullest(target);
}

void CoreLoads::set_fullest(Target& target) {
    if (target.devices.empty()) return;  // it stands for no chip yet
    int64_t fullest = 0;
    if (target.is_stale) {  // any of those that were launched, until the next launch says which
        for (const auto& [id, program] : target.programs)
            for (const auto& [cores, bytes] : program.loads)
                if (program.launched != 0) fullest = std::max(fullest, static_cast<int64_t>(bytes));
        if (!target.own.empty()) fullest += *std::max_element(target.own.begin(), target.own.end());
    } else if (only_) {
        const uint32_t place = place_of(*only_);
        fullest = target.own.empty() ? 0 : target.own[place];
        for (const auto& [cores, bytes] : target.residents) fullest += cores[place] ? static_cast<int64_t>(bytes) : 0;
    } else if (target.own_total == 0) {
        for (const auto& [cores, bytes] : target.residents) fullest = std::max(fullest, static_cast<int64_t>(bytes));
    } else {
        std::vector<int64_t> all = target.own;
        for (const auto& [cores, bytes] : target.residents)
            for (size_t place = cores._Find_first(); place < cores.size(); place = cores._Find_next(place))
                all[place] += static_cast<int64_t>(bytes);
        fullest = *std::max_element(all.begin(), all.end());
    }
    if (fullest == target.fullest) return;
    for (const uint32_t device : target.devices) chip(device).cores += fullest - target.fullest;
    target.fullest = fullest;
}

CoreLoads::Chip& CoreLoads::chip(uint32_t device) {
    if (chips_.size() <= device) chips_.resize(size_t{device} + 1);
    return chips_[device];
}

void CoreLoads::balance(uint64_t process, uint32_t device, uint8_t pool, int64_t used) {
    if (pool != TTMEM_L1 && pool != TTMEM_L1_SMALL) return;
    Chip& its = chip(device);
    (pool == TTMEM_L1 ? its.l1 : its.small) = used;
    note(process, device);
}

// The fullest core, times all cores: sums of pools are those of all banks, and this is asked at every event in L1.
int64_t CoreLoads::all_banks(uint32_t device, int64_t banks) const {
    const Device& known = collector_.devices().all()[device];
    const Chip& its = chips_[device];
    const auto ring = static_cast<int64_t>(known.open_count > 0 ? known.facts.kernel_ring_bytes : 0);
    return std::max<int64_t>(its.l1 - its.own + its.small, 0) + (its.cores + ring) * banks;
}

int64_t CoreLoads::now(uint32_t device) const {
    const auto banks = static_cast<int64_t>(collector_.devices().all()[device].facts.l1_banks);
    return banks == 0 ? 0 : (all_banks(device, banks) + banks - 1) / banks;
}

// Of a sum over all processes, but for the ring.
void CoreLoads::share(uint64_t process, uint32_t device) {
    if (!has_shares_) return;
    const auto banks = static_cast<int64_t>(collector_.devices().all()[device].facts.l1_banks);
    Chip& its = chip(device);
    const int64_t now = its.l1 - its.own + its.small + its.cores * banks;
    its.shares.add(process, now - its.told, its.told, its.most);
    its.told = now;
    its.most = std::max(its.most, now);
}

void CoreLoads::close(uint32_t device, uint64_t first_ns, uint64_t last_ns) {
    const Device& known = collector_.devices().all()[device];
    const auto banks = static_cast<int64_t>(known.facts.l1_banks);
    const auto ring = static_cast<int64_t>(known.open_count > 0 ? known.facts.kernel_ring_bytes : 0);
    Chip& its = chips_[device];
    int64_t most = its.most;
    its.most = its.told;
    if (its.shares.close(first_ns, last_ns, most) && banks != 0)
        its.highest = std::max(its.highest, (most + banks - 1) / banks + ring);
}

void CoreLoads::note(uint64_t process, uint32_t device) {
    share(process, device);
    const auto banks = static_cast<int64_t>(collector_.devices().all()[device].facts.l1_banks);
    Chip& its = chip(device);
    if (banks == 0 || all_banks(device, banks) <= its.highest * banks) return;
    its.highest = now(device);
    its.is_raised = has_raised_ = true;
}

void CoreLoads::close(uint64_t process, Target& target) {
    for (const uint32_t device : target.devices) {
        chip(device).cores -= target.fullest;
        chip(device).own -= target.own_total;
        share(process, device);
    }
    target = {};
}

void CoreLoads::forget(uint64_t process) {
    const auto found = processes_.find(process);
    if (found != processes_.end()) {
        for (auto& [number, target] : found->second) close(process, target);
        processes_.erase(found);
    }
    const auto from = core_sets_.lower_bound({process, 0});
    core_sets_.erase(from, core_sets_.lower_bound({process + 1, 0}));
    last_target_ = nullptr;
    known_ = nullptr;
}

// In the order in which programs were launched last.
void CoreLoads::reset(uint64_t process) {
    forget(process);
    const Process* its = process_of(process);
    if (its == nullptr) return;
    std::vector<std::pair<uint64_t, RecordCopy>> launched;
    its->book.table().for_each([&](const RecordCopy& words) {
        record(process, words);
        if (words.kind() != TTMEM_PROGRAM_BINARY || words.launches() == 0) return;
        const uint64_t last = ProgramRecord::unpack(words).launched;
        launched.emplace_back(last != 0 ? last : words.sequence(), words);
    });
    std::sort(launched.begin(), launched.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [at, words] : launched) launch(process, words);
    for (auto& [number, target] : processes_[process]) {
        work_out_residents(target);
        for (const uint32_t device : target.devices) note(process, device);
    }
}

}  // namespace ttmem::recording
