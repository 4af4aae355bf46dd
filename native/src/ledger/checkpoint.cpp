#include "ledger/checkpoint.hpp"

#include <algorithm>
#include <cstring>

#include "journal/clock.hpp"
#include "journal/identity.hpp"

namespace ttmem {
namespace {

constexpr char kCheckpointMagic[8] = {'T', 'T', 'M', 'E', 'M', 'C', 'P', '1'};
constexpr uint32_t kCheckpointVersion = 2;
constexpr uint64_t kSeed = 0xcbf2'9ce4'8422'2325ull;

uint64_t mixed(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9e37'79b9'7f4a'7c15ull;
    return hash ^ hash >> 29;
}

uint64_t mixed_words(uint64_t hash, const char* bytes, size_t size) {
    for (; size >= 8; bytes += 8, size -= 8) {
        uint64_t word = 0;
        std::memcpy(&word, bytes, 8);
        hash = mixed(hash, word);
    }
    return mixed(hash, size);  // heads and bodies consist of whole words
}

// Of the head, but for the checksum itself, and of the body.
uint64_t checksum_of(CheckpointHead head, const char* body, size_t body_bytes) {
    head.checksum = 0;
    const uint64_t hash = mixed_words(kSeed, reinterpret_cast<const char*>(&head), sizeof head);
    return mixed_words(hash, body, body_bytes);
}

struct Kept {
    CheckpointProcess facts;
    std::vector<int32_t> chips;
    std::vector<RecordCopy> entries;
};

size_t chip_bytes(uint64_t count) { return (count * sizeof(int32_t) + 7) / 8 * 8; }

template <typename Thing>
void append(std::string& bytes, const Thing& thing) {
    bytes.append(reinterpret_cast<const char*>(&thing), sizeof thing);
}

void append_process(std::string& bytes, const Process& process) {
    const std::vector<int32_t>& chips = process.server_targets.ids();
    CheckpointProcess facts{};
    facts.pid = process.pid;
    facts.uid = process.uid;
    facts.start_ticks = process.start_ticks;
    facts.started_ns = process.started_ns;
    facts.sequence = process.sequence;
    facts.event_count = process.event_count;
    facts.claimed_pid = process.claimed_pid;
    std::memcpy(facts.command, process.command.data(), std::min(process.command.size(), sizeof facts.command - 1));
    facts.chip_count = static_cast<uint32_t>(chips.size());
    facts.entry_count = process.book.table().size();
    append(bytes, facts);
    for (const int32_t chip : chips) append(bytes, chip);
    bytes.append(chip_bytes(chips.size()) - chips.size() * sizeof(int32_t), '\0');
    process.book.table().for_each([&](const RecordCopy& entry) { append(bytes, entry); });
}

// Reads what a checkpoint holds without ever passing its end.
class Reader {
public:
    Reader(const char* at, size_t size) : at_(at), left_(size) {}
    bool read(void* to, size_t bytes, size_t padded) {
        if (padded > left_) return false;
        if (bytes != 0) std::memcpy(to, at_, bytes);
        at_ += padded;
        left_ -= padded;
        return true;
    }
    size_t left() const { return left_; }

private:
    const char* at_;
    size_t left_;
};

bool read_process(Reader& reader, Kept& kept) {
    if (!reader.read(&kept.facts, sizeof kept.facts, sizeof kept.facts)) return false;
    const CheckpointProcess& facts = kept.facts;
    if (facts.chip_count > ServerTargets::kMost + 1 || facts.entry_count > reader.left() / sizeof(RecordCopy))
        return false;
    if (chip_bytes(facts.chip_count) > reader.left()) return false;
    kept.facts.command[sizeof facts.command - 1] = '\0';
    kept.chips.resize(facts.chip_count);
    if (!reader.read(kept.chips.data(), facts.chip_count * sizeof(int32_t), chip_bytes(facts.chip_count))) return false;
    if (facts.entry_count > reader.left() / sizeof(RecordCopy)) return false;
    kept.entries.resize(facts.entry_count);
    return reader.read(kept.entries.data(), facts.entry_count * sizeof(RecordCopy),
                       facts.entry_count * sizeof(RecordCopy));
}

bool is_sound(const RecordCopy& entry, size_t chip_count) {
    const bool is_kind = entry.kind() == TTMEM_BUFFER || entry.kind() == TTMEM_CIRCULAR_BUFFER ||
                         (entry.kind() >= TTMEM_KERNEL_APPLICATION && entry.kind() <= TTMEM_KERNEL_DISPATCH) ||
                         entry.kind() == TTMEM_KERNEL_UNKNOWN;
    return is_kind && entry.pool() < kPools && entry.target() < chip_count && entry.reserved_bytes() <= kSizeMost &&
           entry.requested_bytes() <= kSizeMost && entry.per_bank_bytes() != 0;
}

void bring_back(Collector& collector, const Kept& kept, uint64_t now_ns) {
    Process& process = collector.admit(Way::socket);
    const CheckpointProcess& facts = kept.facts;
    process.pid = facts.pid;
    process.uid = facts.uid;
    process.start_ticks = facts.start_ticks;
    process.started_ns = facts.started_ns;
    process.sequence = facts.sequence;
    process.event_count = facts.event_count;
    process.claimed_pid = facts.claimed_pid;
    process.command = facts.command;
    process.is_restored = process.is_late = true;
    for (size_t i = 1; i < kept.chips.size(); ++i) {
        const bool is_new = kept.chips[i] >= 0 && process.server_targets.find(kept.chips[i]) == ServerTargets::kUnknown;
        const uint16_t number = process.server_targets.add(is_new ? kept.chips[i] : -1);
        process.book.open_server_chip(number, is_new ? kept.chips[i] : -1, now_ns);
    }
    for (RecordCopy entry : kept.entries) {
        const uint32_t hash = entry_hash(entry_key(entry));
        if (!is_sound(entry, kept.chips.size()) || process.book.table().find(entry_key(entry)) != nullptr) continue;
        if (entry.target() == ServerTargets::kUnknown)
            process.book.open_server_chip(ServerTargets::kUnknown, -1, now_ns);
        process.sequence = std::max(process.sequence, entry.sequence());
        if (entry.kind() >= TTMEM_KERNEL_APPLICATION) process.kernel_kinds |= 1u << entry.kind();
        entry.add_flags(kExcused);  // it is unknown what became of it meanwhile
        process.book.begin(entry, hash, now_ns);
    }
    process.book.touch(now_ns);
}

std::string trouble_with(const std::string& bytes, CheckpointHead& head) {
    if (bytes.size() < sizeof head) return "it is shorter than a checkpoint's head";
    std::memcpy(&head, bytes.data(), sizeof head);
    if (std::memcmp(head.magic, kCheckpointMagic, sizeof head.magic) != 0) return "it is no checkpoint";
    if (head.version != kCheckpointVersion)
        return "it is of version " + std::to_string(head.version) + ", this program reads version " +
               std::to_string(kCheckpointVersion);
    if (head.body_bytes != bytes.size() - sizeof head || head.body_bytes % 8 != 0) return "it was cut short";
    if (head.checksum != checksum_of(head, bytes.data() + sizeof head, bytes.size() - sizeof head))
        return "its checksum is wrong";
    return {};
}

}  // namespace

const std::string& Checkpoint::take() {
    CheckpointHead head{};
    const auto is_kept = [](const Process& process) {
        return process.way == Way::socket && !process.is_over() && process.is_visible;
    };
    bytes_.clear();  // its room is kept: a fresh one would cost more than the copy
    {
        const auto held = collector_.hold();
        uint64_t state = kSeed;
        for (const auto& process : collector_.processes())
            if (is_kept(*process)) state = mixed(mixed(state, process->key), process->sequence);
        if (state == last_) return bytes_;
        last_ = state;
        bytes_.resize(sizeof head);
        for (const auto& process : collector_.processes()) {
            if (!is_kept(*process)) continue;
            append_process(bytes_, *process);
            ++head.process_count;
        }
    }
    std::memcpy(head.magic, kCheckpointMagic, sizeof head.magic);
    head.version = kCheckpointVersion;
    Identity self{};
    identify_self(self);
    std::memcpy(head.boot_id, self.boot_id, sizeof head.boot_id);
    head.time_ns = nanoseconds(CLOCK_REALTIME);
    head.body_bytes = bytes_.size() - sizeof head;
    head.checksum = checksum_of(head, bytes_.data() + sizeof head, head.body_bytes);
    std::memcpy(bytes_.data(), &head, sizeof head);
    return bytes_;
}

uint32_t Checkpoint::restore(const std::string& bytes, std::string& error) {
    CheckpointHead head{};
    error = trouble_with(bytes, head);
    if (!error.empty()) return 0;
    Identity self{};
    identify_self(self);
    if (std::memcmp(head.boot_id, self.boot_id, sizeof head.boot_id) != 0) return 0;  // all of them are gone
    Reader reader(bytes.data() + sizeof head, bytes.size() - sizeof head);
    const auto held = collector_.hold();
    const uint64_t now_ns = nanoseconds(CLOCK_REALTIME);
    uint32_t count = 0;
    for (uint32_t i = 0; i < head.process_count; ++i) {
        Kept kept{};
        if (!read_process(reader, kept)) {
            error = "its process " + std::to_string(i) + " passes its end";
            break;
        }
        const auto pid = static_cast<pid_t>(kept.facts.pid);
        if (pid <= 0 || kept.facts.start_ticks == 0 || start_ticks_of(pid) != kept.facts.start_ticks) continue;
        const auto& all = collector_.processes();
        const auto is_there = [&](const auto& one) {
            return one->way == Way::socket && !one->is_over() && one->pid == kept.facts.pid;
        };
        if (std::any_of(all.begin(), all.end(), is_there)) continue;
        bring_back(collector_, kept, now_ns);
        collector_.pair_ways(*all.back());
        ++count;
    }
    return count;
}

}  // namespace ttmem
