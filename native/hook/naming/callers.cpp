#include "hook/naming/callers.hpp"

#include <unwind.h>

#include <algorithm>
#include <cstring>

#include "hook/launches/operation_names.hpp"
#include "hook/naming/library.hpp"
#include "ttmem/client.h"
#include "writer/own_stack.hpp"

namespace ttmem::hook {
namespace {

constexpr uint32_t kCallersSeen = 96;

struct Climb {
    const OperationLibrary& library;
    uint32_t count = 0;
    std::string_view outermost = {}, device = {};
};

// Not beyond the call from Python that led here: further out may be other operations.
_Unwind_Reason_Code climb(_Unwind_Context* frame, void* given) noexcept {
    Climb& seen = *static_cast<Climb*>(given);
    const uintptr_t address = _Unwind_GetIP(frame) - 1;  // a call may be the last instruction of its function
    if (++seen.count == kCallersSeen || seen.library.is_python(address)) return _URC_END_OF_STACK;
    const std::string_view name = seen.library.has(address) ? seen.library.name_at(address) : std::string_view();
    if (name.empty()) return _URC_NO_REASON;
    if (seen.device.empty()) seen.device = operation_in_symbol(name);
    if (is_users_operation(name)) seen.outermost = name;
    return _URC_NO_REASON;
}

}  // namespace

void find_operation(const void* inside, Operation& operation) noexcept {
    operation = {};
    const OperationLibrary* library =
        inside == nullptr ? usual_library() : library_at(reinterpret_cast<uintptr_t>(inside) - 1);
    if (library == nullptr) return;
    const SavedErrno kept;
    Climb seen{*library};
    _Unwind_Backtrace(climb, &seen);
    users_operation(seen.outermost, operation.users, Operation::kMost);
    const size_t length = std::min<size_t>(seen.device.size(), Operation::kMost - 1);
    if (length != 0) std::memcpy(operation.device, seen.device.data(), length);
}

uint32_t site_with(uint32_t parent, const Operation& operation) noexcept {
    uint32_t site = parent;
    if (operation.users[0] != '\0') site = ttmem_stack_node(site, TTMEM_OPERATION, operation.users, "", 0);
    if (operation.device[0] != '\0') site = ttmem_stack_node(site, TTMEM_DEVICE_OPERATION, operation.device, "", 0);
    return site;
}

}  // namespace ttmem::hook
