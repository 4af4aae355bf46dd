// Who called the runtime, by the native stack: the operation as the user calls it, and the device operation that it is at.
//
//   ... < launch<..BinaryNgDeviceOperation> < ttnn::prim::binary_ng < ttnn::add < binding < interpreter
//                                                                     the outermost function of the library of operations
//
// One look takes a few microseconds: it is taken once for what is new, and for a refusal, whose exception takes longer.
#pragma once

#include <cstdint>

namespace ttmem::hook {

/// RecordCopy that end with a zero; "": nobody says.
struct Operation {
    static constexpr uint32_t kMost = 120;
    char users[kMost];   // "ttnn.matmul"
    char device[kMost];  // "MatmulDeviceOperation"

    bool is_known() const noexcept { return users[0] != '\0' || device[0] != '\0'; }
};

/// The operation that the calling thread is in, by the functions of the library that `inside` lies in; null: of the one that
/// launched before, or goes by the name of the runtime's own.
void find_operation(const void* inside, Operation& operation) noexcept;

/// The site below `parent` that says it.
uint32_t site_with(uint32_t parent, const Operation& operation) noexcept;

}  // namespace ttmem::hook
