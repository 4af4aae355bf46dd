#include "recording/recorder.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace ttmem::recording {
namespace {

constexpr uint64_t kKeyframeRows = 1u << 19;  // between keyframes, at least
constexpr uint64_t kFlushesASecond = 20;
constexpr uint64_t kClockFarNs = 5'000'000;
constexpr size_t kPhasesMost = 16'384;  // of a process that are remembered
constexpr uint32_t kTextsMost = kArenaBytes / 8;

RecordCopy own_row(RowType type, uint64_t id = 0) {
    RecordCopy words;
    words.tag = Tag{static_cast<Type>(type)}.pack();
    words.id = id;
    return words;
}

}  // namespace

Recorder::Recorder(Collector& collector, bool is_redacted)
    : collector_(collector), names_(is_redacted), since_ns_(nanoseconds(CLOCK_MONOTONIC)), loads_(collector, true) {
    const auto held = collector_.hold();
    collector_.listen(this);
}

Recorder::~Recorder() {
    const auto held = collector_.hold();
    collector_.listen(nullptr);
    if (file_ >= 0) close(file_);
}

// ---- who rows are about

Recorder::State& Recorder::state_of(uint64_t key) {
    if (last_ == nullptr || last_key_ != key) {
        last_ = &states_[key];
        last_key_ = key;
    }
    return *last_;
}

ProcessFacts Recorder::facts_of(const Process& process) {
    return {process.key,
            process.pid,
            process.uid,
            process.start_ticks,
            process.started_ns,
            process.pid_namespace,
            process.way == Way::socket,
            process.is_visible,
            process.book.is_shared(),
            process.label,
            process.command,
            process.path,
            process.sites_off};
}

// Of one rate all along, only seen from nearer: the longer clocks were compared, the better it is known.
void Recorder::take_clock(State& state) {
    if (state.process->reader != nullptr)
        state.clock = collector_.timebase().line(state.process->reader->identity());
    else  // a server's clock is the wall's
        state.clock = {static_cast<uint64_t>(wall_offset_ns_), 0, 1.0};
}

uint64_t Recorder::monotonic(State& state, uint64_t raw) {
    if (raw == 0) return 0;
    const uint64_t at_ns = state.clock.monotonic(raw);
    if (state.process == nullptr || state.process->reader == nullptr) return at_ns;
    if (at_ns < state.clock.monotonic_ns + kClockFarNs) return at_ns;
    take_clock(state);  // what lies far from where clocks were compared last is known less well
    return std::min(state.clock.monotonic(raw), state.clock.monotonic_ns);  // nothing was reported later than now
}

// Often in the first second, then once a second.
void Recorder::refresh_clocks() {
    if (++flush_count_ > kFlushesASecond && flush_count_ % kFlushesASecond != 0) return;
    for (auto& [key, state] : states_)
        if (state.process != nullptr && state.process->reader != nullptr && state.segment == segment_)
            take_clock(state);
}

// Who was read to its end when it was looked into last had done nothing else until then.
void Recorder::note_known() {
    for (auto& [key, state] : states_) {
        const Process* process = state.process;
        if (process == nullptr || process->reader == nullptr || state.is_lost || state.segment != segment_) continue;
        if (process->reader->position() < process->reader->last_look().head) continue;
        state.known_until_ns = std::max(state.known_until_ns, process->asked_ns);
    }
}

// Gives a process its number in this segment; false while it is not among the others yet.
bool Recorder::meet(State& state, uint64_t key) {
    if (state.segment == segment_) return true;
    if (state.process == nullptr)
        for (const auto& process : collector_.processes())
            if (process->key == key) state.process = process.get();
    if (state.process == nullptr || segment_ == 0) return false;
    state.segment = segment_;
    state.number = next_number_++;
    take_clock(state);
    state.facts = facts_of(*state.process);
    state.thread_count = 0;
    names_.process(state.number, state.facts);
    if (!is_in_keyframe_)
        for (const auto& [target, words] : state.targets) put_target(state, words);
    return true;
}

// ---- rows

void Recorder::add(State& state, RecordCopy words, uint64_t monotonic_ns) {
    if (status_.error != 0) {
        ++status_.dropped_rows;
        return;
    }
    if (rows_.is_full()) {
        close_rows(is_in_keyframe_ ? BlockKind::keyframe : BlockKind::events, keyframe_parts_);
        keyframe_parts_ = 0;
    }
    words.time = monotonic_ns != 0 ? monotonic_ns : monotonic(state, words.time);
    if (!is_in_keyframe_ && static_cast<RowType>(words.type()) != RowType::gap_peaked)
        words.time = state.latest_ns = std::max(state.latest_ns, words.time);
    state.known_until_ns = std::max(state.known_until_ns, words.time);
    name(state, words);
    rows_.add(state.number, words);
    if (words.thread() > state.highest_thread) state.highest_thread = words.thread();
}

void Recorder::add_own(State& state, RowType type, uint64_t id) {
    RecordCopy words = own_row(type, id);
    words.time = state.process->book.last_raw();
    add(state, words);
}

void Recorder::record(uint64_t process, const RecordCopy& words) {
    State& state = state_of(process);
    if (words.type() == Type::phase_began || words.type() == Type::phase_ended) note_phase(state, words);
    if (words.type() == Type::incident || words.type() == Type::out_of_memory || words.type() == Type::clashed)
        ++status_.incidents;
    if (state.is_lost || !meet(state, process)) return;
    loads_.record(process, words);
    add(state, words);
}

void Recorder::ended(uint64_t process, const RecordCopy& life, uint64_t sequence, uint64_t time, bool is_replaced) {
    State& state = state_of(process);
    if (state.is_lost || !meet(state, process)) return;
    loads_.ended(process, life);
    RecordCopy words = FreedRecord{life.kind(), life.pool(),           life.flags(),   life.target(),
                                   life.id,     life.reserved_bytes(), life.sequence()}
                           .pack();
    words.commit = committed(sequence);
    words.time = time;
    words.set_site(static_cast<uint32_t>(is_replaced ? Ending::replaced : Ending::freed));
    add(state, words);
}

void Recorder::resized(uint64_t process, const RecordCopy& life, uint64_t bytes, uint64_t sequence) {
    State& state = state_of(process);
    if (state.is_lost || !meet(state, process)) return;
    RecordCopy words = life;
    words.set_type(static_cast<Type>(RowType::resized));
    words.commit = committed(sequence);
    words.address = life.sequence();
    words.time = nanoseconds(CLOCK_REALTIME);
    words.set_reserved(bytes);
    words.set_requested(bytes);
    add(state, words);
}

void Recorder::put_target(State& state, const RecordCopy& words) {
    const auto descriptor = static_cast<uint32_t>(words.id);
    if (descriptor != 0) {
        name_id(state, descriptor, Item::device);
    }
    add(state, words);
}

void Recorder::opened(uint64_t process, uint16_t target, uint64_t unique_id, uint32_t descriptor) {
    State& state = state_of(process);
    const bool is_known = meet(state, process);
    RecordCopy words = TargetOpenedRecord{target, descriptor, unique_id}.pack();
    if (is_known) words.time = state.process->book.last_raw();
    state.targets[target] = words;
    if (is_known && !state.is_lost) put_target(state, words);
}

void Recorder::shared(uint64_t process, bool is_shared) {
    State& state = state_of(process);
    if (state.is_over || !meet(state, process)) return;
    is_shared ? loads_.reset(process) : loads_.forget(process);
    add_own(state, is_shared ? RowType::rejoined : RowType::left);
}

void Recorder::lost(uint64_t process) {
    State& state = state_of(process);
    if (state.is_lost) return;
    state.is_lost = true;
    loads_.forget(process);
    if (!meet(state, process)) return;
    // From the last moment on at which all was known.
    add(state, own_row(RowType::gap_began, state.lost_records), state.known_until_ns);
}

// Everything that it did while it was not followed, also what was read again to be exact. What a process did before anyone
// recorded is not lost.
void Recorder::count_lost(State& state) {
    const Process& process = *state.process;
    if (process.reader == nullptr || process.unfollowed_from == 0) return;
    const bool is_found_running =
        state.known_until_ns == 0 && process.reader->identity().clock_monotonic_ns < since_ns_;
    if (is_found_running || process.reader->position() < process.unfollowed_from) return;
    const uint64_t lost = process.reader->position() - process.unfollowed_from;
    state.lost_records += lost;
    status_.lost_records += lost;
}

void Recorder::settled(uint64_t process) {
    State& state = state_of(process);
    if (!state.is_lost || !meet(state, process) || !state.process->book.is_counting()) return;
    state.is_lost = false;
    count_lost(state);
    loads_.reset(process);
    put_gap_peaks(state);
    add(state, own_row(RowType::gap_ended, state.lost_records), nanoseconds(CLOCK_MONOTONIC));
    put_keyframe(state.process);
}

// What its own counters say of the time that was not followed. They know the highest since it began only: an older one says
// that none was higher since.
void Recorder::put_gap_peaks(State& state) {
    const uint64_t from_ns = std::max(state.known_until_ns, since_ns_);
    const auto& targets = state.process->targets;
    for (size_t target = 0; target < targets.size(); ++target)
        for (uint8_t pool = 0; pool < kPools; ++pool) {
            const auto& counter = targets[target].pools[pool];
            if (counter.peak == 0 || monotonic(state, counter.peak_time) <= from_ns) continue;
            RecordCopy words = own_row(RowType::gap_peaked);
            words.tag = Tag{static_cast<Type>(RowType::gap_peaked), 0, pool, 0, 0}.pack();
            words.reserved = in::kReserved.pack(counter.peak) | in::kTarget.pack(target);
            words.time = counter.peak_time;
            add(state, words);
            if (!state.process->book.is_shared()) continue;
            for (const uint32_t device : state.process->book.targets()[target].devices)
                raise_in_gap(device, pool, static_cast<int64_t>(counter.peak));
        }
}

void Recorder::process_ended(uint64_t process) {
    State& state = state_of(process);
    if (!state.is_over && meet(state, process)) {
        if (state.is_lost) count_lost(state);
        // It held what it held until now, however long it had been silent.
        add(state, own_row(RowType::process_ended), nanoseconds(CLOCK_MONOTONIC));
    }
    state.is_over = true;
    loads_.forget(process);
    state.process = nullptr;
    state.targets.clear();
    state.phases.clear();
    state.said.clear();
    state.said_stacks.clear();
}

void Recorder::note_phase(State& state, const RecordCopy& words) {
    if (words.type() == Type::phase_began) {
        if (state.phases.size() >= kPhasesMost) state.phases.erase(state.phases.begin());
        state.phases.push_back({words, {}});
        return;
    }
    for (auto phase = state.phases.rbegin(); phase != state.phases.rend(); ++phase)
        if (phase->began.id == words.id && phase->ended.time == 0) {
            phase->ended = words;
            return;
        }
}

void Recorder::balance(uint32_t device, uint8_t pool, int64_t used, bool is_sure) {
    loads_.balance(last_key_, device, pool, used);
    const size_t place = size_t{device} * kPools + pool;
    if (pools_.size() <= place) pools_.resize(place + kPools);
    Pool& its = pools_[place];
    its.shares.add(last_key_, used - its.now, its.now, its.highest);
    its.now = used;
    its.is_sure = is_sure;
    its.is_used |= used != 0;
    if (!is_sure || used <= its.highest) return;
    its.highest = used;
    its.is_of_gap = false;
}

// Others on that chip had something besides, so it was at least that much.
void Recorder::raise_in_gap(uint32_t device, uint8_t pool, int64_t bytes) {
    const size_t place = size_t{device} * kPools + pool;
    if (pools_.size() <= place) pools_.resize(place + kPools);
    Pool& its = pools_[place];
    its.is_used = true;
    if (bytes <= its.highest) return;
    its.highest = bytes;
    its.is_of_gap = true;
}

std::vector<Balance> Recorder::take_balances(const BlockHead& head) {
    std::vector<Balance> balances;
    for (size_t place = 0; place < pools_.size(); ++place) {
        Pool& its = pools_[place];
        const Device& device = collector_.devices().at(static_cast<uint32_t>(place / kPools));
        const uint64_t chip = device.is_known ? device.unique_id : place / kPools;
        Balance its_own{chip, static_cast<uint32_t>(place % kPools), device.is_known ? kHasChip : 0, its.start,
                        its.highest};
        const bool is_bound = device.is_known && head.kind == BlockKind::events &&
                              its.shares.close(head.first_ns, head.last_ns, its_own.highest);
        if (!its.is_used && !is_bound) continue;
        if (its.is_of_gap) balances.push_back({chip, its_own.pool, its_own.flags | kIsOfGap, its.start, its.highest});
        if (is_bound) its_own.flags |= kIsBound;
        if (is_bound || !its.is_of_gap) balances.push_back(its_own);
        its.start = its.now;
        its.is_of_gap = false;
        its.highest = its.is_sure ? its.now : std::min(its.now, its.highest);
        its.is_used = its.now != 0;
    }
    put_cores(head, balances);
    return balances;
}

void Recorder::put_cores(const BlockHead& head, std::vector<Balance>& balances) {
    for (uint32_t number = 0; number < loads_.chips().size(); ++number) {
        CoreLoads::Chip& its = loads_.chips()[number];
        if (head.kind == BlockKind::events) loads_.close(number, head.first_ns, head.last_ns);
        if (its.start == 0 && its.highest == 0) continue;
        const Device& device = collector_.devices().at(number);
        balances.push_back({device.is_known ? device.unique_id : number, kFullestCore, device.is_known ? kHasChip : 0,
                            its.start, its.highest});
        its.start = its.highest = loads_.now(number);
    }
}

// ---- names

void Recorder::name_id(State& state, uint32_t id, Item kind) {
    if (id == 0) return;
    const bool is_stack = is_stack_site(id);
    const uint32_t number = id & ~kStackSite;
    if (number >= (is_stack ? kStackNodes : kTextsMost)) return;
    std::vector<uint64_t>& said = is_stack ? state.said_stacks : state.said;
    if (said.size() <= number) said.resize(std::max<size_t>(number + size_t{1}, said.size() * 2));
    if (said[number] == segment_) return;
    said[number] = segment_;
    const Process& process = *state.process;
    if (is_stack) return names_.stack(state.number, id, process.site(id));
    if (kind == Item::text) return names_.text(state.number, id, process.book.text(id));
    if (process.reader == nullptr) return;
    const std::string device = process.reader->item(id, Item::device);
    if (!device.empty()) return names_.item(state.number, id, Name::device, device);
    names_.item(state.number, id, Name::mesh, process.reader->item(id, Item::mesh));
}

void Recorder::name(State& state, const RecordCopy& words) {
    if (state.facts.is_socket || state.process == nullptr) return;
    const auto text = [&](uint64_t id) { name_id(state, static_cast<uint32_t>(id), Item::text); };
    switch (words.type()) {
        case Type::allocated:
            if (words.kind() == TTMEM_PROGRAM_BINARY) return text(words.requested_bytes());
            text(words.site());
            if (is_circular_buffer(words.kind())) text(in::kCbCoreSet.of(words.address));
            if (words.is_by_core()) text(words.core_set());
            return;
        case Type::site_changed:
        case Type::incident:
            return text(words.site());
        case Type::program_named:
        case Type::phase_began:
        case Type::phase_ended:
            return text(words.address);
        case Type::labelled:
            return text(words.id);
        default:
            return;
    }
}

// Labels change, processes turn out to be others', and threads come.
void Recorder::refresh_facts() {
    for (auto& [key, state] : states_) {
        if (state.process == nullptr || state.segment != segment_) continue;
        ProcessFacts facts = facts_of(*state.process);
        if (!(facts == state.facts)) {
            state.facts = std::move(facts);
            names_.process(state.number, state.facts);
        }
        if (state.highest_thread < state.thread_count || state.process->reader == nullptr) continue;
        const std::vector<uint32_t> threads = state.process->threads();
        if (threads.size() > state.thread_count) names_.threads(state.number, threads);
        state.thread_count = threads.size();
    }
}

// ---- keyframes

void Recorder::put_process(State& state, const Process& process) {
    const Book& book = process.book;
    add_own(state, RowType::process_began, (book.is_shared() ? 1u : 0u) | (state.is_lost ? 2u : 0u));
    for (const auto& [target, words] : state.targets) {
        put_target(state, words);
        const TargetBook& its = book.targets()[target];
        if (its.is_open || !book.is_shared()) continue;
        RecordCopy closed = TargetClosedRecord{target, 0, its.unique_id}.pack();
        closed.commit = committed(its.closed_sequence);
        add(state, closed);
    }
    for (const Phase& phase : state.phases) {
        add(state, phase.began);
        if (phase.ended.time != 0) add(state, phase.ended);
    }
    if (!state.is_lost)
        book.table().for_each([&](const RecordCopy& life) {
            RecordCopy words = life;
            if (words.kind() == TTMEM_PROGRAM_BINARY) words.set_requested(book.operation_of(words.target(), words.id));
            add(state, words);
        });
    add_own(state, RowType::process_whole);
}

// Of all processes, or between events of only one.
void Recorder::put_keyframe(const Process* only) {
    close_rows(BlockKind::events, 0);
    is_in_keyframe_ = true;
    keyframe_parts_ = only == nullptr ? kFirstPart : 0;
    uint64_t rows = status_.rows;
    for (const auto& process : collector_.processes()) {
        if (process->is_over() || (only != nullptr && process.get() != only)) continue;
        State& state = states_[process->key];
        if (!meet(state, process->key)) continue;
        put_process(state, *process);
    }
    const uint16_t parts = keyframe_parts_;
    keyframe_parts_ = 0;
    is_in_keyframe_ = false;
    close_rows(BlockKind::keyframe, only == nullptr ? parts | kLastPart : 0);
    if (only != nullptr) return;
    keyframe_rows_ = status_.rows - rows;
    rows_since_keyframe_ = 0;
}

// ---- blocks

void Recorder::close_rows(BlockKind kind, uint16_t parts) {
    if (rows_.count() == 0 && kind == BlockKind::events) return;
    refresh_facts();
    close_names();
    BlockHead head;
    head.kind = kind;
    head.parts = parts;
    head.row_count = rows_.count();
    head.first_ns = rows_.first_ns();
    head.last_ns = rows_.last_ns();
    status_.rows += rows_.count();
    rows_since_keyframe_ += rows_.count();
    const std::string payload = rows_.take();
    write(head, take_balances(head), payload);
}

void Recorder::close_names() {
    if (names_.count() == 0) return;
    BlockHead head;
    head.kind = BlockKind::names;
    head.row_count = names_.count();
    head.first_ns = head.last_ns = nanoseconds(CLOCK_MONOTONIC);
    write(head, {}, names_.take());
}

void Recorder::write(BlockHead head, const std::vector<Balance>& balances, const std::string& payload) {
    if (status_.error != 0) {
        status_.dropped_rows += head.kind == BlockKind::events ? head.row_count : 0;
        return;
    }
    head.segment = static_cast<uint32_t>(segment_);
    head.number = block_number_++;
    head.wall_offset_ns = wall_offset_ns_;
    head.lost_records = status_.lost_records + status_.dropped_rows;
    head.process_count = next_number_;
    const std::string bytes = block_bytes(head, balances, payload);
    for (size_t done = 0; done < bytes.size();) {
        const ssize_t wrote = ::write(file_, bytes.data() + done, bytes.size() - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) {
            status_.error = wrote < 0 ? errno : ENOSPC;
            if (ftruncate(file_, static_cast<off_t>(status_.segment_bytes)) != 0) return;
            status_.dropped_rows += head.kind == BlockKind::events ? head.row_count : 0;
            return;
        }
        done += static_cast<size_t>(wrote);
    }
    status_.segment_bytes += bytes.size();
}

void Recorder::begin_segment(int file, uint64_t number) {
    if (segment_ != 0) flush();
    if (file_ >= 0) close(file_);
    file_ = file;
    segment_ = number;
    block_number_ = next_number_ = 0;
    status_.segment_bytes = 0;
    status_.error = 0;
    names_.take();
    rows_.take();
    std::erase_if(states_, [](const auto& entry) { return entry.second.is_over; });
    last_ = nullptr;
    wall_offset_ns_ = static_cast<int64_t>(nanoseconds(CLOCK_REALTIME) - nanoseconds(CLOCK_MONOTONIC));
    put_keyframe(nullptr);
}

void Recorder::flush() {
    wall_offset_ns_ = static_cast<int64_t>(nanoseconds(CLOCK_REALTIME) - nanoseconds(CLOCK_MONOTONIC));
    close_rows(BlockKind::events, 0);
    refresh_facts();
    refresh_clocks();
    note_known();
    close_names();
    if (rows_since_keyframe_ > std::max(kKeyframeRows, 4 * keyframe_rows_)) put_keyframe(nullptr);
}

}  // namespace ttmem::recording
