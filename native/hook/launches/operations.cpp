#include "hook/launches/operations.hpp"

#include <algorithm>
#include <cstring>

#include "hook/launches/operation_names.hpp"
#include "hook/launches/workloads.hpp"
#include "hook/naming/callers.hpp"
#include "hook/naming/entries.hpp"
#include "hook/programs/context.hpp"
#include "ttmem/client.h"

namespace ttmem::hook {
namespace {

constexpr char kByKernels[] = " (by its kernels)";

void copy_name(std::string_view from, char* to, uint32_t room) noexcept {
    const auto length = std::min<size_t>(from.size(), room - 1);
    if (length != 0) std::memcpy(to, from.data(), length);
    to[length] = '\0';
}

uint32_t site_of(const char* name) noexcept { return ttmem_stack_node(0, TTMEM_DEVICE_OPERATION, name, "", 0); }

}  // namespace

Naming naming_of(const Program& program) noexcept {
    Operation operation;
    find_operation(context().launcher, operation);
    if (const Workload* launched = context().enqueued) confirm_by_entry(launched->impl, operation);
    if (operation.device[0] != '\0') return {site_with(0, operation), NamedBy::launch};
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

}  // namespace ttmem::hook
