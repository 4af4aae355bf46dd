#include "writer/incident_copy.hpp"

#include <algorithm>
#include <functional>

#include "writer/operations.hpp"
#include "writer/pages.hpp"
#include "writer/steps.hpp"

namespace ttmem {
namespace {

constexpr uint32_t kLowestListed = 1024;
constexpr int kTriesToCopy = 8;

// Of entries that come one after the other the `most` with the highest keys. A key's lowest bits are the entry.
class Choice {
public:
    static constexpr uint32_t kEntryBits = 20;
    static_assert(kTableMost <= 1u << kEntryBits);

    Choice(uint64_t* keys, uint32_t room, uint32_t most) noexcept : keys_(keys), room_(room), most_(most) {}

    [[gnu::always_inline]] void offer(uint64_t value, uint32_t entry) noexcept {
        const uint64_t key = value << kEntryBits | entry;
        if (key < least_) return;
        keys_[count_++] = key;
        if (__builtin_expect(count_ == room_, 0)) forget_lowest();
    }
    /// No more than `most` are left.
    void settle(uint32_t most) noexcept {
        most_ = most;
        if (count_ > most_) forget_lowest();
    }
    /// Leaves out those that another choice has; entries of that one are in order.
    void leave_out(const Choice& other) noexcept {
        count_ = static_cast<uint32_t>(
            std::remove_if(keys_, keys_ + count_, [&](uint64_t key) { return other.has(entry_of(key)); }) - keys_);
    }
    void sort_by_entry() noexcept {
        std::sort(keys_, keys_ + count_, [](uint64_t a, uint64_t b) { return entry_of(a) < entry_of(b); });
    }
    uint32_t count() const noexcept { return count_; }
    uint32_t entry(uint32_t i) const noexcept { return entry_of(keys_[i]); }

private:
    static uint32_t entry_of(uint64_t key) noexcept { return static_cast<uint32_t>(key & ((1u << kEntryBits) - 1)); }
    bool has(uint32_t entry) const noexcept {
        return std::binary_search(keys_, keys_ + count_, uint64_t{entry},
                                  [](uint64_t a, uint64_t b) { return entry_of(a) < entry_of(b); });
    }
    __attribute__((noinline)) void forget_lowest() noexcept {
        std::nth_element(keys_, keys_ + most_, keys_ + count_, std::greater<uint64_t>());
        least_ = keys_[most_];  // no less is asked for any more
        count_ = most_;
    }

    uint64_t* keys_;
    uint32_t room_, most_, count_ = 0;
    uint64_t least_ = 0;
};

// Room to choose in, for each slot, whose owner alone touches it. Nothing of it is in memory before it is needed.
constexpr uint32_t kLowKeys = 4 * kLowestListed, kSizeKeys = 4 * kIncidentEntries;
struct Keys {
    uint64_t lowest[kLowKeys], largest[kSizeKeys];
};
Keys keys_of_slots[kIncidentSlots];

// How many entries of a slot's copy have pages already, and in which journal: its owner need not ask again.
struct Given {
    uint32_t generation, entries;
};
Given given_to_slots[kIncidentSlots];

// Lower addresses have higher values. What lies above 2^43 lies as low as that.
constexpr uint64_t kHighestAddress = (1ull << 43) - 1;
uint64_t lowness(const RecordCopy& words) noexcept {
    return kHighestAddress - std::min(words.buffer_address(), kHighestAddress);
}

// An entry that may be alive and matters, its commit word unchanged while its words were read.
bool read_alive(const Writer& writer, uint32_t entry, const Concerned& concerned, RecordCopy& words) noexcept {
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

// From the end: L1 is handed out from above, so what came last is the lowest, and little that comes after it is chosen.
template <typename See>
void each_alive(const Writer& writer, const Concerned& concerned, uint32_t high, See see) noexcept {
    constexpr uint32_t kAhead = 16;
    for (uint32_t entry = high; entry-- != 0;) {
        __builtin_prefetch(&writer.slab[entry > kAhead ? entry - kAhead : 0]);
        RecordCopy words;
        if (read_alive(writer, entry, concerned, words)) see(words, entry);
    }
}

// The copies of one slot, written from the first on; pages are asked for as it grows.
class Page {
public:
    Page(const Writer& writer, uint32_t slot) noexcept
        : offset_(writer.header->identity.copies_offset + uint64_t{slot} * kIncidentEntries * sizeof(Record)),
          entries_(reinterpret_cast<Record*>(reinterpret_cast<char*>(writer.header) + offset_)),
          given_(given_to_slots[slot]) {
        if (given_.generation != writer.generation) given_ = {writer.generation, 0};
    }

    /// False where the file system has no room for it, or the copy is full.
    bool add(const RecordCopy& words) noexcept {
        if (count_ == kIncidentEntries) return false;
        if (count_ == given_.entries && !grow()) return false;
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
    void start_over() noexcept { count_ = 0; }
    uint32_t count() const noexcept { return count_; }
    bool is_refused() const noexcept { return is_refused_; }

private:
    bool grow() noexcept {
        constexpr uint32_t kFirst = kPage / sizeof(Record);
        const uint32_t given = given_.entries;
        const uint32_t room = given == 0 ? kFirst : std::min(given * 8, kIncidentEntries);
        is_refused_ = is_refused_ || !ask_for_pages(offset_ + uint64_t{given} * sizeof(Record),
                                                    uint64_t{room - given} * sizeof(Record));
        if (!is_refused_) given_.entries = room;
        return !is_refused_;
    }

    uint64_t offset_;
    Record* entries_;
    Given& given_;
    uint32_t count_ = 0;
    bool is_refused_ = false;
};

// Chosen entries may have ended meanwhile: what is alive in their place now is as good.
uint64_t add_chosen(const Writer& writer, const Concerned& concerned, const Choice& choice, Page& page) noexcept {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < choice.count(); ++i) {
        RecordCopy words;
        if (read_alive(writer, choice.entry(i), concerned, words) && page.add(words)) bytes += words.reserved_bytes();
    }
    return bytes;
}

// More is alive than there is room for. What was chosen as largest has all that is not among the lowest.
uint64_t add_chosen(const Writer& writer, const Concerned& concerned, Choice& lowest, Choice& largest,
                    Page& page) noexcept {
    page.start_over();
    lowest.settle(kLowestListed);
    lowest.sort_by_entry();
    largest.settle(kIncidentEntries);
    largest.leave_out(lowest);
    largest.settle(kIncidentEntries - lowest.count());
    const uint64_t bytes = add_chosen(writer, concerned, lowest, page);
    return bytes + add_chosen(writer, concerned, largest, page);
}

bool is_chip_of(const Writer& writer, uint32_t mesh_descriptor, uint64_t unique_id) noexcept {
    uint32_t bytes = 0;
    const char* mesh = item_at(writer, mesh_descriptor, Item::mesh, bytes);
    if (mesh == nullptr) return false;
    const uint32_t count = reinterpret_cast<const MeshDescriptor*>(mesh)->chip_count;
    const auto* chips = reinterpret_cast<const uint64_t*>(mesh + sizeof(MeshDescriptor));
    return std::find(chips, chips + count, unique_id) != chips + count;
}

bool is_mesh_descriptor(const Writer& writer, uint32_t descriptor) noexcept {
    uint32_t bytes = 0;
    return item_at(writer, descriptor, Item::mesh, bytes) != nullptr;
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
    const auto high = static_cast<uint32_t>(
        std::min<uint64_t>(writer.header->slab_high.load(std::memory_order_acquire), writer.table));
    const bool may_be_too_many = high > kIncidentEntries;
    Choice lowest(keys_of_slots[slot].lowest, kLowKeys, kLowestListed);
    Choice largest(keys_of_slots[slot].largest, kSizeKeys, kIncidentEntries);
    Page page(writer, slot);
    uint64_t alive = 0, bytes = 0, kept = 0;
    each_alive(writer, concerned, high, [&](const RecordCopy& words, uint32_t entry) noexcept {
        ++alive;
        bytes += words.reserved_bytes();
        if (page.add(words)) kept += words.reserved_bytes();
        if (!may_be_too_many) return;
        if (concerned.is_in_l1() && words.pool() == TTMEM_L1) lowest.offer(lowness(words), entry);
        largest.offer(words.reserved_bytes(), entry);
    });
    CopyMade made;
    if (alive > kIncidentEntries && !page.is_refused()) kept = add_chosen(writer, concerned, lowest, largest, page);
    made.has_pages = !page.is_refused();
    made.entries = made.has_pages ? page.count() : 0;
    if (!made.has_pages) kept = 0;
    made.left_out = alive > made.entries ? alive - made.entries : 0;
    made.left_out_bytes = bytes > kept && made.left_out != 0 ? bytes - kept : 0;
    return made;
}

}  // namespace ttmem
