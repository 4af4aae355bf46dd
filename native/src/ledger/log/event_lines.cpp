// The part of a process's book that says in the event log what a journal reports, in the lines of the allocation server's
// protocol: one for every chip of a mesh, as a client of that protocol would have reported it.
//
//   what                                     line             its size
//   buffer, trace buffer, program binary     Allocated        as the program asked for it
//   circular buffer, dataflow buffer, ...    CB_ALLOC         on all its cores together
//   kernel                                   KERNEL_LOAD      binary size x cores
//
// A reader that came late or was lapped works out what is alive. Nothing is said until that is done; then what began
// meanwhile and lives is said, marked, and how many other events there were.
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "journal/clock.hpp"
#include "ledger/book/book.hpp"

namespace ttmem {
namespace {

constexpr int64_t kPeakStepBytes = 1 << 20;

uint64_t not_below_zero(int64_t amount) { return static_cast<uint64_t>(std::max<int64_t>(amount, 0)); }

// tt-metal's BufferType of what lies in a pool; an unknown one has no word.
uint8_t type_of_pool(uint8_t pool) {
    constexpr uint8_t kTypes = 5;
    for (uint8_t type = 0; type < kTypes; ++type)
        if (pool_of_buffer(type) == pool) return type;
    return 0xff;
}

// Rows that only keep the books of a program take no memory, and are no allocation.
bool is_worth_a_line(const RecordCopy& life) {
    return life.reserved_bytes() != 0 || life.kind() == TTMEM_BUFFER || is_circular_buffer(life.kind()) ||
           is_kernel(life.kind());
}

uint64_t line_size(const RecordCopy& life) {
    if (is_kernel(life.kind())) return rule_bytes(life);
    return life.kind() == TTMEM_BUFFER && life.requested_bytes() != 0 ? life.requested_bytes() : life.reserved_bytes();
}

uint64_t line_id(const RecordCopy& life) {
    return life.kind() == TTMEM_BUFFER && life.buffer_address() != 0 ? life.buffer_address() : life.id;
}

LineKind word_of_begin(uint8_t kind) {
    if (is_kernel(kind)) return LineKind::kernel_loaded;
    return is_circular_buffer(kind) ? LineKind::cb_allocated : LineKind::allocated;
}

LineKind word_of_end(uint8_t kind) {
    if (is_kernel(kind)) return LineKind::kernel_unloaded;
    return is_circular_buffer(kind) ? LineKind::cb_freed : LineKind::freed;
}

LineKind word_of_unknown(uint8_t kind) {
    if (is_kernel(kind)) return LineKind::unknown_kernel_unload;
    return is_circular_buffer(kind) ? LineKind::unknown_cb_free : LineKind::unknown_free;
}

}  // namespace

void Book::log_to(EventLog& log, const uint32_t& pid, uint64_t start_ticks) {
    log_ = &log;
    log_pid_ = &pid;
    log_start_ticks_ = start_ticks;
}

void Book::log_from(uint64_t first, bool is_found_running) {
    said_until_ = first;
    is_found_running_ = is_found_running;
}

void Book::hold_log(uint64_t read_until, uint64_t settled_at) {
    if (log_ == nullptr) return;
    if (!is_log_held_) said_until_ = std::max(said_until_, read_until);
    is_log_held_ = true;
    log_held_until_ = settled_at;
}

// Of a process found running everything alive is said; after a gap only what began in it, and how much else there was.
void Book::catch_up_log() {
    if (log_ == nullptr || !is_log_held_ || *log_pid_ == 0)
        return;  // of a journal that belongs to no process nothing is said
    is_log_held_ = false;
    const uint64_t from = is_found_running_ ? 0 : said_until_;
    std::vector<RecordCopy> lives;
    table_.for_each([&](const RecordCopy& life) {
        if (life.sequence() >= from && life.sequence() < log_held_until_) lives.push_back(life);
    });
    std::sort(lives.begin(), lives.end(), [](const RecordCopy& a, const RecordCopy& b) { return a.commit < b.commit; });
    const uint64_t passed = log_held_until_ - std::min(log_held_until_, said_until_);
    if (!is_found_running_ && passed > lives.size()) {
        LogLine line{LineKind::missed};
        line.pid = *log_pid_;
        line.size = passed - lives.size();
        log_->say(line);
    }
    is_found_running_ = false;
    for (const RecordCopy& life : lives) log_life(word_of_begin(life.kind()), life, line_size(life), true);
}

bool Book::may_log(uint64_t sequence) {
    if (is_log_held_ && sequence >= log_held_until_) catch_up_log();
    return !is_log_held_;
}

void Book::log_begun(const RecordCopy& event, const RecordCopy& life, uint64_t replaced_bytes) {
    if (!may_log(event.sequence())) return;
    const uint64_t size = line_size(life);
    if (!is_kernel(life.kind())) {
        log_life(word_of_begin(life.kind()), life, size, false);
    } else if (size < replaced_bytes) {
        log_life(LineKind::kernel_shrunk, life, replaced_bytes - size, false);
    } else {
        log_life(LineKind::kernel_loaded, life, size - replaced_bytes, false);
    }
    if (life.pool() != TTMEM_L1) return;
    for (const uint32_t number : targets_[life.target()].devices) log_peak(number, devices_.at(number).facts.index);
}

void Book::log_before(const RecordCopy& life) { log_life(word_of_begin(life.kind()), life, line_size(life), true); }

void Book::log_ended(const RecordCopy& life) { log_life(word_of_end(life.kind()), life, line_size(life), false); }

void Book::log_unmatched(const RecordCopy& event) {
    if (!may_log(event.sequence())) return;
    LogLine line{word_of_unknown(event.kind())};
    line.pid = *log_pid_;
    line.id = event.id;
    line.device = -1;
    const std::vector<uint32_t>& chips = targets_[event.target()].devices;
    if (!chips.empty()) line.device = devices_.at(chips[0]).facts.index;
    log_->say(line);
}

void Book::log_life(LineKind said, const RecordCopy& life, uint64_t size, bool is_before) {
    if (!is_worth_a_line(life)) return;
    LogLine line{said};
    line.type = is_kernel(life.kind()) ? life.kind() : type_of_pool(life.pool());
    line.is_before = is_before;
    line.pid = *log_pid_;
    line.size = size;
    line.id = line_id(life);
    line.holders = said == LineKind::allocated ? 1 : 0;
    for (const uint32_t number : targets_[life.target()].devices) {
        const Device& device = devices_.at(number);
        const Cell& cell = is_shared_ ? device.cell : *cell_of_[number];
        line.device = device.facts.index;
        line.total = not_below_zero(is_kernel(life.kind()) ? cell.kernel_rule : cell.pools[TTMEM_CB].used);
        log_->say(line);
    }
}

// A line whenever the process's highest use of L1 has grown by what it shows: whole megabytes, from one on.
void Book::log_peak(uint32_t number, int32_t id) {
    if (log_ == nullptr) return;
    Cell& cell = *cell_of_[number];
    const PeakAmount& l1 = cell.pools[TTMEM_L1];
    const auto peak_mb = static_cast<uint32_t>((l1.peak + kPeakStepBytes / 2) / kPeakStepBytes);
    if (l1.peak <= kPeakStepBytes || peak_mb <= cell.shown_peak_mb) return;
    cell.shown_peak_mb = peak_mb;
    static const uint64_t ticks_per_second = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
    const uint64_t now_ms = nanoseconds(CLOCK_BOOTTIME) / 1'000'000;
    LogLine line{LineKind::l1_peak};
    line.device = id;
    line.size = not_below_zero(l1.peak);
    line.holders = not_below_zero(l1.count);
    line.extra = now_ms - std::min(now_ms, log_start_ticks_ * 1000 / ticks_per_second);
    log_->say(line);
}

void Book::log_damaged() {
    if (log_ == nullptr || *log_pid_ == 0) return;
    LogLine line{LineKind::damaged};
    line.pid = *log_pid_;
    log_->say(line);
}

void Book::log_left(EventLog& log, uint32_t pid) const {
    LogLine buffers{LineKind::removed_buffers}, cbs{LineKind::removed_cbs}, kernels{LineKind::removed_kernels};
    const auto add = [](LogLine& to, int64_t count, int64_t bytes) {
        to.holders += not_below_zero(count);
        to.size += not_below_zero(bytes);
    };
    for (const auto& [number, cell] : cells_) {
        for (uint8_t kind = 0; kind < kKinds; ++kind) {
            const KindAmount& held = cell.kinds[kind];
            if (held.used == 0 && kind != TTMEM_BUFFER) continue;
            if (is_kernel(kind))
                add(kernels, held.count, 0);
            else
                add(is_circular_buffer(kind) ? cbs : buffers, held.count, held.used);
        }
        kernels.size += not_below_zero(cell.kernel_rule);
    }
    if (buffers.holders + cbs.holders + kernels.holders == 0 || !log.may_warn()) return;
    for (LogLine line : {LogLine{LineKind::process_ended}, buffers, cbs, kernels}) {
        if ((line.said == LineKind::removed_cbs || line.said == LineKind::removed_kernels) && line.holders == 0)
            continue;
        line.pid = pid;
        log.put(line);
    }
}

}  // namespace ttmem
