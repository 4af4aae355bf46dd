#include "writer/owner.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <new>

#include "writer/own_stack.hpp"

namespace ttmem {
namespace {

// All that a copy of this version must have.
constexpr size_t kOldestTable = offsetof(WriterTable, python_site) + sizeof(WriterTable::python_site);

constexpr uint32_t kCopiesMost = 16;
constexpr int kOnSwitch = 1, kOffSwitch = 0;

std::atomic<int*> switches[kCopiesMost];

// The table an object itself defines. dlsym also searches an object's dependencies, hence the check of the address.
const WriterTable* table_in(const dl_phdr_info& object) noexcept {
    const bool is_program = object.dlpi_name == nullptr || object.dlpi_name[0] == '\0';
    void* handle = dlopen(is_program ? nullptr : object.dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) return nullptr;
    const void* symbol = dlsym(handle, "ttmem_writer_v1");
    dlclose(handle);
    Dl_info where{};
    if (symbol == nullptr || dladdr(symbol, &where) == 0) return nullptr;
    const auto at = reinterpret_cast<uintptr_t>(symbol);
    for (int i = 0; i < object.dlpi_phnum; ++i) {
        const auto& part = object.dlpi_phdr[i];
        if (part.p_type == PT_LOAD && at - (object.dlpi_addr + part.p_vaddr) < part.p_memsz)
            return static_cast<const WriterTable*>(symbol);
    }
    return nullptr;
}

struct Objects {
    dl_phdr_info list[1024];
    uint32_t count = 0;
};

// dlopen inside the walk could deadlock on the loader's lock in other threads, so the walk only takes notes.
int note_object(dl_phdr_info* object, size_t, void* room) noexcept {
    auto& objects = *static_cast<Objects*>(room);
    if (objects.count < 1024) objects.list[objects.count++] = *object;
    return 0;
}

// An inlined switch elsewhere points into this object, and the owner's table must outlive every caller.
void pin_self() noexcept {
    Dl_info own{};
    if (dladdr(&found_owner, &own) != 0 && own.dli_fname != nullptr)
        dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

const WriterTable* find_owner() noexcept {
    // Notes of this call alone: several threads may ask first at once, and a stack may be too small for them.
    void* room = mmap(nullptr, sizeof(Objects), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return &ttmem_own_writer;
    auto* notes = new (room) Objects;
    dl_iterate_phdr(note_object, notes);
    const WriterTable* first = &ttmem_own_writer;
    for (uint32_t i = 0; i < notes->count; ++i) {
        const WriterTable* table = table_in(notes->list[i]);
        if (table == nullptr || table->version != ttmem_own_writer.version || table->bytes < kOldestTable) continue;
        first = table;
        break;
    }
    munmap(room, sizeof(Objects));
    return first;
}

}  // namespace

namespace {

__attribute__((noinline, cold)) const WriterTable& look_for_owner() noexcept {
    const WriterTable* found = nullptr;
    on_own_stack([&found]() noexcept {
        pin_self();
        found = find_owner();
    });
    if (found == nullptr) return ttmem_own_writer;  // no memory: the next call looks again
    found_owner.store(found, std::memory_order_release);
    if (found != &ttmem_own_writer) found->share_switch(&ttmem_tracking);
    return *found;
}

}  // namespace

const WriterTable& owner() noexcept {
    const WriterTable* known = found_owner.load(std::memory_order_acquire);
    return __builtin_expect(known != nullptr, 1) ? *known : look_for_owner();
}

bool is_owner() noexcept { return &owner() == &ttmem_own_writer; }

void notify_copies(bool is_on) noexcept {
    const int value = is_on ? kOnSwitch : kOffSwitch;
    __atomic_store_n(&ttmem_tracking, value, __ATOMIC_RELAXED);
    for (auto& place : switches) {
        int* copy = place.load(std::memory_order_acquire);
        if (copy != nullptr) __atomic_store_n(copy, value, __ATOMIC_RELAXED);
    }
}

void share_switch(int* copy) noexcept {
    for (auto& place : switches) {
        int* empty = nullptr;
        if (!place.compare_exchange_strong(empty, copy, std::memory_order_acq_rel) && empty != copy) continue;
        __atomic_store_n(copy, __atomic_load_n(&ttmem_tracking, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
        return;
    }
}

}  // namespace ttmem

const ttmem::WriterTable* ttmem_owner_v1(void) { return &ttmem::owner(); }
