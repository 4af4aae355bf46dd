// Buffers: what the allocator gave, what came back, and what it could not give.
//
// The runtime tells its graph tracker of every buffer once per mesh, on the thread that allocates, after the memory was
// had; and of its end before the memory goes back. A capture that only imagines its operations tells the same of buffers
// at address 0, where no real one is: they are not charged.
//
// Releases before 0.79 do not export a buffer's id, type and device. There a buffer is known by its address, which no
// other living one of its mesh and pool has, its mesh by its allocator, and its size by its pages.
#include "hook/devices.hpp"
#include "hook/guard.h"
#include "hook/programs/context.hpp"
#include "hook/runtime.hpp"
#include "ttmem/client.h"
#include "writer/operations.hpp"
#include "writer/writer.hpp"

namespace ttmem::hook {
namespace {

// The made-up id of a buffer: this bit, which opening of a mesh (28 bits), its address (32) and its type (3).
constexpr uint64_t kByAddress = 1ull << 63, kOpeningMask = 0xfff'ffff;
constexpr uint32_t kOpeningShift = 35;
constexpr uint8_t kUnknownType = 0xff;

[[gnu::always_inline]] inline uint8_t type_of(const void* buffer) noexcept {
    if (auto* type = getter_as<int(const void*)>(Getter::buffer_type)) return static_cast<uint8_t>(type(buffer));
    if (ask<bool>(Getter::buffer_is_trace, false, buffer)) return TTMEM_BUFFER_TRACE;
    if (ask<bool>(Getter::buffer_is_dram, false, buffer)) return TTMEM_BUFFER_DRAM;
    return ask<bool>(Getter::buffer_is_l1, false, buffer) ? uint8_t{TTMEM_BUFFER_L1} : kUnknownType;
}

uint8_t layout_of(const void* buffer) noexcept {
    auto* layout = getter_as<uint8_t(const void*)>(Getter::buffer_layout);
    return layout == nullptr ? uint8_t{TTMEM_LAYOUT_UNKNOWN} : static_cast<uint8_t>(TTMEM_INTERLEAVED + layout(buffer));
}

[[gnu::always_inline]] inline uint64_t size_of(const void* buffer) noexcept {
    if (auto* size = getter_as<uint64_t(const void*)>(Getter::buffer_size)) return size(buffer);
    return ask<uint64_t>(Getter::buffer_page_size, 0, buffer) * ask<uint32_t>(Getter::buffer_pages, 0, buffer);
}

uint64_t id_of(const void* buffer, const Mesh& mesh, uint64_t address, uint8_t type) noexcept {
    if (auto* id = getter_as<uint64_t(const void*)>(Getter::buffer_id)) return id(buffer);
    const uint64_t opening = mesh.number.load(std::memory_order_relaxed) & kOpeningMask;
    return kByAddress | opening << kOpeningShift | address << 3 | (type & 7u);
}

[[gnu::always_inline]] inline Mesh* mesh_holding(const void* buffer) noexcept {
    if (auto* device = getter_as<const void*(const void*)>(Getter::buffer_device)) return mesh_of(device(buffer));
    return mesh_with_allocator(ask<const void*>(Getter::buffer_allocator, nullptr, buffer));
}

// What a buffer takes of its banks: whole pages, rounded to what the allocator hands out.
struct Share {
    uint64_t per_bank_bytes, reserved_bytes;
};

Share ask_share(const void* buffer, const Mesh& mesh, const void* allocator, uint8_t type) noexcept {
    const uint64_t bytes = ask<uint64_t>(Getter::buffer_bank_size, 0, buffer);
    const uint64_t step = mesh.dram_alignment;  // a power of two
    const uint64_t per_bank = step == 0 ? bytes : (bytes + step - 1) & ~(step - 1);
    uint32_t banks = mesh.bank_counts[type];
    const int value = type;  // a part of a mesh may have banks of its own
    if (allocator != mesh.allocator && allocator != nullptr)
        banks = ask<uint32_t>(Getter::bank_count, banks, allocator, &value);
    return {per_bank, per_bank * banks};
}

// Asking takes the runtime longer than the rest of a report takes us. Interleaved buffers of equal size and page take the
// same of the same allocator, so each thread remembers some.
struct Remembered {
    const void* allocator;
    uint64_t size, page;
    uint32_t opening;
    uint8_t type;
    Share share;
};
constexpr uint32_t kRememberedMost = 16;
thread_local __attribute__((tls_model("initial-exec"))) Remembered remembered[kRememberedMost];

Share share_of(const void* buffer, const Mesh& mesh, const ttmem_buffer& report) noexcept {
    if (report.type >= kBufferTypes || mesh.bank_counts[report.type] == 0) return {};
    const void* allocator = ask<const void*>(Getter::buffer_allocator, nullptr, buffer);
    if (report.layout != TTMEM_INTERLEAVED) return ask_share(buffer, mesh, allocator, report.type);
    const uint32_t opening = mesh.number.load(std::memory_order_relaxed);
    const uint64_t mixed = (report.requested_bytes ^ report.page_bytes << 20 ^ report.type) * 0x9e37'79b9'7f4a'7c15ull;
    Remembered& one = remembered[mixed >> 60];
    if (one.allocator != allocator || one.size != report.requested_bytes || one.page != report.page_bytes ||
        one.opening != opening || one.type != report.type)
        one = {allocator,         report.requested_bytes,
               report.page_bytes, opening,
               report.type,       ask_share(buffer, mesh, allocator, report.type)};
    return one.share;
}

struct Statistics {
    uint64_t total, allocated, free, largest;  // of one bank
};

// An exception passes: memory ran out, or the request was impossible.
void report_refusal(void* allocator, void* buffer) noexcept {
    Mesh* mesh = mesh_holding(static_cast<const void*>(buffer));
    const uint8_t type = type_of(static_cast<const void*>(buffer));
    if (mesh == nullptr || type >= kBufferTypes) return;
    Statistics statistics{};
    const auto* view = ask<const void* const*>(Getter::allocator_view, nullptr, static_cast<const void*>(allocator));
    auto* tell = getter_as<void(Statistics*, const void*, const int*)>(Getter::bank_statistics);
    const int value = type;
    if (view != nullptr && *view != nullptr && tell != nullptr) tell(&statistics, *view, &value);
    const uint64_t banks = mesh->bank_counts[type];
    const uint64_t size = size_of(static_cast<const void*>(buffer));
    // Of a memory that this device was opened without there are no banks, and the runtime would divide by none.
    const uint64_t in_banks =
        banks == 0 ? 0 : ask_share(static_cast<const void*>(buffer), *mesh, mesh->allocator, type).reserved_bytes;
    ttmem_out_of_memory(target_of(*mesh), kPoolOf[type], in_banks > size ? in_banks : size, statistics.free * banks,
                        statistics.largest * banks);
}

void report_allocation(const void* buffer) noexcept {
    const uint64_t address = ask<uint32_t>(Getter::buffer_address, 0, buffer);
    Mesh* mesh = address == 0 ? nullptr : mesh_holding(buffer);
    if (mesh == nullptr) return;
    ttmem_buffer report{};
    report.target = target_of(*mesh);
    report.type = type_of(buffer);
    report.id = id_of(buffer, *mesh, address, report.type);
    report.address = address;
    report.requested_bytes = size_of(buffer);
    report.page_bytes = ask<uint64_t>(Getter::buffer_page_size, 0, buffer);
    report.layout = layout_of(buffer);
    const Share share = share_of(buffer, *mesh, report);
    report.per_bank_bytes = share.per_bank_bytes;
    report.reserved_bytes = share.reserved_bytes;
    if (report.target == 0 || hold_binaries(*mesh, report.id, report.reserved_bytes, address)) return;
    ttmem_buffer_alloc(&report);
}

// A free names its bytes for a table that was too full to keep the allocation; asking the runtime for them takes longer
// than the rest of the report.
bool must_name_bytes() noexcept {
    const bool is_own_journal =
        the_alive_word.load(std::memory_order_acquire)->load(std::memory_order_acquire) == kAlive;
    return !is_own_journal || the_writer.header->untabled_allocs.load(std::memory_order_relaxed) != 0;
}

void report_free(const void* buffer) noexcept {
    const uint64_t address = ask<uint32_t>(Getter::buffer_address, 0, buffer);
    Mesh* mesh = address == 0 ? nullptr : mesh_holding(buffer);
    if (mesh == nullptr) return;
    const uint16_t target = target_of(*mesh);
    const uint8_t type = type_of(buffer);
    const uint64_t id = id_of(buffer, *mesh, address, type);
    if ((type == TTMEM_BUFFER_DRAM && release_binaries(*mesh, id)) || target == 0) return;
    const bool is_known = type < kBufferTypes;
    uint64_t bytes = 0;
    if (__builtin_expect(is_known && must_name_bytes(), 0)) {
        const void* allocator = ask<const void*>(Getter::buffer_allocator, nullptr, buffer);
        bytes = ask_share(buffer, *mesh, allocator, type).reserved_bytes;
    }
    const uint8_t pool = is_known ? kPoolOf[type] : uint8_t{TTMEM_POOL_UNKNOWN};
    ttmem_free_id(target, TTMEM_BUFFER, id, pool, bytes);
}

}  // namespace
}  // namespace ttmem::hook

using ttmem::hook::Hook;

TTMEM_INTERPOSE(track_allocate, void, (void* self, const void* buffer)) {
    auto* real = ttmem::hook::original_as<void(void*, const void*)>(Hook::track_allocate);
    if (TTMEM_ON) ttmem::hook::report_allocation(buffer);
    if (real != nullptr) real(self, buffer);
}

TTMEM_INTERPOSE(track_deallocate, void, (void* self, void* buffer)) {
    auto* real = ttmem::hook::original_as<void(void*, void*)>(Hook::track_deallocate);
    if (TTMEM_ON) ttmem::hook::report_free(buffer);
    if (real != nullptr) real(self, buffer);
}

TTMEM_INTERPOSE(allocate_buffer, uint64_t, (void* self, void* buffer)) {
    void* real = ttmem::hook::original(Hook::allocate_buffer);
    if (real == nullptr) return 0;
    return ttmem_guarded_pair(real, self, buffer, ttmem::hook::report_refusal);
}
