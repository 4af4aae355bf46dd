#include "timeline/timeline.hpp"

#include <algorithm>

#include "ledger/places/regions.hpp"
#include "ledger/rows/making.hpp"

namespace ttmem::timeline {
namespace {

using recording::BlockKind;

// A look at the cores of all chips goes through what is alive: so many entries may be gone through in all, some of them at
// once. That is a few seconds at most.
constexpr int64_t kCoreEntries = 15'000'000, kCoreEntriesAtOnce = 15'000'000, kOfLook = 50;
constexpr uint64_t kShownPools =
    uint64_t{1} << TTMEM_DRAM | uint64_t{1} << TTMEM_TRACE | uint64_t{1} << TTMEM_L1 | uint64_t{1} << TTMEM_L1_SMALL;

bool is_shown(uint32_t pool) { return (kShownPools >> pool & 1) != 0; }

// Circular buffers of programs take the same memory in turns: their sum is no balance, but they move the fullest core.
bool moves_cores(uint8_t pool) { return pool == TTMEM_L1 || pool == TTMEM_L1_SMALL || pool == TTMEM_CB; }

uint64_t span_of(const Limits& limits) {
    return std::max<uint64_t>(1, limits.until_ns - std::min(limits.from_ns, limits.until_ns));
}

// As the row of a chip has it; nothing where it is not known.
std::optional<uint64_t> fullest_core_of(const Device& device, const Seen& seen) {
    if (!core_bytes_of(device.facts)) return std::nullopt;
    if (seen.places != nullptr && (!seen.places->is_followed || !seen.now.is_known)) return std::nullopt;
    if (seen.places != nullptr &&
        (seen.places->pools[TTMEM_L1].unplaced | seen.places->pools[TTMEM_L1_SMALL].unplaced) != 0)
        return std::nullopt;
    const uint64_t ring = device.open_count > 0 ? device.facts.kernel_ring_bytes : 0;
    return (seen.places == nullptr ? 0 : seen.now.used) + ring;
}

}  // namespace

Timeline::Timeline(const Limits& limits)
    : limits_(limits), points_(limits.points - limits.points / 4, span_of(limits)), core_credit_(kCoreEntriesAtOnce) {
    credit_of_row_ = kCoreEntries / static_cast<int64_t>(std::max<uint64_t>(1, limits.rows));
}

void Timeline::begin_segment() {
    is_heard_.assign(series_.size(), false);
    programs_.clear();
    named_.clear();
    last_ = nullptr;
    is_behind_ = known_until_ns_ == 0;  // else a keyframe says more, or the programs are still to be found
    are_cores_behind_ = false;
    has_begun_ = false;  // what another recorder has found in journals may be known already
    begin_ns_ = std::max(limits_.from_ns, known_until_ns_);
}

bool Timeline::play(Collector& collector, recording::Replay& replay, const recording::StoredBlock& block,
                    uint64_t horizon_ns, bool& has_stopped, std::string& error) {
    collector_ = &collector;
    replay_ = &replay;
    last_ = nullptr;
    const uint64_t keyframe_rows = replay.keyframe_row_count();
    {
        const auto held = collector.hold();
        const uint64_t known_ns = replay.time_ns() != 0 ? replay.time_ns() : block.head.first_ns;
        if (block.head.kind == BlockKind::events && has_begun_ && is_behind_)
            add_all(std::min(known_ns, limits_.until_ns));
        collector.listen(this);
        replay.watch(this);
    }
    recording::Until until;
    until.time_ns = limits_.until_ns;
    const bool is_read = replay.take(block, error);
    has_stopped = replay.play(until, horizon_ns);
    const auto held = collector.hold();
    collector.listen(nullptr);
    replay.watch(nullptr);
    known_until_ns_ = std::max(known_until_ns_, replay.time_ns());
    if (replay.keyframe_row_count() != keyframe_rows) {
        end_gaps(replay);
        is_behind_ = true;
    }
    return is_read;
}

void Timeline::end_segment(Collector& collector, uint64_t at_ns) {
    const auto held = collector.hold();
    collector_ = &collector;
    last_ = nullptr;
    at_ns = std::max(at_ns, begin_ns_);
    if (is_behind_) add_all(at_ns);
    end_silent_series();
    for (const auto& [key, since_ns] : lost_)
        if (const Process* process = process_of(key)) gaps_.push_back({who(*process), since_ns, at_ns});
    lost_.clear();
}

// ---- who

const Process* Timeline::process_of(uint64_t key) {
    if (last_ != nullptr && last_key_ == key) return last_;
    last_ = nullptr;
    last_key_ = key;
    for (const auto& process : collector_->processes())
        if (process->key == key) last_ = process.get();
    return last_;
}

uint32_t Timeline::who(const Process& process) {
    const auto [at, is_new] = who_.try_emplace({process.pid, process.start_ticks, process.pid_namespace},
                                               static_cast<uint32_t>(processes_.size()));
    if (is_new) processes_.push_back({process.pid, process.started_ns, process.label, process.command});
    Who& known = processes_[at->second];
    if (!process.label.empty()) known.label = process.label;
    return at->second;
}

uint32_t Timeline::track_of(const Process& process, uint16_t thread) {
    const std::vector<uint32_t>& threads = process.names != nullptr ? process.names->threads : std::vector<uint32_t>();
    const Track track{who(process), thread < threads.size() ? threads[thread] : 0};
    const auto [at, is_new] =
        track_places_.try_emplace({track.process, track.thread}, static_cast<uint32_t>(tracks_.size()));
    if (is_new) tracks_.push_back(track);
    return at->second;
}

// ---- balances

void Timeline::add(const Device& chip, uint32_t pool, uint64_t at_ns, int64_t used) {
    const Series series{chip.is_known ? chip.unique_id : 0, chip.is_known ? std::string() : chip.name, pool};
    const auto [at, is_new] = places_.try_emplace({series.chip, series.name, pool}, 0);
    if (is_new) {
        if (used == 0) {  // a pool that never had anything
            places_.erase(at);
            return;
        }
        at->second = points_.add_series();
        series_.push_back(series);
        is_heard_.push_back(true);
        if (at_ns > limits_.from_ns) points_.add(at->second, limits_.from_ns, 0);
    }
    is_heard_[at->second] = true;
    points_.add(at->second, at_ns, used);
}

void Timeline::balance(uint32_t device, uint8_t pool, int64_t used, bool is_sure) {
    if (moves_cores(pool)) are_cores_behind_ = true;
    if (!replay_->is_at_event() || !has_begun_ || !is_sure || !is_shown(pool)) return;
    add(collector_->devices().all()[device], pool, now(), used);
}

// After a keyframe, whose rows have times of their own.
void Timeline::add_all(uint64_t at_ns) {
    is_behind_ = false;
    at_ns = std::max(at_ns, begin_ns_);
    for (const Device& chip : collector_->devices().all()) {
        const bool is_sure = chip.unsettled == 0;
        is_behind_ |= !is_sure;
        for (uint32_t pool = 0; pool < kPools && is_sure && !chip.is_vacant(); ++pool)
            if (is_shown(pool)) add(chip, pool, at_ns, chip.cell.pools[pool].used);
    }
    look_at_cores(at_ns);
}

// What nothing was heard of in these books ended before them.
void Timeline::end_silent_series() {
    for (size_t i = 0; i < series_.size(); ++i)
        if (!is_heard_[i]) points_.add(i, begin_ns_, 0);
}

void Timeline::look_at_cores(uint64_t at_ns) {
    are_cores_behind_ = false;
    ++core_looks_;
    const std::vector<Device>& devices = collector_->devices().all();
    const std::vector<Seen> seen = collector_->atlas().look(collector_->processes(), collector_->devices());
    for (size_t i = 0; i < devices.size() && i < seen.size(); ++i) {
        if (!devices[i].is_known) continue;
        if (const auto used = fullest_core_of(devices[i], seen[i]))
            add(devices[i], kFullestCore, at_ns, static_cast<int64_t>(*used));
    }
}

void Timeline::row_comes(uint64_t time_ns) {
    if (has_begun_ || time_ns < begin_ns_) return;
    has_begun_ = true;
    if (is_behind_) add_all(begin_ns_);
}

void Timeline::row_done() {
    core_credit_ = std::min(core_credit_ + credit_of_row_, kCoreEntriesAtOnce);
    if (!named_.empty()) name_programs();
    if (!are_cores_behind_ || !has_begun_) return;
    ++core_changes_;
    if (core_credit_ < 0) return;
    for (const auto& process : collector_->processes())
        core_credit_ -= static_cast<int64_t>(process->book.table().size()) + kOfLook;
    look_at_cores(now());
}

// ---- what happens

void Timeline::record(uint64_t key, const RecordCopy& words) {
    const Process* process = process_of(key);
    if (process == nullptr) return;
    switch (words.type()) {
        case Type::phase_began:
        case Type::phase_ended:
            return note_phase(*process, words);
        case Type::launched:
            are_cores_behind_ = true;
            return note_launch(*process, words);
        case Type::status_changed:
        case Type::target_closed:
            are_cores_behind_ = true;
            return;
        case Type::program_named:
            named_.push_back({key, words.target(), words.id});
            return;
        default:
            return;
    }
}

// Its phases end with it.
void Timeline::process_ended(uint64_t key) {
    are_cores_behind_ = true;
    const Process* process = process_of(key);
    if (process == nullptr || replay_ == nullptr) return;
    const uint32_t number = who(*process);
    for (Phase& phase : phases_)
        if (tracks_[phase.track].process == number && phase.ended_ns == 0) phase.ended_ns = now();
}

// The row of one has its own time, also in a keyframe, which tells of the same phases again.
void Timeline::note_phase(const Process& process, const RecordCopy& words) {
    const uint64_t at_ns = words.time - static_cast<uint64_t>(replay_->wall_offset_ns());
    const recording::ProcessNames* names = process.names;
    const std::tuple<uint32_t, uint64_t> place{who(process), words.id};
    const auto known = phase_places_.find(place);
    if (words.type() == Type::phase_ended) {
        if (known == phase_places_.end()) return;
        Phase& phase = phases_[known->second];
        if (phase.ended_ns == 0) phase.ended_ns = std::max(at_ns, phase.began_ns);
        return;
    }
    if (known != phase_places_.end() || names == nullptr) return;
    phase_places_[place] = phases_.size();
    phases_.push_back({track_of(process, words.thread()), words.id,
                       process.book.text(static_cast<uint32_t>(words.address)), at_ns, 0});
}

// A program is named behind its first launch.
uint32_t Timeline::name_of(const Process& process, const RecordCopy& words) {
    const auto [at, is_new] =
        programs_.try_emplace({process.key, words.target(), words.id}, static_cast<uint32_t>(names_.size()));
    if (is_new) names_.push_back(operation_of(process, words.target(), words.id));
    return at->second;
}

// One that has another name from now on is another.
void Timeline::name_programs() {
    for (const Program& program : named_) {
        const auto known = programs_.find(program);
        const Process* process = known != programs_.end() ? process_of(std::get<0>(program)) : nullptr;
        if (process == nullptr) continue;
        const std::string name = operation_of(*process, std::get<1>(program), std::get<2>(program));
        if (names_[known->second].empty())
            names_[known->second] = name;
        else if (names_[known->second] != name)
            programs_.erase(known);
    }
    named_.clear();
}

void Timeline::note_launch(const Process& process, const RecordCopy& words) {
    if (!replay_->is_at_event() || !has_begun_) return;
    ++launch_count_;
    if (launches_.size() >= limits_.points / 4) thin_launches();
    launches_.push_back({now(), track_of(process, words.thread()), name_of(process, words)});
}

// Of each slot of time one for each thread and program, with how many those were.
void Timeline::thin_launches() {
    const uint64_t most = std::max<uint64_t>(1, limits_.points / 8), span_ns = span_of(limits_);
    do {
        launch_slot_ns_ = std::max<uint64_t>({1, launch_slot_ns_ * 2, span_ns / most});
        std::map<std::pair<uint32_t, uint32_t>, size_t> in_slot;  // by track and name
        uint64_t slot = 0;
        size_t done = 0;
        for (const Launch& launch : launches_) {
            if (launch.time_ns / launch_slot_ns_ != slot) in_slot.clear();
            slot = launch.time_ns / launch_slot_ns_;
            const auto [at, is_new] = in_slot.try_emplace({launch.track, launch.name}, done);
            if (is_new)
                launches_[done++] = launch;
            else
                launches_[at->second].count += launch.count;
        }
        launches_.resize(done);
    } while (launches_.size() > most && launch_slot_ns_ < span_ns);
}

// ---- gaps

void Timeline::lost(uint64_t key) {
    if (process_of(key) != nullptr) lost_.try_emplace(key, replay_->time_ns());
}

void Timeline::end_gaps(const recording::Replay& replay) {
    const std::vector<uint64_t> still = replay.lost_processes();
    for (auto one = lost_.begin(); one != lost_.end();) {
        if (std::find(still.begin(), still.end(), one->first) != still.end()) {
            ++one;
            continue;
        }
        if (const Process* process = process_of(one->first))
            gaps_.push_back({who(*process), one->second, replay.time_ns()});
        one = lost_.erase(one);
    }
}

}  // namespace ttmem::timeline
