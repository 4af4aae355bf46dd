#include "hook/naming/library.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "writer/own_stack.hpp"

namespace ttmem::hook {
namespace {

constexpr std::string_view kOperationsBegin = "_ZN4ttnn", kConstBegin = "_ZNK4ttnn";
constexpr uint32_t kLibrariesMost = 8;
constexpr uint32_t kNamesMost = 1u << 20;

std::atomic<OperationLibrary*> operation_libraries{nullptr};

// An object as the loader has it.
struct Mapped {
    uintptr_t address;  // in: somewhere in it
    uintptr_t base = 0, begin = 0, end = 0;
    const ElfW(Dyn) * dynamic = nullptr;
};

int look_at_object(dl_phdr_info* object, size_t, void* given) noexcept {
    auto& mapped = *static_cast<Mapped*>(given);
    uintptr_t begin = UINTPTR_MAX, end = 0;
    const ElfW(Dyn)* dynamic = nullptr;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const auto& part = object->dlpi_phdr[i];
        const uintptr_t at = object->dlpi_addr + part.p_vaddr;
        if (part.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(at);
        if (part.p_type != PT_LOAD) continue;
        begin = std::min(begin, at);
        end = std::max(end, at + part.p_memsz);
    }
    if (mapped.address < begin || mapped.address >= end) return 0;
    mapped.base = object->dlpi_addr;
    mapped.begin = begin;
    mapped.end = end;
    mapped.dynamic = dynamic;
    return 1;
}

// Where its code begins, of the runtime's own.
int look_at_name(dl_phdr_info* object, size_t, void* given) noexcept {
    constexpr std::string_view kName = "/_ttnncpp.so";
    const std::string_view path = object->dlpi_name == nullptr ? std::string_view() : object->dlpi_name;
    if (!path.ends_with(kName)) return 0;
    for (int i = 0; i < object->dlpi_phnum; ++i)
        if (object->dlpi_phdr[i].p_type == PT_LOAD) {
            *static_cast<uintptr_t*>(given) = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
            return 1;
        }
    return 0;
}

// Its dynamic symbols. The loader writes addresses into the dynamic part, or leaves offsets there.
struct Symbols {
    const ElfW(Sym) * first = nullptr;
    const char* texts = nullptr;
    const uint32_t* hash = nullptr;

    explicit Symbols(const Mapped& mapped) noexcept {
        const auto place = [&mapped](uintptr_t told) noexcept {
            return told < mapped.base ? mapped.base + told : told;
        };
        for (const auto* one = mapped.dynamic; one != nullptr && one->d_tag != DT_NULL; ++one) {
            if (one->d_tag == DT_SYMTAB) first = reinterpret_cast<const ElfW(Sym)*>(place(one->d_un.d_ptr));
            if (one->d_tag == DT_STRTAB) texts = reinterpret_cast<const char*>(place(one->d_un.d_ptr));
            if (one->d_tag == DT_GNU_HASH) hash = reinterpret_cast<const uint32_t*>(place(one->d_un.d_ptr));
        }
    }

    // Nothing says how many there are but the last chain of the table by which they are found.
    uint32_t count() const noexcept {
        if (first == nullptr || texts == nullptr || hash == nullptr) return 0;
        const uint32_t buckets = hash[0], offset = hash[1], words = hash[2];
        const uint32_t* bucket = hash + 4 + words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
        const uint32_t* chain = bucket + buckets;
        uint32_t last = 0;
        for (uint32_t i = 0; i < buckets; ++i) last = std::max(last, bucket[i]);
        if (last < offset) return offset;
        while ((chain[last - offset] & 1) == 0 && last < kNamesMost) ++last;
        return last + 1;
    }

    bool is_operation(const ElfW(Sym) & symbol) const noexcept {
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0)
            return false;
        const char* name = texts + symbol.st_name;
        return std::strncmp(name, kOperationsBegin.data(), kOperationsBegin.size()) == 0 ||
               std::strncmp(name, kConstBegin.data(), kConstBegin.size()) == 0;
    }
};

OperationLibrary* make_library(uintptr_t address) noexcept {
    Mapped mapped{address};
    if (dl_iterate_phdr(look_at_object, &mapped) == 0) return nullptr;
    const Symbols symbols(mapped);
    const uint32_t all = symbols.count();
    uint32_t count = 0;
    for (uint32_t i = 0; i < all; ++i) count += symbols.is_operation(symbols.first[i]) ? 1 : 0;
    const size_t bytes = sizeof(OperationLibrary) + count * sizeof(OperationLibrary::Function);
    void* room = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return nullptr;
    auto* made = static_cast<OperationLibrary*>(room);
    made->base = mapped.base;
    made->begin = mapped.begin;
    made->end = mapped.end;
    made->texts = symbols.texts;
    Mapped python{reinterpret_cast<uintptr_t>(dlsym(RTLD_DEFAULT, "PyCode_Addr2Line"))};
    if (python.address != 0) dl_iterate_phdr(look_at_object, &python);
    made->python_begin = python.begin;
    made->python_end = python.end;
    for (uint32_t i = 0; i < all; ++i) {
        const auto& symbol = symbols.first[i];
        if (!symbols.is_operation(symbol) || symbol.st_value >> 32 != 0 || symbol.st_size >> 32 != 0) continue;
        made->functions[made->count++] = {static_cast<uint32_t>(symbol.st_value), static_cast<uint32_t>(symbol.st_size),
                                          symbol.st_name};
    }
    std::sort(made->functions, made->functions + made->count,
              [](const auto& a, const auto& b) noexcept { return a.begin < b.begin; });
    return made;
}

const OperationLibrary* known_library(uintptr_t address, uint32_t& count) noexcept {
    const OperationLibrary* one = operation_libraries.load(std::memory_order_acquire);
    for (count = 0; one != nullptr && !one->has(address); one = one->next) ++count;
    return one;
}

// Two threads may make it at once: then it is there twice. Takes little of the caller's stack, and keeps errno.
[[gnu::noinline, gnu::cold]] const OperationLibrary* new_library(uintptr_t address) noexcept {
    OperationLibrary* made = nullptr;
    const SavedErrno kept;
    if (!on_own_stack([&]() noexcept { made = make_library(address); }) || made == nullptr) return nullptr;
    made->next = operation_libraries.load(std::memory_order_acquire);
    while (!operation_libraries.compare_exchange_weak(made->next, made, std::memory_order_acq_rel)) {
    }
    return made;
}

}  // namespace

std::string_view OperationLibrary::name_at(uintptr_t address) const noexcept {
    const uintptr_t place = address - base;
    const Function* after = std::upper_bound(functions, functions + count, place,
                                             [](uintptr_t at, const Function& one) noexcept { return at < one.begin; });
    if (after == functions || place - after[-1].begin >= after[-1].size) return {};
    return texts + after[-1].name;
}

const OperationLibrary* library_at(uintptr_t address) noexcept {
    uint32_t count = 0;
    const OperationLibrary* known = known_library(address, count);
    return known != nullptr || count >= kLibrariesMost ? known : new_library(address);
}

const OperationLibrary* usual_library() noexcept {
    const OperationLibrary* one = operation_libraries.load(std::memory_order_acquire);
    while (one != nullptr && one->next != nullptr) one = one->next;
    if (one != nullptr) return one;
    uintptr_t inside = 0;
    const SavedErrno kept;
    return dl_iterate_phdr(look_at_name, &inside) == 0 ? nullptr : library_at(inside);
}

// What they take stays: somebody may be looking at it.
void forget_operation_libraries() noexcept { operation_libraries.store(nullptr, std::memory_order_release); }

}  // namespace ttmem::hook
