// Tables of the preload library: what is put there is found there, by many threads at once, and a forked child has none.
#include "hook/programs/tables.hpp"

#include <sys/mman.h>

#include <thread>
#include <vector>

#include "support/check.hpp"

namespace ttmem::hook {
namespace {

struct Slot {
    uint64_t value;
};

/// As the library has it: zeros until they are used.
template <class T>
T& zeroed() {
    void* piece = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return *static_cast<T*>(piece);
}

}  // namespace

TEST(a_key_is_found_until_it_is_removed) {
    auto& table = zeroed<Table<Slot, 64>>();
    CHECK_EQUAL(table.find(7), nullptr);
    table.add(7)->value = 70;
    CHECK_EQUAL(table.find(7)->value, 70u);
    CHECK_EQUAL(table.find_or_add(7)->value, 70u);
    table.remove(table.find(7));
    CHECK_EQUAL(table.find(7), nullptr);
    CHECK_EQUAL(table.add(7)->value, 0u);
}

TEST(a_full_table_refuses_and_loses_nothing) {
    auto& table = zeroed<Table<Slot, 16>>();
    uint64_t added = 0;
    for (uint64_t key = 1; key <= 100; ++key)
        if (Slot* slot = table.add(key)) {
            slot->value = key;
            ++added;
        }
    uint64_t seen = 0;
    table.each([&](const Slot& slot) { seen += table.find(slot.value) == &slot; });
    CHECK_EQUAL(seen, added);
    CHECK_EQUAL(added >= 16 && added <= 32, true);
}

TEST(threads_add_and_remove_their_own_keys_side_by_side) {
    auto& table = zeroed<Table<Slot, 1024>>();
    std::atomic<uint64_t> wrong{0};
    std::vector<std::thread> threads;
    for (uint64_t thread = 0; thread < 4; ++thread)
        threads.emplace_back([&, thread] {
            for (uint64_t round = 0; round < 20'000; ++round) {
                const uint64_t key = (round % 64) * 4 + thread + 1;
                Slot* slot = table.find_or_add(key);
                if (slot == nullptr || (slot->value != 0 && slot->value != key)) ++wrong;
                if (slot == nullptr) continue;
                slot->value = key;
                if (round % 3 == 0) table.remove(slot);
            }
        });
    for (std::thread& thread : threads) thread.join();
    CHECK_EQUAL(wrong.load(), 0u);
}

TEST(a_cell_belongs_to_one_taker_at_a_time) {
    auto& cells = zeroed<Cells>();
    std::atomic<uint64_t> wrong{0};
    std::vector<std::thread> threads;
    for (uint64_t thread = 1; thread <= 4; ++thread)
        threads.emplace_back([&, thread] {
            uint32_t held[8] = {};
            for (uint64_t round = 0; round < 20'000; ++round) {
                uint32_t& cell = held[round % 8];
                if (cell != 0) {
                    wrong += cells.at<uint64_t[8]>(cell)[7] != thread;
                    cells.give(cell);
                }
                cell = cells.take();
                wrong += cell == 0 || cells.at<uint64_t[8]>(cell)[7] != 0;
                cells.at<uint64_t[8]>(cell)[7] = thread;
            }
        });
    for (std::thread& thread : threads) thread.join();
    CHECK_EQUAL(wrong.load(), 0u);
}

TEST(a_handle_is_taken_once_by_the_key_it_was_kept_under) {
    auto& handles = zeroed<Handles<64>>();
    uint64_t handle = 0;
    CHECK_EQUAL(handles.take(Handles<64>::key_of(7, 1), handle), false);
    handles.claim(Handles<64>::key_of(7, 1))->store(70);
    CHECK_EQUAL(handles.take(Handles<64>::key_of(7, 2), handle), false);  // the same id, on another mesh
    CHECK_EQUAL(handles.take(Handles<64>::key_of(7 + 64, 1), handle), false);
    CHECK_EQUAL(handles.take(Handles<64>::key_of(7, 1), handle), true);
    CHECK_EQUAL(handle, 70u);
    CHECK_EQUAL(handles.take(Handles<64>::key_of(7, 1), handle), false);
}

TEST(a_handle_keeps_its_place_until_it_is_taken) {
    auto& handles = zeroed<Handles<64>>();
    const uint64_t first = Handles<64>::key_of(7, 1), later = Handles<64>::key_of(7 + 64, 1);
    handles.claim(first)->store(70);
    CHECK_EQUAL(handles.claim(later), nullptr);
    CHECK_EQUAL(handles.claim(first), nullptr);
    uint64_t handle = 0;
    CHECK_EQUAL(handles.take(first, handle), true);
    CHECK_EQUAL(handles.claim(later) != nullptr, true);
}

TEST(ids_and_openings_that_do_not_fit_into_a_key_have_none) {
    using Some = Handles<64>;
    CHECK_EQUAL(Some::key_of(1ull << 40, 1), 0u);
    CHECK_EQUAL(Some::key_of(7, 1u << 24), 0u);
    CHECK_EQUAL(Some::key_of((1ull << 40) - 1, (1u << 24) - 1) != 0, true);
    CHECK_EQUAL(Some::key_of(0, 1) != 0, true);
    auto& handles = zeroed<Some>();
    uint64_t handle = 0;
    CHECK_EQUAL(handles.claim(0), nullptr);
    CHECK_EQUAL(handles.take(0, handle), false);
}

TEST(threads_that_want_one_place_never_get_the_handle_of_another) {
    auto& handles = zeroed<Handles<4>>();
    std::atomic<uint64_t> wrong{0}, kept{0};
    std::vector<std::thread> threads;
    for (uint64_t thread = 1; thread <= 4; ++thread)
        threads.emplace_back([&, thread] {
            for (uint64_t round = 0; round < 20'000; ++round) {
                const uint64_t key = Handles<4>::key_of(round * 4 + round % 4, static_cast<uint32_t>(thread));
                auto* place = handles.claim(key);
                if (place != nullptr) place->store(key);
                uint64_t handle = 0;
                const bool is_there = handles.take(key, handle);
                wrong += is_there != (place != nullptr) || (is_there && handle != key);
                kept += is_there;
            }
        });
    for (std::thread& thread : threads) thread.join();
    CHECK_EQUAL(wrong.load(), 0u);
    CHECK_EQUAL(kept.load() > 0, true);
}

}  // namespace ttmem::hook
