// What the names of the runtime's own functions and sources say of an operation. Pure functions over texts.
#pragma once

#include <cstddef>
#include <string_view>

namespace ttmem::hook {

/// The device operation in the mangled name of a function that is made for it, "BinaryNgDeviceOperation" in
///   ttnn::device_operation::detail::enqueue_mesh_workload<MeshDeviceOperationAdapter<ttnn::...::BinaryNgDeviceOperation>>(...)
/// "": it is made for none.
std::string_view operation_in_symbol(std::string_view symbol) noexcept;

/// Whether a function, by its mangled name, is one of those that users call: "ttnn::conv2d", but nothing of the machinery
/// below them ("ttnn::prim::", "ttnn::device_operation::").
bool is_users_operation(std::string_view symbol) noexcept;

/// The operation that such a function is, as users write it: "ttnn.conv2d". Writes at most `room` bytes, ends with a zero; ""
/// if it is none.
void users_operation(std::string_view symbol, char* to, size_t room) noexcept;

/// The family of operations whose source a kernel is: "eltwise/binary_ng" in
///   ttnn/cpp/ttnn/operations/eltwise/binary_ng/device/kernels/dataflow/reader.cpp
/// "": it is none's.
std::string_view family_in_path(std::string_view path) noexcept;

/// Whether operations of other families use kernels of this one: it says less than any other.
bool is_shared_family(std::string_view family) noexcept;

}  // namespace ttmem::hook
