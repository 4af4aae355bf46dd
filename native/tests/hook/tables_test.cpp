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

}  // namespace ttmem::hook
