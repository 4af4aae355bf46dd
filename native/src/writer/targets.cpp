// Targets: chips and meshes, named once, and what their end means for everything alive on them.
#include <cstring>

#include "traces/traces.hpp"
#include "writer/operations.hpp"

namespace ttmem {
namespace {

std::atomic<uint32_t> naming{0};
uint64_t chip_ids[kTargets];  // of the mesh that is being named, under `naming`: a caller's stack may be small

void copy_name(char (&to)[32], const char* from) noexcept {
    if (from == nullptr) return;
    const size_t length = strnlen(from, sizeof to - 1);
    std::memcpy(to, from, length);
}

bool is_mesh(const Writer& writer, const Target& target) noexcept {
    const uint32_t descriptor = target.descriptor.load(std::memory_order_acquire);
    if (descriptor == 0) return false;
    const auto& head = *reinterpret_cast<const ItemHead*>(writer.arena + uint64_t{descriptor} * 8);
    return ItemWord::unpack(head.head.load(std::memory_order_acquire)).item == Item::mesh;
}

// The target that bears this id already, else the first free place, else 0.
uint16_t place_for(const Writer& writer, uint64_t unique_id, bool wants_mesh) noexcept {
    for (uint16_t i = 1; i < kTargets; ++i) {
        const Target& target = writer.targets[i];
        if (target.state.load(std::memory_order_acquire) == kTargetUnnamed) return i;
        if (target.unique_id.load(std::memory_order_relaxed) == unique_id && is_mesh(writer, target) == wants_mesh)
            return i;
    }
    return 0;
}

/// What a target is described by: a fixed part, and for a mesh its chips.
struct Description {
    Item item;
    const void* head;
    uint32_t head_bytes;
    const uint16_t* chips;
    uint32_t chip_count;
    uint32_t body_bytes() const noexcept { return chip_count * uint32_t{sizeof *chip_ids}; }
};

void look_up_chips(const Writer& writer, const Description& by) noexcept {
    for (uint32_t i = 0; i < by.chip_count; ++i)
        chip_ids[i] =
            by.chips[i] < kTargets ? writer.targets[by.chips[i]].unique_id.load(std::memory_order_relaxed) : 0;
}

// A target that is opened again and again as what it was takes no more room in the arena.
bool is_described_so(const Writer& writer, const Target& target, const Description& by) noexcept {
    const uint32_t descriptor = target.descriptor.load(std::memory_order_acquire);
    if (descriptor == 0) return false;
    const char* item = writer.arena + uint64_t{descriptor} * 8;
    const uint64_t head = reinterpret_cast<const ItemHead*>(item)->head.load(std::memory_order_acquire);
    if (head != ItemWord{by.head_bytes + by.body_bytes(), by.item}.pack()) return false;
    const char* bytes = item + sizeof(ItemHead);
    return std::memcmp(bytes, by.head, by.head_bytes) == 0 &&
           std::memcmp(bytes + by.head_bytes, chip_ids, by.body_bytes()) == 0;
}

uint16_t name_target(uint64_t unique_id, const Description& description) noexcept {
    const Writer& writer = the_writer;
    uint16_t number = 0;
    uint32_t descriptor = 0;
    {
        const RareLock lock(naming);
        if (lock.is_held()) number = place_for(writer, unique_id, description.item == Item::mesh);
        if (number == 0) {
            writer.header->target_refused.fetch_add(1, std::memory_order_relaxed);
            return 0;
        }
        Target& target = writer.targets[number];
        look_up_chips(writer, description);
        descriptor = is_described_so(writer, target, description)
                         ? target.descriptor.load(std::memory_order_relaxed)
                         : add_item(description.item, description.head, description.head_bytes, chip_ids,
                                    description.body_bytes());
        target.unique_id.store(unique_id, std::memory_order_relaxed);
        target.descriptor.store(descriptor, std::memory_order_release);
        target.state.store(kTargetOpen, std::memory_order_release);
    }
    publish_now(TargetOpenedRecord{number, descriptor, unique_id}.pack());
    return number;
}

// An allocation that is under way meanwhile outlives the close: its entry is not in the index yet, and must not be ended
// before it is, or its slot would stay behind.
uint64_t end_lives(const Writer& writer, uint16_t target, uint64_t before) noexcept {
    uint64_t ended = 0;
    const uint64_t high = writer.header->slab_high.load(std::memory_order_acquire);
    for (uint32_t entry = 0; entry < high; ++entry) {
        const Record& record = writer.slab[entry];
        const uint64_t commit = record.commit.load(std::memory_order_acquire);
        if (!is_committed(commit) || commit >= committed(before)) continue;
        if (target_of(record) != target) continue;
        const Tag tag = tag_of(record);
        const Key key{record.id.load(std::memory_order_acquire), target, tag.kind};
        const bool is_indexed = (tag.flags & kIndexed) != 0;
        const Found found = is_indexed ? find(writer, key, hash_of(key)) : Found{};
        if (is_indexed && found.entry != entry) continue;
        RecordCopy words;
        if (!end_life(writer, entry, sequence_of(commit), words)) continue;
        release_entry(writer, entry, words, is_indexed ? &found : nullptr, 0);
        ended += words.is_further() ? 0 : 1;  // no process will free one
    }
    return ended;
}

}  // namespace

uint16_t open_device(const ttmem_device& device) noexcept {
    DeviceDescriptor descriptor{};
    descriptor.unique_id = device.unique_id;
    descriptor.index = device.index;
    descriptor.kernel_ring_bytes = device.kernel_ring_bytes;
    descriptor.grid_x = device.grid_x;
    descriptor.grid_y = device.grid_y;
    descriptor.dram_banks = device.dram_banks;
    descriptor.l1_banks = device.l1_banks;
    std::memcpy(descriptor.capacity_bytes, device.capacity_bytes, sizeof descriptor.capacity_bytes);
    copy_name(descriptor.arch, device.arch);
    copy_name(descriptor.board, device.board);
    return name_target(device.unique_id, {Item::device, &descriptor, sizeof descriptor, nullptr, 0});
}

uint16_t open_mesh(uint64_t mesh_id, uint16_t rows, uint16_t columns, const uint16_t* chips, uint32_t count) noexcept {
    if (chips == nullptr || count == 0 || count > kTargets) {
        the_writer.header->target_refused.fetch_add(1, std::memory_order_relaxed);
        return 0;
    }
    const MeshDescriptor descriptor{mesh_id, rows, columns, count};
    return name_target(mesh_id, {Item::mesh, &descriptor, sizeof descriptor, chips, count});
}

void close_target(uint16_t number) noexcept {
    const Writer& writer = the_writer;
    Target& target = writer.targets[number];
    const uint64_t sequence = take_sequence(writer);
    target.closed_sequence.store(sequence, std::memory_order_release);
    uint32_t open = kTargetOpen;  // one that was never named has no name to keep
    target.state.compare_exchange_strong(open, kTargetClosed, std::memory_order_acq_rel);
    if (have_traces()) drop_traces_of(number);
    const uint64_t ended = end_lives(writer, number, sequence);
    excuse(number, ended);
    end_activity(target);
    const uint64_t unique_id = target.unique_id.load(std::memory_order_relaxed);
    RecordCopy words = TargetClosedRecord{number, ended, unique_id}.pack();
    words.time = raw_now(writer.clock);
    words.set_thread(thread_number());
    publish(writer, sequence, words);
}

void end_everything() noexcept {
    for (uint16_t number = 0; number < kTargets; ++number) {
        const Target& target = the_writer.targets[number];
        uint64_t events = 0;
        for (const PoolCounters& pool : target.pools) events += pool.allocs.load(std::memory_order_relaxed);
        if (events != 0 || target.state.load(std::memory_order_relaxed) == kTargetOpen) close_target(number);
    }
}

}  // namespace ttmem
