// Who is in the books: processes that come, are the same as another, end, and are forgotten.
#include <unistd.h>

#include <cstring>

#include "journal/clock.hpp"
#include "journal/identity.hpp"
#include "ledger/collector.hpp"
#include "recording/names.hpp"

namespace ttmem {
namespace {

constexpr size_t kEndedMost = 256;
constexpr size_t kChipsOfEndedMost = 1024;

std::string fed_item(const void* from, uint32_t id, Item kind) {
    const auto& arena = *static_cast<const std::string*>(from);
    const uint64_t at = uint64_t{id} * 8;
    uint64_t head = 0;
    if (id == 0 || at + sizeof head > arena.size()) return {};
    std::memcpy(&head, arena.data() + at, sizeof head);
    const auto [length, found] = ItemWord::unpack(head);
    if (found != kind || length > arena.size() - at - sizeof head) return {};
    return arena.substr(at + sizeof head, length);
}

}  // namespace

Process::~Process() {
    if (pidfd >= 0) close(pidfd);
}

// Its memory is given back; its last figures stay readable for a while.
void Collector::dismiss(Process& process) {
    process.mode = Mode::ended;
    ++process.figures;
    if (process.ended_ns == 0) process.ended_ns = nanoseconds(CLOCK_REALTIME);
    if (listener_ != nullptr) listener_->process_ended(process.key);
    process.book.catch_up_log();
    const bool is_reported = process.book.is_shared() || (process.book.is_logged() && process.shadowed_by == 0);
    if (is_reported && process.is_verified && process.way != Way::replay) process.book.log_left(log_, process.pid);
    process.book.leave();
    if (process.pidfd >= 0) close(process.pidfd);
    process.pidfd = -1;
    process.last_live_count = process.book.table().allocation_count();
    if (process.way == Way::socket) process.book.drop_lists();  // what a journal says can be read again
    ++ended_count_;
    pair_ways(process);
}

Process& Collector::admit(Way way) {
    processes_.push_back(std::make_unique<Process>(++last_key_, devices_, way));
    Process& process = *processes_.back();
    process.mode = Mode::following;
    process.started_ns = nanoseconds(CLOCK_REALTIME);
    process.book.listen(listener_);
    return process;
}

void Collector::listen(Listener* listener) {
    listener_ = listener;
    listening_since_ns_ = nanoseconds(CLOCK_MONOTONIC);
    for (auto& process : processes_) process->book.listen(listener);
}

SitePath Process::site(uint32_t id) const {
    if (reader != nullptr) return reader->site(id);
    return names != nullptr ? names->site(id) : SitePath();
}

std::vector<uint32_t> Process::threads() const {
    if (reader != nullptr) return reader->threads();
    return names != nullptr ? names->threads : std::vector<uint32_t>();
}

// Only what changed is looked at, and its like: processes come and go by the thousand.
void Collector::pair_ways(Process& changed) {
    if (changed.way == Way::replay || changed.start_ticks == 0) return;
    const bool is_socket = changed.way == Way::socket;
    for (auto& process : processes_) {
        Process& other = *process;
        if (other.pid != changed.pid || other.way == changed.way || other.way == Way::replay || other.is_over() ||
            other.start_ticks != changed.start_ticks)
            continue;
        Process& socket = is_socket ? changed : other;
        Process& journal = is_socket ? other : changed;
        ++journal.figures;
        if (socket.is_over())
            journal.other = 0;
        else if (!journal.is_over())
            shadow(socket, &journal);
        else if (start_ticks_of(static_cast<pid_t>(socket.pid)) == socket.start_ticks)
            shadow(socket, nullptr);  // it goes on without a journal; dead, it would only be counted for an instant
    }
}

void Collector::shadow(Process& socket, Process* journal) {
    socket.shadowed_by = journal != nullptr ? journal->key : 0;
    ++socket.figures;
    if (journal != nullptr) {
        journal->other = socket.key;
        if (!socket.book.is_shared()) return;
        socket.book.leave();
        devices_.retract_peaks(socket.book.cells(), socket.started_ns);
    } else {
        socket.book.rejoin(nanoseconds(CLOCK_REALTIME));
    }
}

void Collector::follow_mapping(uint64_t now_ns) {
    if (devices_.mapping() == mapping_seen_) return;
    mapping_seen_ = devices_.mapping();
    for (auto& process : processes_)
        if (!process->is_over()) {
            process->book.follow_mapping(now_ns);
            ++process->figures;
        }
}

void Collector::reset_peaks() {
    const std::lock_guard lock(mutex_);
    const uint64_t now_ns = nanoseconds(CLOCK_REALTIME);
    devices_.reset_peaks(now_ns);
    for (auto& process : processes_) {
        if (process->is_over()) continue;
        process->book.reset_peaks();
        process->peaks_since_ns = now_ns;
        ++process->figures;
    }
}

bool Collector::describe_by_driver(uint64_t unique_id, const std::string& arch, const std::string& board,
                                   uint64_t dram_bytes, uint64_t l1_bytes) {
    const std::lock_guard lock(mutex_);
    return devices_.describe_by_driver(unique_id, {arch, board, dram_bytes, l1_bytes});
}

bool Collector::set_bank_sizes(const std::string& arch, uint64_t dram_bytes, uint64_t l1_bytes) {
    const std::lock_guard lock(mutex_);
    return devices_.set_bank_sizes(arch, {dram_bytes, l1_bytes});
}

// A viewer that runs for days meets many processes; the newest dead are enough. Those that named thousands of chips are
// let go at once: no process will read that.
void Collector::forget_oldest_ended() {
    if (ended_count_ == 0) return;
    ended_count_ = 0;
    size_t ended = 0;
    for (const auto& process : processes_) ended += process->is_over();
    const size_t before = processes_.size();
    std::erase_if(processes_, [&](const auto& process) {
        if (!process->is_over()) return false;
        const bool is_vast = process->book.cells().size() > kChipsOfEndedMost;
        if (ended <= kEndedMost && !is_vast) return false;
        --ended;
        forgotten_.add(*process, devices_);
        return true;
    });
    if (processes_.size() != before) devices_.forget_unused();
}

uint64_t Collector::feed(const std::string& records, const std::string& arena, uint32_t pid, uint32_t uid,
                         uint64_t start_ticks, const std::string& label) {
    const std::lock_guard lock(mutex_);
    auto process = std::make_unique<Process>(++last_key_, devices_, Way::replay);
    process->pid = pid;
    process->uid = uid;
    process->start_ticks = start_ticks;
    process->label = label;
    process->arena = arena;
    process->mode = Mode::following;
    process->book.set_arena(fed_item, &process->arena);
    const size_t count = records.size() / sizeof(RecordCopy);
    process->batch.resize(count);
    if (count != 0) std::memcpy(process->batch.data(), records.data(), count * sizeof(RecordCopy));
    process->book.apply_all(process->batch, nullptr, nanoseconds(CLOCK_REALTIME));
    process->event_count = count;
    process->batch.clear();
    processes_.push_back(std::move(process));
    return last_key_;
}

void Collector::end(uint64_t key) {
    const std::lock_guard lock(mutex_);
    for (auto& process : processes_)
        if (process->key == key && process->reader == nullptr && process->mode != Mode::ended) return dismiss(*process);
}

void Collector::forget_ended() {
    const std::lock_guard lock(mutex_);
    for (const auto& process : processes_)
        if (process->is_over()) forgotten_.add(*process, devices_);
    std::erase_if(processes_, [](const auto& process) { return process->is_over(); });
    devices_.forget_unused();
}

Lifetime Collector::lifetime() {
    return look([this](const auto& processes, const Devices& devices, const Timebase& time, const auto&) {
        Lifetime sums = forgotten_;
        for (const auto& process : processes) {
            sums.add(*process, devices);
            sums.note_time(*process, time);
        }
        return sums;
    });
}

bool Collector::is_settling() {
    return look([](const Processes& processes, const auto&, const auto&, const auto&) {
        for (const auto& process : processes)
            if (process->mode == Mode::settling && process->is_verified && process->shadowed_by == 0) return true;
        return false;
    });
}

uint64_t Collector::journal_count() {
    return look([](const Processes& processes, const auto&, const auto&, const auto&) {
        uint64_t count = 0;
        for (const auto& process : processes)
            count += process->way != Way::socket && process->mode != Mode::ended && process->ended_ns == 0;
        return count;
    });
}

bool Collector::taken(uint64_t key, std::string& records, std::string& arena) {
    const std::lock_guard lock(mutex_);
    for (auto& process : processes_) {
        if (process->key != key || process->reader == nullptr) continue;
        records.assign(reinterpret_cast<const char*>(process->tapped.data()),
                       process->tapped.size() * sizeof(RecordCopy));
        arena = process->reader->arena();
        process->tapped.clear();
        return true;
    }
    return false;
}

}  // namespace ttmem
