#include "hook/launches/operations.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include "hook/launches/operation_names.hpp"
#include "hook/programs/memory.hpp"
#include "hook/runtime.hpp"
#include "ttmem/client.h"
#include "writer/own_stack.hpp"

namespace ttmem::hook {
namespace {

constexpr uint32_t kLookedFor = 0, kIsNone = 1, kIsThere = 2;
constexpr char kByKernels[] = " (by its kernels)";

void copy_name(std::string_view from, char* to, uint32_t room) noexcept {
    const auto length = std::min<size_t>(from.size(), room - 1);
    if (length != 0) std::memcpy(to, from.data(), length);
    to[length] = '\0';
}

// The loader goes through all names of a library: 40 to 110 us. Takes little of the caller's stack, and keeps errno.
[[gnu::noinline, gnu::cold]] void look_for_place(const void* caller, LaunchPlace& place) noexcept {
    Dl_info found{};
    int is_found = 0;
    const KeptErrno kept;
    const auto* inside = static_cast<const char*>(caller) - 1;  // a call may be the last instruction of its function
    if (!on_own_stack([&]() noexcept { is_found = dladdr(inside, &found); })) is_found = dladdr(inside, &found);
    const bool has_name = is_found != 0 && found.dli_sname != nullptr;
    const std::string_view name = has_name ? operation_in_symbol(found.dli_sname) : std::string_view();
    copy_name(name, place.name, LaunchPlace::kMost);
    place.state.store(name.empty() ? kIsNone : kIsThere, std::memory_order_release);
}

// Somebody else may be looking for it: then this one looks for himself. `room` is for that.
const char* operation_at(const void* caller, LaunchPlace& room) noexcept {
    LaunchPlace* place = &room;
    if (Memory* all = memory()) {
        const uint64_t key = word_of(caller);
        LaunchPlace* known = all->launch_places.find(key);
        if (known == nullptr && (known = all->launch_places.add(key)) != nullptr) look_for_place(caller, *known);
        if (known != nullptr && known->state.load(std::memory_order_acquire) != kLookedFor) place = known;
    }
    if (place == &room) look_for_place(caller, room);
    return place->state.load(std::memory_order_acquire) == kIsThere ? place->name : nullptr;
}

uint32_t site_of(const char* name) noexcept { return ttmem_stack_node(0, TTMEM_DEVICE_OPERATION, name, "", 0); }

}  // namespace

Naming naming_of(const Program& program) noexcept {
    LaunchPlace room{};
    const void* launcher = context().launcher;
    const char* operation = launcher == nullptr ? nullptr : operation_at(launcher, room);
    if (operation != nullptr) return {site_of(operation), NamedBy::launch};
    if (program.family[0] == '\0') return {0, NamedBy::nobody};
    char name[sizeof program.family + sizeof kByKernels];
    const size_t length = std::strlen(program.family);
    std::memcpy(name, program.family, length);
    std::memcpy(name + length, kByKernels, sizeof kByKernels);
    return {site_of(name), NamedBy::kernels};
}

void name_program(Program& program) noexcept {
    if (program.named_by == NamedBy::launch || !is_reportable(program)) return;
    const Naming naming = naming_of(program);
    if (naming.site == 0 || naming.by <= program.named_by) return;
    program.named_by = naming.by;
    ttmem_program_operation(program.target, program.id, naming.site);
}

void note_source(Program& program, const char* path, uint64_t length) noexcept {
    const std::string_view family = family_in_path({path, length});
    if (family.empty() || (program.family[0] != '\0' && !program.is_family_shared)) return;
    if (program.is_family_shared && is_shared_family(family)) return;
    program.is_family_shared = is_shared_family(family);
    copy_name(family, program.family, sizeof program.family);
}

void forget_launch_places() noexcept {
    if (!remembers()) return;
    auto& places = memory()->launch_places;
    places.each([&places](LaunchPlace& place) noexcept { places.remove(&place); });
}

}  // namespace ttmem::hook
