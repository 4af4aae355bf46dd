#include "server/message_rules.hpp"

#include <algorithm>
#include <cstring>

#include "journal/pools.hpp"

namespace ttmem::server {
namespace {

constexpr size_t kLookAhead = 16;
constexpr uint8_t kRestored = kExcused;  // of a life: it stands in a checkpoint, it is unknown what happened meanwhile
constexpr uint8_t kKernelKinds[] = {TTMEM_KERNEL_APPLICATION, TTMEM_KERNEL_FABRIC, TTMEM_KERNEL_DISPATCH,
                                    TTMEM_KERNEL_UNKNOWN};

uint8_t kernel_kind(uint8_t type) { return kKernelKinds[std::min<uint8_t>(type, 3)]; }

// Chips without a place of their own share one: there a thing's key has its chip mixed in, and its address its true id.
uint64_t key_id(const Head& head, uint16_t target) {
    if (target != ServerTargets::kUnknown) return head.buffer_id;
    return head.buffer_id ^ (uint64_t{static_cast<uint32_t>(head.device_id)} + 1) * 0x9e37'79b9'7f4a'7c15ull;
}

uint64_t shown(int64_t amount) { return static_cast<uint64_t>(std::max<int64_t>(amount, 0)); }

Head head_at(const char* bytes) {
    Head head;
    std::memcpy(&head, bytes, sizeof head);
    return head;
}

// Kernels are looked for under several kinds; what is fetched ahead is the likeliest.
uint8_t likely_kind(const Head& head) {
    switch (static_cast<MessageType>(head.type)) {
        case MessageType::cb_alloc:
        case MessageType::cb_free:
            return TTMEM_CIRCULAR_BUFFER;
        case MessageType::kernel_load:
            return kernel_kind(head.buffer_type);
        case MessageType::kernel_unload:
            return TTMEM_KERNEL_APPLICATION;
        default:
            return TTMEM_BUFFER;
    }
}

}  // namespace

struct MessageRules::Step {
    Process& process;
    const Head& head;
    uint64_t now_ns;
    EntryKey key;
    uint8_t pool;
    uint64_t size;
    Book& book = process.book;
    uint32_t hash = entry_hash(key);

    bool is_about_cb() const { return key.kind == TTMEM_CIRCULAR_BUFFER; }
    uint64_t next_sequence() const { return ++process.sequence; }
};

uint64_t kernel_bytes(const Device& device) { return shown(device.cell.kernel_rule); }

uint16_t MessageRules::target_of(Process& process, int32_t id, uint64_t now_ns) {
    const uint16_t known = process.server_targets.find(id);
    if (known != ServerTargets::kUnknown) return known;
    const bool is_named =
        id >= 0 && !process.server_targets.is_full() && (devices_.find_server_id(id) != nullptr || devices_.has_room());
    if (id >= 0 && !is_named) process.book.note("devices_lost");
    const uint16_t number = is_named ? process.server_targets.add(id) : ServerTargets::kUnknown;
    process.book.open_server_chip(number, is_named ? id : -1, now_ns);
    return number;
}

size_t MessageRules::apply(Process& process, const char* first, size_t count, size_t stride, uint64_t now_ns) {
    const EntryTable& table = process.book.table();
    uint32_t hashes[2 * kLookAhead];  // of the messages ahead: their slots first, later the entries these lead to
    const auto look_ahead = [&](size_t at) {
        if (at >= count) return;
        const Head head = head_at(first + at * stride);
        const uint16_t target = process.server_targets.find(head.device_id);
        const uint32_t hash = entry_hash({key_id(head, target), target, likely_kind(head)});
        table.prefetch_slot(hashes[at % (2 * kLookAhead)] = hash);
    };
    for (size_t at = 0; at < kLookAhead; ++at) look_ahead(at);
    size_t i = 0;
    for (; i < count; ++i) {
        look_ahead(i + kLookAhead);
        const size_t soon = i + kLookAhead / 2;
        if (soon < count) table.prefetch_entry(hashes[soon % (2 * kLookAhead)]);
        const Head head = head_at(first + i * stride);
        const auto type = static_cast<MessageType>(head.type);
        if (!is_report(head.type)) break;
        if (head.process_id != 0 && head.process_id != static_cast<int32_t>(process.pid))
            process.claimed_pid = static_cast<uint32_t>(head.process_id);
        const uint8_t kind = likely_kind(head);
        const uint8_t pool = kind == TTMEM_BUFFER            ? pool_of_buffer(head.buffer_type)
                             : kind == TTMEM_CIRCULAR_BUFFER ? uint8_t{TTMEM_CB}
                                                             : pool_of_kernel(kind);
        const bool is_end =
            type == MessageType::free || type == MessageType::cb_free || type == MessageType::kernel_unload;
        // What is freed was allocated somewhere: no chip begins with that.
        const uint16_t target =
            is_end ? process.server_targets.find(head.device_id) : target_of(process, head.device_id, now_ns);
        Step step{process, head, now_ns, {key_id(head, target), target, kind}, pool, std::min(head.size, kSizeMost)};
        switch (type) {
            case MessageType::alloc:
                if (pool == TTMEM_POOL_UNKNOWN) process.book.note("unknown_type");
                [[fallthrough]];
            case MessageType::cb_alloc:
                on_allocated(step);
                break;
            case MessageType::kernel_load:
                on_kernel_loaded(step);
                break;
            case MessageType::kernel_unload:
                on_kernel_unloaded(step);
                break;
            default:
                on_freed(step);
        }
    }
    process.event_count += i;
    process.figures += i != 0;
    if (i != 0) process.book.touch(now_ns);
    return i;
}

void MessageRules::begin(Step& step) {
    const bool is_loaded = is_kernel(step.key.kind);
    uint8_t flags = is_loaded ? kEstimated : uint8_t{0};
    if (step.head.size > kSizeMost) {
        flags |= kClamped;
        step.book.note("clamped");
    }
    SocketRecord entry{{step.key.kind, step.pool, flags, 0, step.key.target, step.key.id, step.size}};
    entry.address = is_loaded && step.key.target != ServerTargets::kUnknown ? 0 : step.head.buffer_id;
    entry.requested = step.is_about_cb() ? 0 : step.size;
    entry.type = step.key.kind == TTMEM_BUFFER ? step.head.buffer_type : uint16_t{0};
    RecordCopy life = entry.pack();
    life.commit = committed(step.next_sequence());
    life.time = step.now_ns;
    step.book.begin(life, step.hash, step.now_ns);
}

void MessageRules::on_allocated(Step& step) {
    const size_t slot = step.book.slot_of(step.key, step.hash);
    RecordCopy* life = step.book.at_slot(slot);
    uint64_t holders = 1;
    const bool is_alike = life != nullptr && (life->flags() & kRestored) == 0 && life->reserved_bytes() == step.size &&
                          (step.is_about_cb() || SocketRecord::unpack(*life).type == step.head.buffer_type);
    if (is_alike) {
        holders = holders_of(*life) + 1;
        SocketRecord::set_holders(*life, holders);
        step.next_sequence();
    } else {
        if (life != nullptr) {
            if ((life->flags() & kRestored) == 0) step.book.note("replaced");
            step.book.end(slot, step.next_sequence(), step.now_ns);
        }
        begin(step);
    }
    if (!is_said(step)) return;
    if (step.is_about_cb())
        say(step, LineKind::cb_allocated, holders == 1 ? step.size : 0, holders);
    else
        say(step, LineKind::allocated, step.size, holders);
    if (step.pool == TTMEM_L1) step.book.log_peak(step.book.targets()[step.key.target].devices[0], step.head.device_id);
}

void MessageRules::on_freed(Step& step) {
    const size_t slot = step.book.slot_of(step.key, step.hash);
    RecordCopy* life = step.book.at_slot(slot);
    if (life == nullptr)
        return note_unmatched(step, step.is_about_cb() ? LineKind::unknown_cb_free : LineKind::unknown_free);
    const uint64_t size = life->reserved_bytes(), left = holders_of(*life) - 1;
    if (step.is_about_cb() && step.head.size != 0 && step.size != size) step.book.note("free_size");
    if (left != 0) {
        SocketRecord::set_holders(*life, left);
        step.next_sequence();
    } else {
        step.book.end(slot, step.next_sequence(), step.now_ns);
    }
    if (!is_said(step)) return;
    if (step.is_about_cb())
        say(step, LineKind::cb_freed, left == 0 ? size : 0, left);
    else
        say(step, LineKind::freed, size, left);
}

void MessageRules::on_kernel_loaded(Step& step) {
    uint64_t before = 0;
    bool is_there = false;
    for (const uint8_t kind : kKernelKinds) {
        if ((step.process.kernel_kinds >> kind & 1) == 0) continue;
        const EntryKey key{step.key.id, step.key.target, kind};
        const size_t slot = step.book.slot_of(key, entry_hash(key));
        RecordCopy* life = step.book.at_slot(slot);
        if (life == nullptr) continue;
        before = life->reserved_bytes();
        if (kind == step.key.kind) {
            is_there = true;
            if (step.size < before && (life->flags() & kRestored) == 0) step.book.note("shrunk_kernel");
            if (step.head.size > kSizeMost) step.book.note("clamped");
            const uint64_t sequence = step.next_sequence();
            if (step.size != before) step.book.resize(*life, step.size, sequence, step.now_ns);
        } else {  // the same id under another type: its program is another one now
            if ((life->flags() & kRestored) == 0) step.book.note("replaced");
            step.book.end(slot, step.next_sequence(), step.now_ns);
        }
    }
    step.process.kernel_kinds |= 1u << step.key.kind;
    if (!is_there) begin(step);
    if (!is_said(step)) return;
    const bool is_less = step.size < before;
    say(step, is_less ? LineKind::kernel_shrunk : LineKind::kernel_loaded,
        is_less ? before - step.size : step.size - before, 1);
}

void MessageRules::on_kernel_unloaded(Step& step) {
    for (const uint8_t kind : kKernelKinds) {
        if ((step.process.kernel_kinds >> kind & 1) == 0) continue;
        step.key.kind = kind;
        const size_t slot = step.book.slot_of(step.key, entry_hash(step.key));
        const RecordCopy* life = step.book.at_slot(slot);
        if (life == nullptr) continue;
        const uint64_t size = life->reserved_bytes();
        if (step.head.size != 0 && step.size != size) step.book.note("free_size");
        step.book.end(slot, step.next_sequence(), step.now_ns);
        if (is_said(step)) say(step, LineKind::kernel_unloaded, size, 0);
        return;
    }
    note_unmatched(step, LineKind::unknown_kernel_unload);
}

void MessageRules::note_unmatched(Step& step, LineKind said) {
    const bool is_nowhere = step.key.target == ServerTargets::kUnknown && !step.book.targets()[0].is_named;
    const uint64_t id = is_nowhere ? step.head.buffer_id : step.key.id;  // it may be alive on another chip
    RecordCopy event = FreedRecord{step.key.kind, step.pool, kUnmatched, step.key.target, id}.pack();
    event.commit = committed(step.next_sequence());
    if (!step.process.is_restored) {  // else it may well have been allocated while no process listened
        ++step.process.hot.unmatched_frees;
        step.book.note_unmatched(event);
    }
    if (is_said(step)) say(step, said, 0, 0);
}

void MessageRules::say(const Step& step, LineKind said, uint64_t size, uint64_t holders) {
    const std::vector<uint32_t>& chips = step.book.targets()[step.key.target].devices;
    const bool is_kernel =
        said == LineKind::kernel_loaded || said == LineKind::kernel_shrunk || said == LineKind::kernel_unloaded;
    LogLine line{said};
    line.type = is_kernel ? step.key.kind : step.head.buffer_type;
    line.pid = step.process.pid;
    line.device = step.head.device_id;
    line.size = size;
    line.id = step.head.buffer_id;
    if (!chips.empty()) {
        const Device& device = devices_.at(chips[0]);
        line.total = is_kernel ? kernel_bytes(device) : shown(device.cell.pools[TTMEM_CB].used);
    }
    line.holders = holders;
    log_.say(line);
}

// What a process also reports by journal is said from there.
bool MessageRules::is_said(const Step& step) const { return log_.is_on() && step.process.shadowed_by == 0; }

}  // namespace ttmem::server
