// Where this library remembers what it reported: fixed tables in one piece of memory that is made at first use.
//
// A forked child finds the piece empty (MADV_WIPEONFORK), as its journal is: what its parent reported is not its own. So
// all zeros means empty everywhere here. Nothing waits for anybody:
//
//   word            writer                                       readers
//   key of a slot   the thread that puts it, if 0               any
//   slot            the thread that works on what the key names  the same; the runtime lets one thread do that at a time
//   free cells      any, by exchanging head and count at once    any
//   handle's key    the thread that claims it, if it was 0; 0 by  any
//                   the one who frees what the key names
//   handle          who claimed the place                        who frees what the key names, which the runtime orders
//
// Memory is taken page by page as slots come to be used. What finds no place is not reported, and counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

namespace ttmem::hook {

/// A place for each of at most `Size` keys; a key lies within `kWindow` places of where its hash points.
template <class Slot, uint32_t Size>
class Table {
public:
    Slot* find(uint64_t key) noexcept {
        const uint32_t home = home_of(key);
        if (__builtin_expect(keys_[home].load(std::memory_order_acquire) == key, 1)) return &slots_[home];
        return find_beyond(key, home);
    }

    /// A zeroed slot for a key that is not there yet (nor 0); null if there is no room.
    Slot* add(uint64_t key) noexcept {
        const uint32_t home = home_of(key);
        for (uint32_t i = home; i < home + kWindow; ++i) {
            uint64_t empty = 0;
            if (keys_[i].load(std::memory_order_relaxed) == 0 &&
                keys_[i].compare_exchange_strong(empty, key, std::memory_order_acq_rel))
                return &slots_[i];
        }
        return nullptr;
    }

    Slot* find_or_add(uint64_t key) noexcept {
        Slot* found = find(key);
        return found != nullptr ? found : add(key);
    }

    void remove(Slot* slot) noexcept {
        std::memset(static_cast<void*>(slot), 0, sizeof *slot);
        keys_[slot - slots_].store(0, std::memory_order_release);
    }

    /// Calls `see(slot)` for each; for rare occasions.
    template <class See>
    void each(See&& see) noexcept {
        for (uint32_t i = 0; i < Size + kWindow; ++i)
            if (keys_[i].load(std::memory_order_acquire) != 0) see(slots_[i]);
    }

private:
    static constexpr uint32_t kWindow = 16;
    static_assert((Size & (Size - 1)) == 0);
    [[gnu::noinline]] Slot* find_beyond(uint64_t key, uint32_t home) noexcept {
        for (uint32_t i = home + 1; i < home + kWindow; ++i)
            if (keys_[i].load(std::memory_order_acquire) == key) return &slots_[i];
        return nullptr;
    }

    static uint32_t home_of(uint64_t key) noexcept {
        return static_cast<uint32_t>((key * 0x9e37'79b9'7f4a'7c15ull) >> 32) & (Size - 1);
    }

    std::atomic<uint64_t> keys_[Size + kWindow];
    Slot slots_[Size + kWindow];
};

/// Cells of 64 bytes for lists that hang on slots, named by numbers; 0 is none.
class Cells {
public:
    uint32_t take() noexcept {
        uint64_t head = free_.load(std::memory_order_acquire);
        while (static_cast<uint32_t>(head) != 0) {
            const auto cell = static_cast<uint32_t>(head);
            const uint64_t next = changed(head) | links_[cell].load(std::memory_order_relaxed);
            if (!free_.compare_exchange_weak(head, next, std::memory_order_acq_rel)) continue;
            std::memset(cells_[cell], 0, kCell);
            return cell;
        }
        const uint32_t fresh = used_.fetch_add(1, std::memory_order_relaxed) + 1;
        if (fresh < kCells) return fresh;
        used_.store(kCells, std::memory_order_relaxed);
        return 0;
    }

    void give(uint32_t cell) noexcept {
        uint64_t head = free_.load(std::memory_order_relaxed);
        do links_[cell].store(static_cast<uint32_t>(head), std::memory_order_relaxed);
        while (!free_.compare_exchange_weak(head, changed(head) | cell, std::memory_order_acq_rel));
    }

    template <class T>
    T& at(uint32_t cell) noexcept {
        static_assert(sizeof(T) <= kCell);
        return *reinterpret_cast<T*>(cells_[cell]);
    }

private:
    static constexpr uint32_t kCell = 64, kCells = 1u << 18;
    // A head that was seen long ago differs from one with the same cell on top.
    static uint64_t changed(uint64_t head) noexcept { return ((head >> 32) + 1) << 32; }

    std::atomic<uint64_t> free_;  // count of changes, then the first free cell
    std::atomic<uint32_t> used_;
    std::atomic<uint32_t> links_[kCells];  // from a free cell to the next; apart, for a slow taker may still read it
    alignas(64) unsigned char cells_[kCells][kCell];
};

/// What the journal calls a buffer, so that its end need not be searched for there. A key has one place; if another one has
/// it, the buffer is reported by its id. Ids follow each other, and so do their places.
template <uint32_t Size>
class Handles {
public:
    /// A buffer of an opened mesh; 0 if that cannot be told in one word.
    static uint64_t key_of(uint64_t id, uint32_t opening) noexcept {
        const bool fits = (id >> (64 - kOpeningBits) | opening >> kOpeningBits) == 0;
        return __builtin_expect(fits, 1) ? id << kOpeningBits | opening : 0;
    }

    /// Where the handle of a new buffer is to be stored; null if there is no room for it.
    std::atomic<uint64_t>* claim(uint64_t key) noexcept {
        Place& place = place_of(key);
        uint64_t empty = 0;
        if (key == 0 || place.key.load(std::memory_order_relaxed) != 0 ||
            !place.key.compare_exchange_strong(empty, key, std::memory_order_acq_rel))
            return nullptr;
        return &place.handle;
    }

    /// False: it has none here. True for one caller, since a buffer ends once.
    bool take(uint64_t key, uint64_t& handle) noexcept {
        Place& place = place_of(key);
        if (key == 0 || place.key.load(std::memory_order_acquire) != key) return false;
        handle = place.handle.load(std::memory_order_acquire);
        place.key.store(0, std::memory_order_release);
        return true;
    }

private:
    static constexpr uint32_t kOpeningBits = 24;
    static_assert((Size & (Size - 1)) == 0);
    struct alignas(16) Place {
        std::atomic<uint64_t> key, handle;
    };
    Place& place_of(uint64_t key) noexcept { return places_[(key >> kOpeningBits) & (Size - 1)]; }

    Place places_[Size];
};

}  // namespace ttmem::hook
