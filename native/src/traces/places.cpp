#include "traces/places.hpp"

#include <algorithm>

namespace ttmem {
namespace {

struct ChipIds {
    const uint64_t* ids = nullptr;
    uint32_t count = 0;
    bool has(uint64_t id) const noexcept { return std::find(ids, ids + count, id) != ids + count; }
};

// Of a chip its own; none if no process described the target. `own` is where a chip's lies.
ChipIds chips_of(const Writer& writer, uint16_t number, uint64_t& own) noexcept {
    const Target& target = writer.targets[number];
    const uint32_t descriptor = target.descriptor.load(std::memory_order_acquire);
    uint32_t bytes = 0;
    if (const char* mesh = item_at(writer, descriptor, Item::mesh, bytes))
        return {reinterpret_cast<const uint64_t*>(mesh + sizeof(MeshDescriptor)),
                reinterpret_cast<const MeshDescriptor*>(mesh)->chip_count};
    own = target.unique_id.load(std::memory_order_relaxed);
    return {&own, target.state.load(std::memory_order_acquire) == kTargetUnnamed ? 0u : 1u};
}

bool share_chip(const Writer& writer, uint16_t one, uint16_t other) noexcept {
    if (one == other) return true;
    uint64_t own_one = 0, own_other = 0;
    const ChipIds chips = chips_of(writer, one, own_one), others = chips_of(writer, other, own_other);
    return std::any_of(chips.ids, chips.ids + chips.count, [&](uint64_t id) noexcept { return others.has(id); });
}

// ---- cores, as "0,0-7,7;0,8-3,8": rectangles with their corners, or single cores

struct Rectangle {
    uint32_t left, top, right, bottom;
    bool meets(const Rectangle& other) const noexcept {
        return left <= other.right && other.left <= right && top <= other.bottom && other.top <= bottom;
    }
};

class CoreReader {
public:
    CoreReader(const char* text, uint32_t bytes) noexcept : at_(text), end_(text + bytes) {}
    /// False at the end, and where the text is something else: then `is_clear()` is false.
    bool next(Rectangle& rectangle) noexcept {
        if (at_ == end_ || !is_clear_) return false;
        rectangle.left = number();
        expect(',');
        rectangle.top = number();
        rectangle.right = rectangle.left;
        rectangle.bottom = rectangle.top;
        if (at_ != end_ && *at_ == '-') {
            ++at_;
            rectangle.right = number();
            expect(',');
            rectangle.bottom = number();
        }
        if (at_ != end_) expect(';');
        return is_clear_;
    }
    bool is_clear() const noexcept { return is_clear_; }

private:
    uint32_t number() noexcept {
        uint32_t value = 0;
        const char* first = at_;
        for (; at_ != end_ && *at_ >= '0' && *at_ <= '9' && value < 1u << 16; ++at_)
            value = value * 10 + static_cast<uint32_t>(*at_ - '0');
        is_clear_ = is_clear_ && at_ != first;
        return value;
    }
    void expect(char wanted) noexcept {
        is_clear_ = is_clear_ && at_ != end_ && *at_ == wanted;
        if (is_clear_) ++at_;
    }

    const char* at_;
    const char* end_;
    bool is_clear_ = true;
};

// What cannot be read may be anywhere.
bool share_core(const Writer& writer, uint32_t one, uint32_t other) noexcept {
    if (one == other || one == 0 || other == 0) return true;
    uint32_t one_bytes = 0, other_bytes = 0;
    const char* one_text = item_at(writer, one, Item::text, one_bytes);
    const char* other_text = item_at(writer, other, Item::text, other_bytes);
    if (one_text == nullptr || other_text == nullptr) return true;
    Rectangle here{}, there{};
    CoreReader ours(one_text, one_bytes);
    while (ours.next(here)) {
        CoreReader theirs(other_text, other_bytes);
        while (theirs.next(there))
            if (here.meets(there)) return true;
        if (!theirs.is_clear()) return true;
    }
    return !ours.is_clear();
}

// How many banks share the bytes of a buffer; 0 unknown.
uint32_t banks_of(const Writer& writer, uint16_t number, TraceMemory memory) noexcept {
    uint64_t own = 0;
    const ChipIds chips = chips_of(writer, number, own);
    for (uint16_t i = 1; i < kTargets && chips.count != 0; ++i) {
        const Target& chip = writer.targets[i];
        if (chip.state.load(std::memory_order_acquire) == kTargetUnnamed) break;
        uint32_t bytes = 0;
        const char* item = item_at(writer, chip.descriptor.load(std::memory_order_acquire), Item::device, bytes);
        if (item == nullptr || chip.unique_id.load(std::memory_order_relaxed) != chips.ids[0]) continue;
        const auto& device = *reinterpret_cast<const DeviceDescriptor*>(item);
        return memory == TraceMemory::dram ? device.dram_banks : device.l1_banks;
    }
    return 0;
}

bool memory_of(uint8_t pool, TraceMemory& memory) noexcept {
    const bool is_dram = pool == TTMEM_DRAM || pool == TTMEM_TRACE;
    memory = is_dram ? TraceMemory::dram : TraceMemory::l1;
    return is_dram || pool == TTMEM_L1 || pool == TTMEM_L1_SMALL || pool == TTMEM_CB;
}

uint64_t bytes_in_bank(const Writer& writer, const RecordCopy& words, Extent& extent) noexcept {
    if (is_circular_buffer(words.kind())) return words.per_bank_bytes();
    if (words.is_by_core()) return words.per_core_bytes();
    const bool is_known = is_buffer(words.kind()) && words.per_bank_bytes() != 0;
    if (is_known) return words.per_bank_bytes();
    const uint32_t banks = banks_of(writer, words.target(), extent.place.memory);
    extent.is_bound = banks == 0;
    return banks == 0 ? words.reserved_bytes() : (words.reserved_bytes() + banks - 1) / banks;
}

}  // namespace

bool extent_of(const Writer& writer, const RecordCopy& words, Extent& extent) noexcept {
    const bool is_circular = is_circular_buffer(words.kind()), is_program = words.kind() == TTMEM_PROGRAM_BINARY;
    if (!is_circular && !is_program && !is_buffer(words.kind())) return false;
    if ((words.flags() & kView) != 0 || !memory_of(words.pool(), extent.place.memory)) return false;
    extent.place.target = words.target();
    extent.place.is_circular = is_circular;
    extent.is_bound = false;
    if (is_circular) {
        const CircularBufferRecord cb = CircularBufferRecord::unpack(words);
        extent.begin = cb.address;
        extent.place.core_set = cb.core_set;
    } else {
        extent.begin = is_program ? words.site() : words.buffer_address();
        extent.place.core_set = words.is_by_core() ? words.core_set() : 0;
    }
    extent.end = extent.begin + bytes_in_bank(writer, words, extent);
    return extent.begin != 0 && extent.begin < extent.end;
}

bool is_within(const Writer& writer, uint16_t inner, uint16_t outer) noexcept {
    if (inner == outer) return true;
    uint64_t own_inner = 0, own_outer = 0;
    const ChipIds chips = chips_of(writer, inner, own_inner), others = chips_of(writer, outer, own_outer);
    return chips.count != 0 &&
           std::all_of(chips.ids, chips.ids + chips.count, [&](uint64_t id) noexcept { return others.has(id); });
}

bool may_meet(const Writer& writer, const TracePlace& one, const TracePlace& other) noexcept {
    return one.memory == other.memory && share_core(writer, one.core_set, other.core_set) &&
           share_chip(writer, one.target, other.target);
}

}  // namespace ttmem
