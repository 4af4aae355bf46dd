// Who is in the books: processes that come, are the same as another, end, and are forgotten.
#include <unistd.h>

#include <cstring>
#include <map>

#include "journal/clock.hpp"
#include "ledger/collector.hpp"

namespace ttmem {
namespace {

constexpr size_t kEndedMost = 256;

std::string fed_item(const void* from, uint32_t id, Item kind) {
    const auto& arena = *static_cast<const std::string*>(from);
    const uint64_t at = uint64_t{id} * 8;
    uint64_t head = 0;
    if (id == 0 || at + sizeof head > arena.size()) return {};
    std::memcpy(&head, arena.data() + at, sizeof head);
    const uint64_t length = head & 0xffff'ffff;
    if (static_cast<Item>(head >> 32) != kind || length > arena.size() - at - sizeof head) return {};
    return arena.substr(at + sizeof head, length);
}

}  // namespace

Process::~Process() {
    if (pidfd >= 0) close(pidfd);
}

// Its memory is given back; its last figures stay readable for a while.
void Collector::dismiss(Process& process) {
    process.mode = Mode::ended;
    if (process.ended_ns == 0) process.ended_ns = nanoseconds(CLOCK_REALTIME);
    process.book.release();
    if (process.pidfd >= 0) close(process.pidfd);
    process.pidfd = -1;
    pair_ways();
}

Process& Collector::admit(Way way) {
    processes_.push_back(std::make_unique<Process>(++last_key_, devices_));
    Process& process = *processes_.back();
    process.way = way;
    process.mode = Mode::following;
    process.started_ns = nanoseconds(CLOCK_REALTIME);
    return process;
}

void Collector::pair_ways() {
    std::map<std::pair<uint32_t, uint64_t>, Process*> journals;
    bool has_sockets = false;
    for (auto& process : processes_) {
        process->other = 0;
        has_sockets = has_sockets || process->way == Way::socket;
        if (process->way == Way::journal && !process->is_over() && process->start_ticks != 0)
            journals[{process->pid, process->start_ticks}] = process.get();
    }
    if (!has_sockets) return;
    for (auto& process : processes_) {
        if (process->way != Way::socket || process->is_over()) continue;
        const auto journal = journals.find({process->pid, process->start_ticks});
        process->shadowed_by = journal == journals.end() ? 0 : journal->second->key;
        if (journal != journals.end()) {
            journal->second->other = process->key;
            process->book.leave();
        } else {
            process->book.rejoin(nanoseconds(CLOCK_REALTIME));
        }
    }
}

void Collector::follow_mapping(uint64_t now_ns) {
    if (devices_.mapping() == mapping_seen_) return;
    mapping_seen_ = devices_.mapping();
    for (auto& process : processes_)
        if (!process->is_over()) process->book.follow_mapping(now_ns);
}

void Collector::reset_peaks() {
    const std::lock_guard lock(mutex_);
    const uint64_t now_ns = nanoseconds(CLOCK_REALTIME);
    devices_.reset_peaks(now_ns);
    for (auto& process : processes_) {
        if (process->is_over()) continue;
        process->book.reset_peaks();
        process->peaks_since_ns = now_ns;
    }
}

// A viewer that runs for days meets many processes; the newest dead are enough.
void Collector::forget_oldest_ended() {
    if (processes_.size() <= kEndedMost) return;
    size_t ended = 0;
    for (const auto& process : processes_) ended += process->is_over();
    if (ended <= kEndedMost) return;
    std::erase_if(processes_,
                  [&](const auto& process) { return process->is_over() && ended > kEndedMost && ended-- > 0; });
    devices_.forget_unused();
}

uint64_t Collector::feed(const std::string& records, const std::string& arena, uint32_t pid, uint32_t uid,
                         uint64_t start_ticks, const std::string& label) {
    const std::lock_guard lock(mutex_);
    auto process = std::make_unique<Process>(++last_key_, devices_);
    process->way = Way::replay;
    process->pid = pid;
    process->uid = uid;
    process->start_ticks = start_ticks;
    process->label = label;
    process->arena = arena;
    process->mode = Mode::following;
    process->book.set_arena(fed_item, &process->arena);
    const size_t count = records.size() / sizeof(Words);
    process->batch.resize(count);
    if (count != 0) std::memcpy(process->batch.data(), records.data(), count * sizeof(Words));
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
    std::erase_if(processes_, [](const auto& process) { return process->is_over(); });
    devices_.forget_unused();
}

bool Collector::taken(uint64_t key, std::string& records, std::string& arena) {
    const std::lock_guard lock(mutex_);
    for (auto& process : processes_) {
        if (process->key != key || process->reader == nullptr) continue;
        records.assign(reinterpret_cast<const char*>(process->tapped.data()), process->tapped.size() * sizeof(Words));
        arena = process->reader->arena();
        process->tapped.clear();
        return true;
    }
    return false;
}

}  // namespace ttmem
