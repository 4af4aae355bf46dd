#include "writer/incident_copy.hpp"

#include <algorithm>
#include <functional>

#include "writer/operations.hpp"
#include "writer/pages.hpp"
#include "writer/steps.hpp"

namespace ttmem {
namespace {

constexpr uint32_t kLowestKept = 1024;
constexpr int kTriesToCopy = 8;

// Room to choose in, for each slot, whose owner alone touches it. Nothing of it is in memory before it is needed.
constexpr uint32_t kKeys = 2 * kIncidentEntries;
uint64_t chosen_keys[kIncidentSlots][kKeys];

// Of entries that come one after the other the `most` with the highest keys. A key's lowest bits are the entry.
class Choice {
public:
    static constexpr uint32_t kEntryBits = 20;
    static_assert(kTableMost <= 1u << kEntryBits);

    Choice(uint64_t* keys, uint32_t most) noexcept : keys_(keys), most_(most) {}

    void offer(uint64_t value, uint32_t entry) noexcept {
        const uint64_t key = value << kEntryBits | entry;
        if (key < least_) return;
        keys_[count_++] = key;
        if (count_ == kKeys) forget_lowest();
    }

    /// The key of the last that was chosen: all of these are at or above it.
    uint64_t settle() noexcept {
        if (count_ > most_) forget_lowest();
        return count_ < most_ ? 0 : least_of_all();
    }
    uint32_t count() const noexcept { return count_; }
    uint32_t entry(uint32_t i) const noexcept { return static_cast<uint32_t>(keys_[i] & ((1u << kEntryBits) - 1)); }

private:
    void forget_lowest() noexcept {
        std::nth_element(keys_, keys_ + most_, keys_ + count_, std::greater<uint64_t>());
        count_ = most_;
        least_ = least_of_all();
    }
    uint64_t least_of_all() const noexcept {
        return most_ == 0 ? ~uint64_t{0} : *std::min_element(keys_, keys_ + count_);
    }

    uint64_t* keys_;
    uint32_t most_, count_ = 0;
    uint64_t least_ = 0;
};

// Lower addresses have higher values. What lies above 2^43 lies as low as that.
constexpr uint64_t kHighestAddress = (1ull << 43) - 1;
uint64_t lowness(const Words& words) noexcept {
    return kHighestAddress - std::min(words.buffer_address(), kHighestAddress);
}

// An entry that may be alive and matters, its commit word unchanged while its words were read.
bool read_alive(const Writer& writer, uint32_t entry, const Concerned& concerned, Words& words) noexcept {
    const Record& record = writer.slab[entry];
    for (int tries = 0; tries < kTriesToCopy; ++tries) {
        const uint64_t commit = record.commit.load(std::memory_order_acquire);
        if (!is_committed(commit) || !concerned.has(record)) return false;
        copy_words(record, words);
        TTMEM_TEST_YIELD(entry_copied);
        if (record.commit.load(std::memory_order_acquire) != commit) continue;
        words.commit = commit;
        const uint64_t closed = writer.targets[words.target()].closed_sequence.load(std::memory_order_relaxed);
        return words.sequence() >= closed && !is_bookkeeping(words);
    }
    return false;  // it changes hands all the time
}

template <typename See>
void each_alive(const Writer& writer, const Concerned& concerned, See see) noexcept {
    const auto high = static_cast<uint32_t>(
        std::min<uint64_t>(writer.header->slab_high.load(std::memory_order_acquire), writer.table));
    for (uint32_t entry = 0; entry < high; ++entry) {
        Words words;
        if (read_alive(writer, entry, concerned, words)) see(words, entry);
    }
}

// The copies of one slot, written from the first on; pages are asked for as it grows.
class Page {
public:
    Page(const Writer& writer, uint32_t slot) noexcept
        : offset_(writer.header->identity.copies_offset + uint64_t{slot} * kIncidentEntries * sizeof(Record)),
          entries_(reinterpret_cast<Record*>(reinterpret_cast<char*>(writer.header) + offset_)) {}

    /// False where the file system has no room for it, or the copy is full.
    bool add(const Words& words) noexcept {
        if (count_ == kIncidentEntries) return false;
        if (count_ == room_ && !grow()) return false;
        Record& to = entries_[count_];
        to.commit.store(words.commit, std::memory_order_relaxed);
        to.time.store(words.time, std::memory_order_relaxed);
        to.tag.store(words.tag, std::memory_order_relaxed);
        to.id.store(words.id, std::memory_order_relaxed);
        to.address.store(words.address, std::memory_order_relaxed);
        to.reserved.store(words.reserved, std::memory_order_relaxed);
        to.requested.store(words.requested, std::memory_order_relaxed);
        to.per_bank.store(words.per_bank, std::memory_order_relaxed);
        ++count_;
        return true;
    }
    void begin_anew() noexcept { count_ = 0; }
    uint32_t count() const noexcept { return count_; }
    bool is_refused() const noexcept { return is_refused_; }

private:
    bool grow() noexcept {
        constexpr uint32_t kFirst = kPage / sizeof(Record);
        const uint32_t room = room_ == 0 ? kFirst : std::min(room_ * 8, kIncidentEntries);
        is_refused_ = is_refused_ || !ask_for_pages(offset_, uint64_t{room} * sizeof(Record));
        if (!is_refused_) room_ = room;
        return !is_refused_;
    }

    uint64_t offset_;
    Record* entries_;
    uint32_t count_ = 0, room_ = 0;
    bool is_refused_ = false;
};

// Chosen entries may have ended meanwhile: what is alive in their place now is as good.
uint64_t add_chosen(const Writer& writer, const Concerned& concerned, const Choice& choice, Page& page) noexcept {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < choice.count(); ++i) {
        Words words;
        if (read_alive(writer, choice.entry(i), concerned, words) && page.add(words)) bytes += words.reserved_bytes();
    }
    return bytes;
}

// More is alive than there is room for. Two more looks at what is alive, for which nothing need be remembered but keys.
uint64_t choose(const Writer& writer, uint32_t slot, const Concerned& concerned, Page& page) noexcept {
    page.begin_anew();
    uint64_t bytes = 0, last_low = ~uint64_t{0};
    if (concerned.is_in_l1()) {
        Choice lowest(chosen_keys[slot], kLowestKept);
        each_alive(writer, concerned, [&](const Words& words, uint32_t entry) noexcept {
            if (words.pool() == TTMEM_L1) lowest.offer(lowness(words), entry);
        });
        last_low = lowest.settle();
        bytes += add_chosen(writer, concerned, lowest, page);
    }
    Choice largest(chosen_keys[slot], kIncidentEntries - page.count());
    each_alive(writer, concerned, [&](const Words& words, uint32_t entry) noexcept {
        const bool is_low = words.pool() == TTMEM_L1 && (lowness(words) << Choice::kEntryBits | entry) >= last_low;
        if (!is_low) largest.offer(words.reserved_bytes(), entry);
    });
    largest.settle();
    return bytes + add_chosen(writer, concerned, largest, page);
}

bool is_chip_of(const Writer& writer, uint32_t mesh_descriptor, uint64_t unique_id) noexcept {
    const char* item = writer.arena + uint64_t{mesh_descriptor} * 8;
    const uint64_t head = reinterpret_cast<const ItemHead*>(item)->head.load(std::memory_order_acquire);
    if (mesh_descriptor == 0 || static_cast<Item>(head >> 32) != Item::mesh) return false;
    const char* bytes = item + sizeof(ItemHead);
    const uint32_t count = reinterpret_cast<const MeshDescriptor*>(bytes)->chip_count;
    const auto* chips = reinterpret_cast<const uint64_t*>(bytes + sizeof(MeshDescriptor));
    return std::find(chips, chips + count, unique_id) != chips + count;
}

bool is_mesh_descriptor(const Writer& writer, uint32_t descriptor) noexcept {
    const char* item = writer.arena + uint64_t{descriptor} * 8;
    const uint64_t head = reinterpret_cast<const ItemHead*>(item)->head.load(std::memory_order_acquire);
    return descriptor != 0 && static_cast<Item>(head >> 32) == Item::mesh;
}

}  // namespace

Concerned::Concerned(const Writer& writer, uint8_t kind, uint8_t pool, uint16_t target) noexcept {
    constexpr uint32_t kOfL1 = 1u << TTMEM_L1 | 1u << TTMEM_L1_SMALL | 1u << TTMEM_CB;
    is_in_l1_ = kind == TTMEM_INCIDENT_CLASH || (kOfL1 >> pool & 1) != 0;
    pools_ = is_in_l1_ ? kOfL1 : 1u << pool;
    add_target(target);
    const uint32_t own = writer.targets[target].descriptor.load(std::memory_order_acquire);
    const uint64_t own_id = writer.targets[target].unique_id.load(std::memory_order_relaxed);
    const bool is_mesh = is_mesh_descriptor(writer, own);
    for (uint16_t other = 1; other < kTargets && own != 0; ++other) {
        const Target& one = writer.targets[other];
        if (one.state.load(std::memory_order_acquire) == kTargetUnnamed) break;
        const uint32_t descriptor = one.descriptor.load(std::memory_order_acquire);
        if (is_mesh_descriptor(writer, descriptor) == is_mesh) continue;
        const bool is_shared = is_mesh ? is_chip_of(writer, own, one.unique_id.load(std::memory_order_relaxed))
                                       : is_chip_of(writer, descriptor, own_id);
        if (is_shared) add_target(other);
    }
}

CopyMade copy_alive(const Writer& writer, uint32_t slot, const Concerned& concerned) noexcept {
    Page page(writer, slot);
    uint64_t alive = 0, bytes = 0, kept = 0;
    each_alive(writer, concerned, [&](const Words& words, uint32_t) noexcept {
        ++alive;
        bytes += words.reserved_bytes();
        if (page.add(words)) kept += words.reserved_bytes();
    });
    CopyMade made;
    if (alive > kIncidentEntries && !page.is_refused()) kept = choose(writer, slot, concerned, page);
    made.has_pages = !page.is_refused();
    made.entries = made.has_pages ? page.count() : 0;
    if (!made.has_pages) kept = 0;
    made.left_out = alive > made.entries ? alive - made.entries : 0;
    made.left_out_bytes = bytes > kept && made.left_out != 0 ? bytes - kept : 0;
    return made;
}

}  // namespace ttmem
