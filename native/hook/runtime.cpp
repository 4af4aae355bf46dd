#include "hook/runtime.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstring>

#include "hook/naming/library.hpp"
#include "journal/environment.hpp"
#include "ttmem/client.h"
#include "writer/own_stack.hpp"

namespace ttmem::hook {
namespace {

constexpr uint32_t kCopiesMost = 8;
constexpr uintptr_t kGone = ~uintptr_t{0};  // the base of a copy that was unloaded
constexpr char kLibrary[] = "libtt_metal";

constexpr const char* kHookNames[] = {
#define TTMEM_HOOK(name, mangled, gives) mangled,
#include "hooks.def"
#undef TTMEM_HOOK
};
constexpr const char* kGetterNames[] = {
#define TTMEM_GETTER(name, mangled, loss) mangled,
#include "getters.def"
#undef TTMEM_GETTER
};

constinit Copy copies[kCopiesMost]{};
uint32_t copy_count, caller_count, copies_ever;  // under `looking`
std::atomic<bool> looking{false};
std::atomic<uint64_t> unloads_seen{0};  // of any objects

// A loaded object as the loader describes it, with the span of addresses it takes.
struct Object {
    uintptr_t base = 0, begin = 0, end = 0;
    char path[1024] = "";
};

bool is_in(const Object& object, uintptr_t address) noexcept { return address >= object.begin && address < object.end; }

void describe(const dl_phdr_info& info, Object& object) noexcept {
    object.base = info.dlpi_addr;
    object.begin = ~uintptr_t{0};
    object.end = 0;
    for (int i = 0; i < info.dlpi_phnum; ++i) {
        const auto& part = info.dlpi_phdr[i];
        if (part.p_type != PT_LOAD) continue;
        const uintptr_t begin = info.dlpi_addr + part.p_vaddr;
        if (begin < object.begin) object.begin = begin;
        if (begin + part.p_memsz > object.end) object.end = begin + part.p_memsz;
    }
    const char* path = info.dlpi_name == nullptr ? "" : info.dlpi_name;
    const size_t length = strnlen(path, sizeof object.path - 1);
    std::memcpy(object.path, path, length);
    object.path[length] = '\0';
}

// ---- walks over the loaded objects; they only take notes, since opening one inside a walk could deadlock

struct ByAddress {
    uintptr_t address;
    Object found;
};

int note_by_address(dl_phdr_info* info, size_t, void* room) noexcept {
    auto& wanted = *static_cast<ByAddress*>(room);
    Object object;
    describe(*info, object);
    if (!is_in(object, wanted.address)) return 0;
    wanted.found = object;
    return 1;
}

int note_unload_count(dl_phdr_info* info, size_t, void* room) noexcept {
    *static_cast<uint64_t*>(room) = info->dlpi_subs;
    return 1;
}

bool is_runtime(const char* path) noexcept {
    const char* slash = std::strrchr(path, '/');
    return std::strncmp(slash == nullptr ? path : slash + 1, kLibrary, sizeof kLibrary - 1) == 0;
}

struct Runtimes {
    Object found[kCopiesMost];
    uint32_t count = 0;
};

int note_runtime(dl_phdr_info* info, size_t, void* room) noexcept {
    auto& runtimes = *static_cast<Runtimes*>(room);
    if (info->dlpi_name != nullptr && is_runtime(info->dlpi_name) && runtimes.count < kCopiesMost)
        describe(*info, runtimes.found[runtimes.count++]);
    return 0;
}

// ---- the real functions

// The handle is given back at once: what the host unloads must go.
void* symbol_in(const Object& object, const char* name) noexcept {
    void* handle = dlopen(object.path[0] == '\0' ? nullptr : object.path, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) return nullptr;
    void* symbol = dlsym(handle, name);
    dlclose(handle);
    return symbol;
}

// Once for each: others may read what is known of a copy while its next caller is looked for.
void read_copy(Copy& copy, void* handle) noexcept {
    copy.number = ++copies_ever;
    for (uint32_t i = 0; i < kHooks; ++i) copy.originals[i] = dlsym(handle, kHookNames[i]);
    for (uint32_t i = 0; i < kGetters; ++i) copy.getters[i] = dlsym(handle, kGetterNames[i]);
}

const Copy* copy_of(const Object& object) noexcept {
    uint32_t place = 0;
    while (place < copy_count && copies[place].base != object.base) ++place;
    if (place == copy_count)  // a copy that is gone leaves its place
        for (place = 0; place < copy_count && copies[place].base != kGone; ++place) {
        }
    void* handle = place == kCopiesMost ? nullptr : dlopen(object.path, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) return nullptr;
    if (place == copy_count) ++copy_count;
    Copy& copy = copies[place];
    if (copy.base != object.base) read_copy(copy, handle);
    copy.base = object.base;
    dlclose(handle);
    return &copy;
}

// Another library may have taken its place, even at the same address.
bool is_as_found(const Copy& copy) noexcept {
    ByAddress wanted{copy.base, {}};
    if (dl_iterate_phdr(note_by_address, &wanted) == 0 || !is_runtime(wanted.found.path)) return false;
    void* handle = dlopen(wanted.found.path, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) return false;
    bool is_same = wanted.found.base == copy.base;
    for (uint32_t i = 0; i < kHooks; ++i) is_same &= copy.originals[i] == dlsym(handle, kHookNames[i]);
    for (uint32_t i = 0; i < kGetters; ++i) is_same &= copy.getters[i] == dlsym(handle, kGetterNames[i]);
    dlclose(handle);
    return is_same;
}

// Which runtime an object uses: itself, else the only one there is, else the one its own search finds.
bool runtime_of(const Object& caller, Hook hook, Object& runtime) noexcept {
    Runtimes runtimes;
    dl_iterate_phdr(note_runtime, &runtimes);
    for (uint32_t i = 0; i < runtimes.count; ++i)
        if (runtimes.found[i].base == caller.base || runtimes.count == 1) {
            runtime = runtimes.found[i];
            return true;
        }
    void* symbol = symbol_in(caller, kHookNames[static_cast<uint32_t>(hook)]);
    ByAddress holder{reinterpret_cast<uintptr_t>(symbol), {}};
    if (symbol == nullptr || dl_iterate_phdr(note_by_address, &holder) == 0) return false;
    ByAddress own{reinterpret_cast<uintptr_t>(&copies), {}};
    dl_iterate_phdr(note_by_address, &own);
    if (holder.found.base == own.found.base) {  // a program's own search begins with what was preloaded
        if (runtimes.count == 0) return false;
        holder.found = runtimes.found[0];
    }
    runtime = holder.found;
    return true;
}

void remember(const Object& caller, const Copy* copy) noexcept {
    uint32_t free = 0;
    while (free < caller_count && at_hand_of_all.callers[free].end.load(std::memory_order_relaxed) != kNobodysEnd)
        ++free;
    if (copy == nullptr || free == kCallersMost) return;
    if (free == caller_count) ++caller_count;
    Caller& place = at_hand_of_all.callers[free];
    place.copy.store(copy, std::memory_order_relaxed);
    place.begin.store(caller.begin, std::memory_order_relaxed);
    place.end.store(caller.end, std::memory_order_release);
}

// Python stacks are sites of buffers where the environment says so, as `ttmem run` does, whether or not the program imports us.
void begin_sites() noexcept {
    static std::atomic<bool> has_begun{false};
    const char* word = environment("TTMEM_SITES");
    if (word != nullptr && !is_off_word(word) && !has_begun.exchange(true)) ttmem_python_sites(1);
}

// The first call from an object: rare, and allowed to ask the loader. Should another thread be at it (or have been at a
// fork), this one looks for its function alone and leaves nothing behind.
void* look_for_apart(Hook hook, uintptr_t address) noexcept {
    ByAddress caller{address, {}};
    Object runtime;
    const bool is_known = dl_iterate_phdr(note_by_address, &caller) != 0 && runtime_of(caller.found, hook, runtime);
    const auto number = static_cast<uint32_t>(hook);
    if (!is_known) return dlsym(RTLD_NEXT, kHookNames[number]);
    if (looking.exchange(true, std::memory_order_acquire)) return symbol_in(runtime, kHookNames[number]);
    const Copy* copy = copy_of(runtime);
    remember(caller.found, copy);
    looking.store(false, std::memory_order_release);
    if (copy == nullptr) return symbol_in(runtime, kHookNames[number]);
    begin_sites();
    at_hand.copy = copy;
    return copy->originals[number];
}

// Takes little of the caller's stack, and keeps errno.
[[gnu::noinline, gnu::cold]] void* look_for(Hook hook, uintptr_t address) noexcept {
    void* found = nullptr;
    const bool has_stack = on_own_stack([&]() noexcept { found = look_for_apart(hook, address); });
    return has_stack ? found : look_for_apart(hook, address);
}

}  // namespace

constinit AtHandOfAll at_hand_of_all{};

[[gnu::noinline]] void* original_from(Hook hook, const void* caller) noexcept {
    const auto address = reinterpret_cast<uintptr_t>(caller);
    for (Caller& known : at_hand_of_all.callers) {
        const uintptr_t end = known.end.load(std::memory_order_acquire);
        if (end == 0) break;
        if (address < known.begin.load(std::memory_order_relaxed) || address >= end) continue;
        const Copy* copy = known.copy.load(std::memory_order_relaxed);
        at_hand.copy = copy;
        return copy->originals[static_cast<uint32_t>(hook)];
    }
    return look_for(hook, address);
}

void forget_unloaded() noexcept {
    const SavedErrno kept;
    uint64_t count = 0;
    dl_iterate_phdr(note_unload_count, &count);
    if (count == unloads_seen.load(std::memory_order_relaxed)) return;
    if (looking.exchange(true, std::memory_order_acquire)) return;
    unloads_seen.store(count, std::memory_order_relaxed);
    for (uint32_t i = 0; i < caller_count; ++i)
        at_hand_of_all.callers[i].end.store(kNobodysEnd, std::memory_order_release);
    for (uint32_t i = 0; i < copy_count; ++i)
        if (copies[i].base != kGone && !is_as_found(copies[i])) copies[i].base = kGone;
    forget_operation_libraries();
    looking.store(false, std::memory_order_release);
}

}  // namespace ttmem::hook
