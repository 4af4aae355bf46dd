#include "ledger/collector.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <queue>

#include "writer/owner.hpp"

namespace ttmem {
namespace {

constexpr int kScansMost = 3;
constexpr size_t kDamagedMost = 100;  // files of one user
constexpr size_t kUsersMost = 256;    // beyond them all are one
constexpr uint32_t kAnybody = ~uint32_t{0};
constexpr const char* kGone = "went away, or was replaced, while it was being opened";
constexpr const char* kContradiction =
    "its records contradict each other, or it was cut while being read; the process's figures are unknown";

std::string journal_item(const void* from, uint32_t id, Item kind) {
    return static_cast<const JournalReader*>(from)->item(id, kind);
}

// Our own journal is read through the writer's mapping: opening and closing the file would drop its lock.
std::unique_ptr<Source> open_source(JournalFiles& files, const std::string& path, uint64_t device, uint64_t inode,
                                    uint64_t& bytes, JournalFile*& file, std::string& error) {
    Mapping own{};
    const WriterTable& writer = owner();
    if (writer.mapping(&own) != 0 && own.device == device && own.inode == inode) {
        bytes = own.bytes;
        return std::make_unique<MemorySource>(own.base, own.bytes);
    }
    auto source = std::make_unique<JournalFile>(files, path, device, inode);
    const Reach reached = source->reach();
    if (reached == Reach::gone) error = source->trouble().empty() ? kGone : source->trouble();
    if (reached != Reach::open) return nullptr;
    bytes = source->bytes();
    file = source.get();
    return source;
}

}  // namespace

uint64_t Collector::attach(const std::string& path, uint64_t device, uint64_t inode, std::string& error) {
    const std::lock_guard lock(mutex_);
    uint64_t bytes = 0;
    JournalFile* file = nullptr;
    std::unique_ptr<Source> source = open_source(files_, path, device, inode, bytes, file, error);
    std::unique_ptr<JournalReader> reader;
    const uint32_t uid = file != nullptr ? file->owner() : kAnybody;
    if (source != nullptr) reader = JournalReader::open(std::move(source), bytes, error);
    if (reader == nullptr) {
        if (!error.empty() && error != kGone) keep_damage(path, error, uid);
        return 0;
    }
    for (const auto& known : processes_)
        if (file != nullptr && known->file != nullptr && !known->is_over() && known->inode == inode &&
            known->file->device() == device && known->reader->identity().nonce == reader->identity().nonce) {
            known->file->move_to(path);
            known->figures += known->is_removed != is_descriptor(path);
            known->is_removed = is_descriptor(path);
            return known->key;
        }
    auto process = std::make_unique<Process>(++last_key_, devices_, Way::journal);
    const Identity& identity = reader->identity();
    process->pid = identity.pid;
    process->uid = file != nullptr ? file->owner() : identity.uid;  // of the file: a header may claim any process
    process->start_ticks = identity.start_ticks;
    process->pid_namespace = identity.pid_namespace;
    process->command = identity.command;
    process->path = path;
    process->is_removed = is_descriptor(path);
    process->inode = inode;
    process->started_ns = identity.clock_realtime_ns >> 63 == 0 ? identity.clock_realtime_ns : 0;  // else nonsense
    process->file = file;
    process->reader = std::move(reader);
    if (file != nullptr) file->expect(process->reader->identity());
    process->book.set_arena(journal_item, process->reader.get());
    process->book.set_clock(timebase_, process->reader->identity());
    const uint64_t now = process->heard_ns = nanoseconds(CLOCK_MONOTONIC);
    keep_open(*process, now);
    check_life(*process, now);
    // Who began after the recording did, and is over already, is part of it all the same.
    const bool is_of_recording = listener_ != nullptr && identity.clock_monotonic_ns >= listening_since_ns_;
    if (process->ended_ns != 0 && !is_of_recording) process->book.keep_to_yourself();
    process->book.listen(listener_);
    log_events_of(*process);
    start(*process, nanoseconds(CLOCK_REALTIME));
    doubt_lives_before(*process);
    processes_.push_back(std::move(process));
    pair_ways(*processes_.back());
    return last_key_;
}

// Anyone who was there before the log was is found running; of one that had ended by then nothing is said.
void Collector::log_events_of(Process& process) {
    if (!log_.is_on()) return;
    const Identity& identity = process.reader->identity();
    const bool is_found = identity.clock_monotonic_ns < log_.since_ns();
    if (is_found && process.ended_ns != 0) return;
    process.book.log_to(log_, process.pid, process.start_ticks);
    process.book.log_from(identity.first_sequence, is_found);
    if (!process.is_verified) process.book.hold_log(identity.first_sequence, ~uint64_t{0});
}

void Collector::keep_damage(const std::string& path, const std::string& what, uint32_t uid) {
    const bool is_listed = damaged_.contains(uid) || damaged_.size() < kUsersMost;
    Damaged& damaged = damaged_[is_listed ? uid : kAnybody];
    if (damaged.newest.size() >= kDamagedMost) {
        damaged.newest.erase(damaged.newest.begin());
        ++damaged.more;
    }
    damaged.newest.emplace_back(path, what);
}

// From the first record when all of it is still there (then even peaks are exact), else from the live state.
void Collector::start(Process& process, uint64_t now_ns) {
    if (process.reader->start_at_beginning()) {
        process.mode = Mode::settling;
        process.settle_at = process.reader->settled_at();
        if (process.book.is_found_running()) process.book.hold_log(0, process.settle_at);
        if (process.reader->identity().first_sequence == 1) return;
        if (!read_targets(process, kTargets)) return damage(process, kCut);
        return process.book.inherit_targets(process.targets, now_ns);  // a forked child: its parent had named them
    }
    process.is_late = true;
    scan(process, now_ns, process.reader->identity().first_sequence);
}

// Works out what is alive; records up to `read_until` were read before.
void Collector::scan(Process& process, uint64_t now_ns, uint64_t read_until) {
    std::vector<RecordCopy>& alive = alive_;  // kept: new memory would cost as much as reading into it
    alive.clear();
    if (process.unfollowed_from == 0) process.unfollowed_from = read_until;
    if (++process.scans_in_row > kScansMost) return fall_behind(process, now_ns, read_until);
    if (process.reader->scan(alive) != ReadResult::ok) return damage(process, kContradiction);
    if (!read_targets(process, kTargets)) return damage(process, kCut);
    process.book.hold_peaks();
    process.book.learn_targets(process.targets, now_ns);  // before the entries: their chips must be known
    process.book.rebuild(alive, process.reader->ended_early(), now_ns);
    process.book.learn_refusals(process.reader->refused_before(), now_ns);
    process.settle_at = process.reader->settled_at();
    process.book.hold_log(read_until, process.settle_at);
    process.mode = Mode::settling;
    ++process.figures;
}

// Writers were faster three times in a row: the journal's counters are right whatever happens, so they are shown.
void Collector::fall_behind(Process& process, uint64_t now_ns, uint64_t read_until) {
    process.mode = Mode::outrun;
    process.scans_in_row = 0;
    process.book.hold_log(read_until, process.reader->settled_at());
    const uint64_t most = listener_ != nullptr ? 20 * kMs : 500 * kMs;  // what is not followed is not recorded
    process.backoff_ns = std::min<uint64_t>(process.backoff_ns == 0 ? 20 * kMs : process.backoff_ns * 2, most);
    process.retry_at_ns = nanoseconds(CLOCK_MONOTONIC) + process.backoff_ns;
    adopt(process, now_ns);
}

void Collector::adopt(Process& process, uint64_t now_ns) {
    if (!read_targets(process, kTargets)) return damage(process, kCut);
    process.book.learn_targets(process.targets, now_ns);
    process.book.adopt_counters(process.targets, now_ns);
    process.book.take_peaks(process.reader->position(), now_ns);  // counters are right at any instant
    ++process.figures;
}

void Collector::damage(Process& process, const std::string& what) {
    bool has_changed = false;
    process.incidents.read(*process.reader,
                           has_changed);  // as far as they can be: what was refused stays to be reported
    process.mode = Mode::damaged;
    process.damage = what;
    ++process.figures;
    keep_damage(process.path, what, process.uid);
    process.batch.clear();  // what was read before the damage showed is no part of any balance
    process.book.log_damaged();
    if (listener_ != nullptr) listener_->process_ended(process.key);
    process.book.leave();
    ++ended_count_;
    pair_ways(process);
}

void Collector::read_batch(Process& process, uint64_t now_ns) {
    process.batch.clear();
    if (process.mode == Mode::ended || process.mode == Mode::damaged || process.reader == nullptr) return;
    const uint64_t read_until = process.reader->position();
    if (process.mode == Mode::outrun) {
        if (nanoseconds(CLOCK_MONOTONIC) < process.retry_at_ns && process.ended_ns == 0) return adopt(process, now_ns);
        scan(process, now_ns, read_until);
        if (process.mode != Mode::settling) return;
    }
    switch (process.reader->read(process.batch, kBatch)) {
        case ReadResult::ok:
            break;
        case ReadResult::damaged:
            return damage(process, kContradiction);
        case ReadResult::lost_place: {
            process.batch.clear();
            Hot hot;
            if (process.reader->look(hot) && hot.head > process.reader->position())
                process.lost_records += hot.head - process.reader->position();
            process.book.note_gap();
            process.is_late = true;
            scan(process, now_ns, read_until);
        }
    }
}

void Collector::after_batch(Process& process, uint64_t now_ns) {
    if (process.reader == nullptr) return;
    if (process.mode != Mode::settling && process.mode != Mode::following) return;
    process.event_count += process.batch.size();
    process.figures += !process.batch.empty();
    for (const RecordCopy& event : process.batch)
        if (event.target() < kTargets) process.noted.stale.set(event.target());
    if (has_tap_) process.tapped.insert(process.tapped.end(), process.batch.begin(), process.batch.end());
    process.hot = process.reader->last_look();
    if (process.hot.untabled_allocs != 0 && !process.is_table_full) process.is_table_full = true;
    if (process.is_table_full) adopt(process, now_ns);
    if (process.mode == Mode::settling && process.reader->position() >= process.settle_at) {
        process.mode = Mode::following;
        process.book.take_peaks(process.reader->position() - 1, now_ns);
        process.book.catch_up_log();
        if (listener_ != nullptr) listener_->settled(process.key);
        process.unfollowed_from = 0;
        process.scans_in_row = 0;
        process.backoff_ns = 0;
        ++process.figures;
    }
}

// Several processes at once: in the order of their stamps, so that peaks of a chip are those that were. Where journals have
// different clocks, the stamps that decide whose turn it is are converted to one.
uint64_t Collector::apply_merged(uint64_t now_ns) {
    struct Turn {
        uint64_t time;
        Process* process;
        size_t at;
        Timebase::Line line;
        bool operator>(const Turn& other) const { return time > other.time; }
    };
    std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;
    uint64_t applied = 0;
    const bool is_mixed = has_different_clocks();
    for (auto& process : processes_) {
        if (process->batch.empty()) continue;
        const Timebase::Line line = is_mixed ? timebase_.line(process->reader->identity()) : Timebase::Line{};
        turns.push({line.monotonic(process->batch[0].time), process.get(), 0, line});
    }
    while (!turns.empty()) {
        Turn turn = turns.top();
        turns.pop();
        Process& process = *turn.process;
        const uint64_t until = turns.empty() ? ~uint64_t{0} : turn.line.stamp(turns.top().time);
        const size_t stopped = process.book.apply_run(process.batch, turn.at, until, process.reader.get(), now_ns);
        applied += stopped - turn.at;
        if (stopped == process.batch.size()) continue;
        turns.push({turn.line.monotonic(process.batch[stopped].time), &process, stopped, turn.line});
    }
    return applied;
}

bool Collector::has_different_clocks() const {
    const Process* first = nullptr;
    for (const auto& process : processes_) {
        if (process->batch.empty()) continue;
        if (first == nullptr) first = process.get();
        if (process->reader->identity().clock_kind != first->reader->identity().clock_kind) return true;
    }
    return false;
}

// The writer is gone: what it had finished is read, the rest never happened; then its memory is given back.
void Collector::finish(Process& process, uint64_t now_ns) {
    read_to_end(process, now_ns);
    if (process.is_late && process.mode != Mode::damaged) {
        // A scan while it wrote may have seen both lives of a replacement that was never finished, and the ring then
        // reported the older one again. Now nothing moves any more: the newer counts.
        process.scans_in_row = 0;
        scan(process, now_ns, process.reader->position());
        read_to_end(process, now_ns);
    }
    process.noted.read_ns = 0;  // a call that was cut off has counted, and left no record
    refresh(process);
    if (process.mode == Mode::damaged) return;
    process.reader->drop_pending();
    dismiss(process);
}

void Collector::read_to_end(Process& process, uint64_t now_ns) {
    for (int passes = 0; passes < 4096 && process.mode != Mode::damaged; ++passes) {
        const uint64_t before = process.reader->position();
        process.scans_in_row = 0;
        process.retry_at_ns = 0;
        read_batch(process, now_ns);
        process.book.apply_all(process.batch, process.reader.get(), now_ns);
        after_batch(process, now_ns);
        if (process.batch.empty() && process.reader->position() == before) break;
    }
}

}  // namespace ttmem
