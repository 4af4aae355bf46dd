// Buffers: what the allocator gave, and what came back (refusals/ has what it could not give).
//
// The runtime tells its graph tracker of every buffer once per mesh, on the thread that allocates, after the memory was
// had; and of its end before the memory goes back. A capture that only imagines its operations tells the same of buffers
// at address 0, where no real one is: they are not charged.
#include "hook/buffer_facts.hpp"
#include "hook/core_buffers.hpp"
#include "hook/devices.hpp"
#include "hook/guard.h"
#include "hook/programs/context.hpp"
#include "hook/programs/memory.hpp"
#include "hook/refusals/refusals.hpp"
#include "hook/runtime.hpp"
#include "ttmem/client.h"
#include "writer/operations.hpp"
#include "writer/writer.hpp"

namespace ttmem::hook {
namespace {

// The made-up id of a buffer: this bit, which opening of a mesh (28 bits), its address (32) and its type (3).
constexpr uint64_t kByAddress = 1ull << 63, kOpeningMask = 0xfff'ffff;
constexpr uint32_t kOpeningShift = 35;
constexpr uint64_t kUntold = 0;          // the handle of a buffer that nobody was told of; its end is no event
constexpr uint8_t kInterleaved = 0;      // tt-metal's TensorMemoryLayout
constexpr uint32_t kOnChip = 0xff'ffff;  // in a key, for the number of a mesh: no mesh has this one
constexpr uint64_t kAddressMask = (1ull << 48) - 1;  // in the word of an address

[[gnu::always_inline]] inline uint64_t id_of(const Copy& copy, const void* buffer, const Mesh& mesh, uint64_t address,
                                             uint8_t type) noexcept {
    if (auto* id = getter_as<uint64_t(const void*)>(copy, Getter::buffer_id)) return id(buffer);
    const uint64_t opening = mesh.number.load(std::memory_order_relaxed) & kOpeningMask;
    return kByAddress | opening << kOpeningShift | address << 3 | (type & 7u);
}

uint64_t key_of_handle(uint64_t id, const Mesh& mesh) noexcept {
    return decltype(Memory::handles)::key_of(id, mesh.number.load(std::memory_order_relaxed));
}

// Asking takes the runtime longer than the rest of a report takes us, and every line of code that we go through costs the
// host one of its own. Interleaved buffers of equal type, size and page take the same of their mesh's own allocator: but for
// id and address their records are equal. So each thread remembers some.
struct alignas(64) Remembered {
    uint64_t size, page;
    uint64_t place;                                     // the opening of its mesh | type << 32; 0: empty
    uint64_t tag, form, reserved, requested, per_bank;  // of its record; form: the word of its address, without that
};
constexpr uint32_t kRememberedMost = 16;
thread_local __attribute__((tls_model("initial-exec"))) Remembered remembered[kRememberedMost];

[[gnu::always_inline]] inline Remembered& remembered_for(uint64_t size, uint64_t page, uint64_t place) noexcept {
    return remembered[((size ^ page << 20 ^ place) * 0x9e37'79b9'7f4a'7c15ull) >> 60];
}

uint64_t place_of(const Mesh& mesh, uint8_t type) noexcept {
    return mesh.number.load(std::memory_order_relaxed) | uint64_t{type} << 32;
}

// Whether the fields of a buffer say what the getters said.
bool are_fields_right(const BufferLook& look, const ttmem_buffer& report, const void* device) noexcept {
    return look.id() == report.id && look.address() == report.address && look.size() == report.requested_bytes &&
           look.page_size() == report.page_bytes && look.type() == report.type && look.device() == device &&
           look.layout() + TTMEM_INTERLEAVED == report.layout;
}

void compare(const Copy& copy, const void* buffer, Mesh& mesh, const ttmem_buffer& report) noexcept {
    BufferFields& fields = copy.fields;
    FieldsState state = fields.state.load(std::memory_order_acquire);
    if (state == FieldsState::none) return;
    const BufferLook look(fields, buffer);
    if (!are_fields_right(look, report, tell<const void*>(copy, Getter::buffer_device, buffer)))
        return fields.state.store(FieldsState::none, std::memory_order_release);
    mesh.allocator_inside.store(look.allocator(), std::memory_order_relaxed);
    if (state == FieldsState::read) fields.state.compare_exchange_strong(state, FieldsState::confirmed);
}

void remember(const Mesh& mesh, const ttmem_buffer& report) noexcept {
    Words words;
    if (report.target == 0 || !describe_buffer(report, words)) return;
    const uint64_t place = place_of(mesh, report.type);
    remembered_for(report.requested_bytes, report.page_bytes, place) = {
        report.requested_bytes,        report.page_bytes, place,           words.tag,
        words.address & ~kAddressMask, words.reserved,    words.requested, words.per_bank};
}

// The runtime never uses an id again: one that lives already was left behind by a lost free.
bool report_with_handle(ttmem_buffer& report, uint64_t key) noexcept {
    Memory* all = memory();
    if (__builtin_expect(all == nullptr, 0)) return false;
    std::atomic<uint64_t>* handle = all->handles.claim(key);
    if (__builtin_expect(handle == nullptr, 0)) {
        uint64_t left = 0;
        if (all->handles.take(key, left)) ttmem_free(left);
        return false;
    }
    report.options = TTMEM_BY_HANDLE;
    handle->store(ttmem_buffer_alloc_on(&report), std::memory_order_release);
    return true;
}

[[gnu::always_inline]] inline bool take_handle(uint64_t id, const Mesh& mesh, uint64_t& handle) noexcept {
    Memory* all = memory();
    return all != nullptr && all->handles.take(key_of_handle(id, mesh), handle);
}

// The handle of a buffer that is on a chip: whichever mesh of the chip is found, it is found again.
uint64_t key_on_chip(uint64_t id) noexcept { return decltype(Memory::handles)::key_of(id, kOnChip); }

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
    Memory* all = memory();
    if (mesh == nullptr || id == nullptr || all == nullptr) return ttmem_unreported(1);
    report.id = id(buffer);
    report.address = is_cored ? 0 : ask<uint32_t>(copy, Getter::buffer_address, 0, buffer);
    report.requested_bytes = size_of(copy, buffer);
    report.page_bytes = ask<uint64_t>(copy, Getter::buffer_page_size, 0, buffer);
    report.layout = layout_of(copy, buffer);
    const Share share = ask_share(copy, buffer, *mesh, mesh->allocator, report.type);
    report.per_bank_bytes = share.per_bank_bytes;
    report.reserved_bytes = share.reserved_bytes;
    std::atomic<uint64_t>* handle = all->handles.claim(key_on_chip(report.id));
    report.options = handle == nullptr ? 0 : TTMEM_BY_HANDLE;
    const ttmem_handle told = is_cored ? report_by_core(copy, buffer, report) : ttmem_buffer_alloc(&report);
    if (handle != nullptr) handle->store(told, std::memory_order_release);
    if (told == 0) ttmem_unreported(1);
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
    if (report.layout == TTMEM_INTERLEAVED && allocator == mesh->allocator) {
        compare(copy, buffer, *mesh, report);
        remember(*mesh, report);
    }
    if (report.target == 0) return;
    if (report.type == TTMEM_BUFFER_DRAM &&
        (hold_binaries(*mesh, report.id, report.reserved_bytes, address) || hold_trace(*mesh, report)))
        return;
    if (!report_with_handle(report, key_of_handle(report.id, *mesh))) ttmem_buffer_alloc(&report);
}

// A buffer that is asked for by its getters, where they must be called; else it is a BufferLook.
class BufferAsked {
public:
    BufferAsked(const Copy& copy, const void* buffer) noexcept : copy_(copy), buffer_(buffer) {}

    uint64_t id() const noexcept { return tell<uint64_t>(copy_, Getter::buffer_id, buffer_); }
    uint64_t size() const noexcept { return tell<uint64_t>(copy_, Getter::buffer_size, buffer_); }
    uint64_t page_size() const noexcept { return tell<uint64_t>(copy_, Getter::buffer_page_size, buffer_); }
    const void* device() const noexcept { return tell<const void*>(copy_, Getter::buffer_device, buffer_); }
    uint8_t type() const noexcept { return tell<uint8_t>(copy_, Getter::buffer_type, buffer_); }
    uint8_t layout() const noexcept { return tell<uint8_t>(copy_, Getter::buffer_layout, buffer_); }
    uint32_t address() const noexcept { return tell<uint32_t>(copy_, Getter::buffer_address, buffer_); }
    const void* allocator() const noexcept { return tell<const void*>(copy_, Getter::buffer_allocator, buffer_); }

private:
    const Copy& copy_;
    const void* buffer_;
};

bool is_of_whole(const BufferLook& look, const Mesh& mesh) noexcept {
    return look.allocator() == mesh.allocator_inside.load(std::memory_order_relaxed);
}
bool is_of_whole(const BufferAsked& asked, const Mesh& mesh) noexcept { return asked.allocator() == mesh.allocator; }

// The way of nearly all buffers. False, and nothing done: this one is not like one that was reported before, or nobody may
// write, or it has no place for its handle.
template <class Buffer>
[[gnu::always_inline]] inline bool report_like_before(const Buffer& buffer) noexcept {
    const Context& now = context();
    const bool is_alone = site_source.load(std::memory_order_acquire) == nullptr &&
                          (word_of(now.enqueued) | uint64_t{now.is_ending_trace}) == 0;
    if (__builtin_expect(!has_journal() || !is_alone, 0)) return false;
    const Mesh* mesh = last_mesh_if(buffer.device());
    if (__builtin_expect(mesh == nullptr || mesh->target.load(std::memory_order_acquire) == 0, 0)) return false;
    const uint64_t address = buffer.address();
    const uint64_t size = buffer.size(), page = buffer.page_size(), place = place_of(*mesh, buffer.type());
    const Remembered& one = remembered_for(size, page, place);
    const bool is_like = one.size == size && one.page == page && one.place == place && address != 0 &&
                         buffer.layout() == kInterleaved && is_of_whole(buffer, *mesh);
    if (__builtin_expect(!is_like, 0)) return false;
    const uint64_t id = buffer.id();
    Memory* all = memory();
    if (__builtin_expect(all == nullptr, 0)) return false;
    std::atomic<uint64_t>* handle = all->handles.claim(key_of_handle(id, *mesh));
    if (__builtin_expect(handle == nullptr, 0)) return false;
    handle->store(allocate_described(one.tag, id, address | one.form, one.reserved, one.requested, one.per_bank),
                  std::memory_order_release);
    return true;
}

[[gnu::noinline]] bool report_asked(const Copy& copy, const void* buffer) noexcept {
    return copy.tells_of_buffers && report_like_before(BufferAsked(copy, buffer));
}

[[gnu::always_inline]] inline bool report_like_before(const Copy& copy, const void* buffer) noexcept {
    if (__builtin_expect(!copy.fields.are_sure(), 0)) return report_asked(copy, buffer);
    return report_like_before(BufferLook(copy.fields, buffer));
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

// The way of nearly all; false, and nothing done: as above.
template <class Buffer>
[[gnu::always_inline]] inline bool report_free_like_before(const Buffer& buffer) noexcept {
    if (__builtin_expect(!has_journal(), 0)) return false;
    const Mesh* mesh = last_mesh_if(buffer.device());
    if (__builtin_expect(mesh == nullptr || mesh->target.load(std::memory_order_acquire) == 0, 0)) return false;
    uint64_t handle = 0;
    if (__builtin_expect(!take_handle(buffer.id(), *mesh, handle), 0)) return false;
    free_by_handle(handle);
    return true;
}

[[gnu::noinline]] bool report_free_asked(const Copy& copy, const void* buffer) noexcept {
    return copy.tells_of_buffers && report_free_like_before(BufferAsked(copy, buffer));
}

[[gnu::always_inline]] inline bool report_free_like_before(const Copy& copy, const void* buffer) noexcept {
    if (__builtin_expect(!copy.fields.are_sure(), 0)) return report_free_asked(copy, buffer);
    return report_free_like_before(BufferLook(copy.fields, buffer));
}

// Tracking is off, and may be on again when it ends: then it is known as one that nobody was told of.
[[gnu::cold]] void keep_untold(const Copy& copy, const void* buffer) noexcept {
    auto* id = getter_as<uint64_t(const void*)>(copy, Getter::buffer_id);
    if (id == nullptr || !remembers()) return;
    const Mesh* mesh = mesh_holding(copy, buffer);
    const uint64_t key = mesh == nullptr ? key_on_chip(id(buffer)) : key_of_handle(id(buffer), *mesh);
    if (auto* handle = memory()->handles.claim(key)) handle->store(kUntold, std::memory_order_release);
}

void allocated_unlike(const Copy* copy, const void* buffer) noexcept {
    if (copy == nullptr) return;
    TTMEM_ON ? report_allocation(*copy, buffer) : keep_untold(*copy, buffer);
}

void allocated(const Copy* copy, const void* buffer) noexcept {
    if (copy == nullptr || !report_like_before(*copy, buffer)) allocated_unlike(copy, buffer);
}

// Also while tracking is off: nobody is told then, but its handle and its binaries are to be forgotten.
void freed(const Copy* copy, const void* buffer) noexcept {
    if (copy != nullptr && (TTMEM_ON || remembers())) report_free(*copy, buffer);
}

using Tracked = void(void*, const void*);
using Tell = void(const Copy*, const void*) noexcept;

// Somebody else's call, or one that is not like those before.
template <Tell tell_of>
[[gnu::noinline]] void track_elsewhere(void* self, const void* buffer, Hook hook, const void* caller) {
    auto* real = reinterpret_cast<Tracked*>(original_from(hook, caller));
    tell_of(at_hand.copy, buffer);
    if (real != nullptr) real(self, buffer);
}

}  // namespace
}  // namespace ttmem::hook

using ttmem::hook::Hook;

TTMEM_INTERPOSE_HOT(track_allocate, void, (void* self, const void* buffer)) {
    const void* caller = __builtin_return_address(0);
    if (__builtin_expect(!ttmem::hook::is_usual(caller), 0))
        return ttmem::hook::track_elsewhere<ttmem::hook::allocated>(self, buffer, Hook::track_allocate, caller);
    const auto* copy = ttmem::hook::usual_copy();
    if (__builtin_expect(!ttmem::hook::report_like_before(*copy, buffer), 0))
        return ttmem::hook::track_elsewhere<ttmem::hook::allocated_unlike>(self, buffer, Hook::track_allocate, caller);
    ttmem::hook::original_in<ttmem::hook::Tracked>(copy, Hook::track_allocate)(self, buffer);
}

TTMEM_INTERPOSE_HOT(track_deallocate, void, (void* self, void* buffer)) {
    const void* caller = __builtin_return_address(0);
    if (__builtin_expect(!ttmem::hook::is_usual(caller), 0))
        return ttmem::hook::track_elsewhere<ttmem::hook::freed>(self, buffer, Hook::track_deallocate, caller);
    const auto* copy = ttmem::hook::usual_copy();
    if (__builtin_expect(!ttmem::hook::report_free_like_before(*copy, buffer), 0))
        return ttmem::hook::track_elsewhere<ttmem::hook::freed>(self, buffer, Hook::track_deallocate, caller);
    ttmem::hook::original_in<ttmem::hook::Tracked>(copy, Hook::track_deallocate)(self, buffer);
}

TTMEM_INTERPOSE_HOT(allocate_buffer, uint64_t, (void* self, void* buffer)) {
    void* real = ttmem::hook::original(Hook::allocate_buffer);
    if (real == nullptr) return 0;
    return ttmem_guarded_pair(real, self, buffer, ttmem::hook::report_refusal);
}
