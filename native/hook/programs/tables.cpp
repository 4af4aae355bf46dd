// Makes the one piece of memory behind all tables.
#include <sys/mman.h>

#include "hook/programs/memory.hpp"
#include "hook/runtime.hpp"
#include "writer/owner.hpp"
#include "writer/writer.hpp"

namespace ttmem::hook {
namespace {

std::atomic<bool> has_no_memory{false};

[[gnu::noinline, gnu::cold]] Memory* make_memory() noexcept {
    if (has_no_memory.load(std::memory_order_relaxed)) return nullptr;
    void* piece =
        mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (piece == MAP_FAILED) {
        has_no_memory.store(true, std::memory_order_relaxed);
        return nullptr;
    }
    madvise(piece, sizeof(Memory), MADV_WIPEONFORK);
    madvise(piece, sizeof(Memory), MADV_NOHUGEPAGE);  // few pages of it are ever touched
    Memory* none = nullptr;
    if (at_hand_of_all.memory.compare_exchange_strong(none, static_cast<Memory*>(piece), std::memory_order_acq_rel))
        return static_cast<Memory*>(piece);
    munmap(piece, sizeof(Memory));
    return none;
}

}  // namespace

Memory* memory() noexcept {
    Memory* made = at_hand_of_all.memory.load(std::memory_order_acquire);
    return __builtin_expect(made != nullptr, 1) ? made : make_memory();
}

void count_lost() noexcept {
    if (is_owner() && may_write()) the_writer.header->untabled_allocs.fetch_add(1, std::memory_order_relaxed);
}

Cells& cells() noexcept { return at_hand_of_all.memory.load(std::memory_order_acquire)->cells; }

}  // namespace ttmem::hook
