// Buffers: what the allocator gave, and what came back (refusals/ has what it could not give).
//
// The runtime tells its graph tracker of every buffer once per mesh, on the thread that allocates, after the memory was
// had; and of its end before the memory goes back. A capture that only imagines its operations tells the same of buffers
// at address 0, where no real one is: they are not charged.
#include "hook/buffer_facts.hpp"
#include "hook/core_buffers.hpp"
#include "hook/devices.hpp"
#include "hook/guard.h"
#include "hook/naming/pending.hpp"
#include "hook/programs/context.hpp"
#include "hook/programs/memory.hpp"
#include "hook/refusals/refusals.hpp"
#include "hook/runtime.hpp"
#include "hook/tensors/tensors.hpp"
#include "ttmem/client.h"
#include "writer/operations.hpp"
#include "writer/writer.hpp"

namespace ttmem::hook {
namespace {

// The id that we give a buffer: this bit, which opening of a mesh (28 bits), its address (32) and its type (3).
constexpr uint64_t kByAddress = 1ull << 63, kOpeningMask = 0xfff'ffff;
constexpr uint32_t kOpeningShift = 35;
constexpr uint64_t kUntold = 0;          // the handle of a buffer that nobody was told of; its end is no event
constexpr uint32_t kOnChip = 0xff'ffff;  // in a key, for the number of a mesh: no mesh has this one

[[gnu::always_inline]] inline uint64_t id_of(const Copy& copy, const void* buffer, const Mesh& mesh, uint64_t address,
                                             uint8_t type) noexcept {
    if (auto* id = getter_as<uint64_t(const void*)>(copy, Getter::buffer_id)) return id(buffer);
    const uint64_t opening = mesh.number.load(std::memory_order_relaxed) & kOpeningMask;
    return kByAddress | opening << kOpeningShift | address << 3 | (type & 7u);
}

uint64_t key_of_handle(uint64_t id, const Mesh& mesh) noexcept {
    return decltype(Memory::handles)::key_of(id, mesh.number.load(std::memory_order_relaxed));
}

// The runtime never uses an id again: one that lives already was left behind by a lost free.
void report_with_handle(ttmem_buffer& report, uint64_t key, const Asked& asked) noexcept {
    Memory* all = memory();
    report.site = asked.site;
    std::atomic<uint64_t>* handle = __builtin_expect(all == nullptr, 0) ? nullptr : all->handles.claim(key);
    if (__builtin_expect(handle == nullptr, 0)) {
        uint64_t left = 0;
        if (all != nullptr && all->handles.take(key, left)) ttmem_free(left);
        return note_pending(asked.stack, ttmem_buffer_alloc(&report));
    }
    report.options = TTMEM_BY_HANDLE;
    const ttmem_handle told = ttmem_buffer_alloc_on(&report);
    handle->store(told, std::memory_order_release);
    note_pending(asked.stack, told);
}

[[gnu::always_inline]] inline bool take_handle(uint64_t id, const Mesh& mesh, uint64_t& handle) noexcept {
    Memory* all = memory();
    return all != nullptr && all->handles.take(key_of_handle(id, mesh), handle);
}

// The handle of a buffer that is on a chip: whichever mesh of the chip is found, it is found again.
uint64_t key_on_chip(uint64_t id) noexcept { return decltype(Memory::handles)::key_of(id, kOnChip); }

// By its handle where there is room for that, else by its id.
template <class Tell>
bool report_by_key(ttmem_buffer& report, uint64_t key, const Asked& asked, Tell tell) noexcept {
    Memory* all = memory();
    std::atomic<uint64_t>* handle = all == nullptr ? nullptr : all->handles.claim(key);
    report.options = handle == nullptr ? 0 : TTMEM_BY_HANDLE;
    report.site = asked.site;
    const ttmem_handle told = tell(report);
    if (handle != nullptr) handle->store(told, std::memory_order_release);
    if (told != 0) note_pending(asked.stack, told);
    return told != 0;
}

bool is_imagined(const Copy& copy, const void* buffer) noexcept {
    if (is_by_core(copy, buffer)) return is_on_no_core(copy, buffer);
    return ask<uint32_t>(copy, Getter::buffer_address, 0, buffer) == 0;
}

// A buffer on no mesh that is known; nor on a chip that is known: then nobody can say where its bytes are missing.
[[gnu::noinline]] void report_on_chip(const Copy& copy, const void* buffer) noexcept {
    if (is_imagined(copy, buffer)) return;
    const bool is_cored = is_by_core(copy, buffer);
    const void* device = ask<const void*>(copy, Getter::buffer_device, nullptr, buffer);
    auto* id = getter_as<uint64_t(const void*)>(copy, Getter::buffer_id);
    ttmem_buffer report{};
    report.target = device == nullptr ? uint16_t{0} : target_of(device);
    report.type = type_of(copy, buffer);
    const Mesh* mesh = report.target == 0 || report.type >= kBufferTypes ? nullptr : mesh_with_chip(device);
    if (mesh == nullptr || id == nullptr || memory() == nullptr) return ttmem_unreported(1);
    report.id = id(buffer);
    report.address = is_cored ? 0 : ask<uint32_t>(copy, Getter::buffer_address, 0, buffer);
    report.requested_bytes = size_of(copy, buffer);
    report.page_bytes = ask<uint64_t>(copy, Getter::buffer_page_size, 0, buffer);
    report.layout = layout_of(copy, buffer);
    const Share share = ask_share(copy, buffer, *mesh, mesh->allocator, report.type);
    report.per_bank_bytes = share.per_bank_bytes;
    report.reserved_bytes = share.reserved_bytes;
    const bool is_told = report_by_key(report, key_on_chip(report.id), asked_by(copy), [&](const ttmem_buffer& told) {
        return is_cored ? report_by_core(copy, buffer, told) : ttmem_buffer_alloc(&told);
    });
    if (!is_told) ttmem_unreported(1);
}

void report_free_on_chip(const Copy& copy, const void* buffer) noexcept {
    auto* id = getter_as<uint64_t(const void*)>(copy, Getter::buffer_id);
    Memory* all = memory();
    uint64_t handle = 0;
    if (id == nullptr || all == nullptr) return;
    if (all->handles.take(key_on_chip(id(buffer)), handle)) return ttmem_free(handle);
    if (is_imagined(copy, buffer)) return;
    const void* device = ask<const void*>(copy, Getter::buffer_device, nullptr, buffer);
    const uint16_t target = device == nullptr ? uint16_t{0} : target_of(device);
    const uint8_t type = type_of(copy, buffer);
    if (target != 0 && type < kBufferTypes) ttmem_free_id(target, TTMEM_BUFFER, id(buffer), kPoolOf[type], 0);
}

[[gnu::noinline]] void report_allocation(const Copy& copy, const void* buffer) noexcept {
    Mesh* mesh = mesh_holding(copy, buffer);
    if (mesh == nullptr) return report_on_chip(copy, buffer);
    const uint64_t address = ask<uint32_t>(copy, Getter::buffer_address, 0, buffer);
    if (address == 0) return;
    ttmem_buffer report{};
    report.target = target_of(*mesh);
    report.type = type_at(copy, buffer, *mesh, address);
    report.id = id_of(copy, buffer, *mesh, address, report.type);
    report.address = address;
    report.requested_bytes = size_of(copy, buffer);
    report.page_bytes = ask<uint64_t>(copy, Getter::buffer_page_size, 0, buffer);
    report.layout = layout_of(copy, buffer);
    const void* allocator = ask<const void*>(copy, Getter::buffer_allocator, nullptr, buffer);
    if (report.type < kBufferTypes && mesh->bank_counts[report.type] != 0) {
        const Share share = ask_share(copy, buffer, *mesh, allocator, report.type);
        report.per_bank_bytes = share.per_bank_bytes;
        report.reserved_bytes = share.reserved_bytes;
    }
    if (report.target == 0) return;
    const uint64_t key = key_of_handle(report.id, *mesh);
    if (__builtin_expect(report.type == TTMEM_BUFFER_L1 && is_of_sub_device(*mesh, allocator), 0)) {
        report_by_key(report, key, asked_by(copy),
                      [&](const ttmem_buffer& told) { return report_on_sub_device(copy, *mesh, allocator, told); });
        return;
    }
    if (__builtin_expect(context().is_ending_trace, 0)) context().trace_bytes = report.reserved_bytes;
    if (report.type == TTMEM_BUFFER_DRAM &&
        (hold_binaries(*mesh, report.id, report.reserved_bytes, address) || hold_trace(*mesh, report)))
        return;
    report_with_handle(report, key, asked_by(copy));
}

// A free names its bytes for a table that was too full to keep the allocation; asking the runtime for them takes longer
// than the rest of the report.
bool must_name_bytes() noexcept {
    return !has_journal() || the_writer.header->untabled_allocs.load(std::memory_order_relaxed) != 0;
}

[[gnu::noinline]] void report_free_by_id(const Copy& copy, const void* buffer, Mesh& mesh) noexcept {
    const uint64_t address = ask<uint32_t>(copy, Getter::buffer_address, 0, buffer);
    if (address == 0) return;
    const uint16_t target = target_of(mesh);
    const uint8_t type = type_at(copy, buffer, mesh, address);
    const uint64_t id = id_of(copy, buffer, mesh, address, type);
    if ((type == TTMEM_BUFFER_DRAM && release_held(mesh, id)) || target == 0) return;
    const bool is_known = type < kBufferTypes;
    uint64_t bytes = 0;
    if (__builtin_expect(is_known && must_name_bytes(), 0)) {
        const void* allocator = ask<const void*>(copy, Getter::buffer_allocator, nullptr, buffer);
        bytes = ask_share(copy, buffer, mesh, allocator, type).reserved_bytes;
    }
    const uint8_t pool = is_known ? kPoolOf[type] : uint8_t{TTMEM_POOL_UNKNOWN};
    ttmem_free_id(target, TTMEM_BUFFER, id, pool, bytes);
}

[[gnu::noinline]] void report_free(const Copy& copy, const void* buffer) noexcept {
    Mesh* mesh = mesh_holding(copy, buffer);
    if (mesh == nullptr) return report_free_on_chip(copy, buffer);
    auto* id = getter_as<uint64_t(const void*)>(copy, Getter::buffer_id);
    uint64_t handle = 0;
    if (__builtin_expect(id == nullptr || !take_handle(id(buffer), *mesh, handle), 0))
        return report_free_by_id(copy, buffer, *mesh);
    if (target_of(*mesh) == 0) return;
    if (has_journal()) return free_by_handle(handle);
    ttmem_free_on(handle);
}

// Tracking is off, and may be on again when it ends: then it is known as one that nobody was told of.
[[gnu::cold]] void keep_untold(const Copy& copy, const void* buffer) noexcept {
    auto* id = getter_as<uint64_t(const void*)>(copy, Getter::buffer_id);
    if (id == nullptr || !remembers()) return;
    const Mesh* mesh = mesh_holding(copy, buffer);
    const uint64_t key = mesh == nullptr ? key_on_chip(id(buffer)) : key_of_handle(id(buffer), *mesh);
    if (auto* handle = memory()->handles.claim(key)) handle->store(kUntold, std::memory_order_release);
}

[[gnu::always_inline]] inline void allocated(const Copy& copy, const void* buffer) noexcept {
    __builtin_expect(TTMEM_ON, 1) ? report_allocation(copy, buffer) : keep_untold(copy, buffer);
}

// Also while tracking is off: nobody is told then, but its handle and its binaries are to be forgotten.
[[gnu::always_inline]] inline void freed(const Copy& copy, const void* buffer) noexcept {
    if (__builtin_expect(TTMEM_ON || remembers(), 1)) report_free(copy, buffer);
}

using Tracked = void(void*, const void*);

// Where the call goes to, and to which copy that belongs; a call from somebody else than the runtime is looked for.
[[gnu::always_inline]] inline Tracked* tracked_by(Hook hook, const void* caller, const Copy*& copy) noexcept {
    if (__builtin_expect(is_usual(caller), 1)) {
        at_hand.copy = copy = usual_copy();
        return original_in<Tracked>(copy, hook);
    }
    auto* real = reinterpret_cast<Tracked*>(original_from(hook, caller));
    copy = at_hand.copy;
    return real;
}

}  // namespace
}  // namespace ttmem::hook

using ttmem::hook::Hook;

TTMEM_INTERPOSE_HOT(track_allocate, void, (void* self, const void* buffer)) {
    const ttmem::hook::Copy* copy = nullptr;
    auto* real = ttmem::hook::tracked_by(Hook::track_allocate, __builtin_return_address(0), copy);
    if (copy != nullptr) ttmem::hook::allocated(*copy, buffer);
    if (real != nullptr) real(self, buffer);
}

TTMEM_INTERPOSE_HOT(track_deallocate, void, (void* self, void* buffer)) {
    const ttmem::hook::Copy* copy = nullptr;
    auto* real = ttmem::hook::tracked_by(Hook::track_deallocate, __builtin_return_address(0), copy);
    if (copy != nullptr) ttmem::hook::freed(*copy, buffer);
    if (real != nullptr) real(self, buffer);
}

TTMEM_INTERPOSE_HOT(allocate_buffer, uint64_t, (void* self, void* buffer)) {
    void* real = ttmem::hook::original(Hook::allocate_buffer);
    if (real == nullptr) return 0;
    ttmem::hook::at_hand.allocator = self;
    return ttmem_guarded_pair(real, self, buffer, ttmem::hook::report_refusal);
}
