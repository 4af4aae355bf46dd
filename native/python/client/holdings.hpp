// What this process holds by the calls of `AllocationClient`: (device, kind of thing, id) -> the journal's handle.
//
// Those calls free by id alone, name a kernel without its type, and may report one buffer from several owners. So each
// thing is remembered here with its size, its type and how many hold it, and is freed by its handle.
//
// Open addressing, a power of two of 32-byte slots, at most a third of them taken; an erase moves its successors up, so
// nothing is left behind by ids that come and go. Only touched under the interpreter lock.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "ttmem/client.h"

namespace ttmem {

enum class Thing : uint8_t { buffer, circular_buffer, kernel };

struct Holding {
    uint64_t id;
    ttmem_handle handle;
    uint64_t size_bytes : 54;
    uint64_t type : 8;
    uint64_t thing : 2;
    int32_t device;
    uint32_t holders;  // 0: an empty slot
};
static_assert(sizeof(Holding) == 32);

inline constexpr uint64_t kHoldingSizeMost = (uint64_t{1} << 54) - 1;

class Holdings {
public:
    /// The holding of a key, or nullptr.
    Holding* find(Thing thing, int32_t device, uint64_t id) noexcept {
        if (used_ == 0) return nullptr;
        Holding& slot = slot_of(thing, device, id);
        return slot.holders != 0 ? &slot : nullptr;
    }

    /// The holding of a key; a new one has no holders yet and must get some. nullptr when there is no memory for it.
    /// When the table must grow, holdings for which `is_over(handle)` is true are dropped.
    template <typename IsOver>
    Holding* find_or_add(Thing thing, int32_t device, uint64_t id, IsOver is_over) noexcept {
        if (__builtin_expect(used_ >= room_, 0) && !grow(is_over)) return nullptr;
        Holding& slot = slot_of(thing, device, id);
        if (slot.holders != 0) return &slot;
        slot = {id, 0, 0, 0, static_cast<uint64_t>(thing) & 3, device, 0};
        ++used_;
        return &slot;
    }

    /// Takes a holding out, and moves what stands behind it to where a search would look first.
    void erase(Holding& holding) noexcept {
        uint64_t hole = static_cast<uint64_t>(&holding - slots_.get());
        for (uint64_t at = (hole + 1) & mask_; slots_[at].holders != 0; at = (at + 1) & mask_) {
            const uint64_t home = home_of(slots_[at]);
            if (((at - home) & mask_) < ((at - hole) & mask_)) continue;  // a search for it begins after the hole
            slots_[hole] = slots_[at];
            hole = at;
        }
        slots_[hole].holders = 0;
        --used_;
    }

    uint64_t size() const noexcept { return used_; }

    void clear() noexcept {
        slots_.reset();
        used_ = room_ = mask_ = 0;
    }

private:
    static uint64_t hash_of(uint64_t thing, int32_t device, uint64_t id) noexcept {
        uint64_t hash = id ^ (uint64_t{static_cast<uint32_t>(device)} << 2 | thing) * 0x9e37'79b9'7f4a'7c15ull;
        hash = (hash ^ hash >> 32) * 0xd6e8'feb8'6659'fd93ull;
        return hash ^ hash >> 32;
    }

    uint64_t home_of(const Holding& holding) const noexcept {
        return hash_of(holding.thing, holding.device, holding.id) & mask_;
    }

    // Where the key is, or the empty slot where it would be.
    Holding& slot_of(Thing thing, int32_t device, uint64_t id) noexcept {
        const auto number = static_cast<uint64_t>(thing);
        uint64_t at = hash_of(number, device, id) & mask_;
        while (true) {
            Holding& slot = slots_[at];
            const bool is_it = slot.id == id && slot.device == device && slot.thing == number;
            if (slot.holders == 0 || is_it) return slot;
            at = (at + 1) & mask_;
        }
    }

    template <typename IsOver>
    bool grow(IsOver is_over) noexcept {
        uint64_t alive = 0;
        for (uint64_t i = 0; i < count(); ++i) alive += slots_[i].holders != 0 && !is_over(slots_[i].handle);
        uint64_t wanted = 4096;
        while (wanted / 6 < alive) wanted *= 2;  // the next growth is far away
        std::unique_ptr<Holding[]> made(new (std::nothrow) Holding[wanted]());
        if (made == nullptr) return false;
        const uint64_t old_count = count();
        const std::unique_ptr<Holding[]> old = std::exchange(slots_, std::move(made));
        mask_ = wanted - 1;
        room_ = wanted / 3;
        used_ = 0;
        for (uint64_t i = 0; i < old_count; ++i) {
            const Holding& kept = old[i];
            if (kept.holders == 0 || is_over(kept.handle)) continue;
            slot_of(static_cast<Thing>(kept.thing), kept.device, kept.id) = kept;
            ++used_;
        }
        return true;
    }

    uint64_t count() const noexcept { return slots_ == nullptr ? 0 : mask_ + 1; }

    std::unique_ptr<Holding[]> slots_;
    uint64_t mask_ = 0;
    uint64_t used_ = 0;
    uint64_t room_ = 0;  // how many may be taken before the table grows
};

}  // namespace ttmem
