// What the runtime says of a buffer, by its exported getters.
//
// Releases before 0.79 do not export a buffer's id, type and device. There a buffer is known by its address, which no
// other living one of its mesh and pool has, its mesh by its allocator, and its size by its pages. L1_SMALL lies above L1.
#pragma once

#include "hook/core_buffers.hpp"
#include "hook/devices.hpp"
#include "hook/runtime.hpp"

namespace ttmem::hook {

inline constexpr uint8_t kUnknownType = 0xff;

// Without the address: L1 stands for L1_SMALL, too, in a release that does not tell a buffer's type.
[[gnu::always_inline]] inline uint8_t type_of(const Copy& copy, const void* buffer) noexcept {
    if (auto* type = getter_as<int(const void*)>(copy, Getter::buffer_type)) return static_cast<uint8_t>(type(buffer));
    if (ask<bool>(copy, Getter::buffer_is_trace, false, buffer)) return TTMEM_BUFFER_TRACE;
    if (ask<bool>(copy, Getter::buffer_is_dram, false, buffer)) return TTMEM_BUFFER_DRAM;
    return ask<bool>(copy, Getter::buffer_is_l1, false, buffer) ? uint8_t{TTMEM_BUFFER_L1} : kUnknownType;
}

[[gnu::always_inline]] inline uint8_t type_at(const Copy& copy, const void* buffer, const Mesh& mesh,
                                              uint64_t address) noexcept {
    const uint8_t type = type_of(copy, buffer);
    const bool may_be_small =
        type == TTMEM_BUFFER_L1 && getter_as<int(const void*)>(copy, Getter::buffer_type) == nullptr;
    const bool is_small = may_be_small && mesh.l1_small_begin != 0 && address >= mesh.l1_small_begin;
    return is_small ? uint8_t{TTMEM_BUFFER_L1_SMALL} : type;
}

[[gnu::always_inline]] inline uint8_t layout_of(const Copy& copy, const void* buffer) noexcept {
    auto* layout = getter_as<uint8_t(const void*)>(copy, Getter::buffer_layout);
    return layout == nullptr ? uint8_t{TTMEM_LAYOUT_UNKNOWN} : static_cast<uint8_t>(TTMEM_INTERLEAVED + layout(buffer));
}

[[gnu::always_inline]] inline uint64_t size_of(const Copy& copy, const void* buffer) noexcept {
    if (auto* size = getter_as<uint64_t(const void*)>(copy, Getter::buffer_size)) return size(buffer);
    return ask<uint64_t>(copy, Getter::buffer_page_size, 0, buffer) *
           ask<uint32_t>(copy, Getter::buffer_pages, 0, buffer);
}

[[gnu::always_inline]] inline Mesh* mesh_holding(const Copy& copy, const void* buffer) noexcept {
    if (auto* device = getter_as<const void*(const void*)>(copy, Getter::buffer_device)) return mesh_of(device(buffer));
    if (is_by_core(copy, buffer)) return nullptr;  // on one chip, and such a release does not say on which
    return mesh_with_allocator(ask<const void*>(copy, Getter::buffer_allocator, nullptr, buffer));
}

// What a buffer takes of its banks: whole pages, rounded to what the allocator hands out.
struct Share {
    uint64_t per_bank_bytes, reserved_bytes;
};

inline Share ask_share(const Copy& copy, const void* buffer, const Mesh& mesh, const void* allocator,
                       uint8_t type) noexcept {
    const uint64_t bytes = ask<uint64_t>(copy, Getter::buffer_bank_size, 0, buffer);
    const uint64_t step = mesh.dram_alignment;  // a power of two
    const uint64_t per_bank = step == 0 ? bytes : (bytes + step - 1) & ~(step - 1);
    uint32_t banks = mesh.bank_counts[type];
    const int value = type;  // a part of a mesh may have banks of its own
    if (allocator != mesh.allocator && allocator != nullptr)
        banks = ask<uint32_t>(copy, Getter::bank_count, banks, allocator, &value);
    return {per_bank, per_bank * banks};
}

}  // namespace ttmem::hook
