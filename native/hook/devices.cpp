#include "hook/devices.hpp"

#include <cstddef>
#include <cstring>

#include "hook/chips.hpp"
#include "hook/programs/context.hpp"
#include "hook/runtime.hpp"
#include "ttmem/client.h"
#include "writer/operations.hpp"
#include "writer/owner.hpp"
#include "writer/writer.hpp"

namespace ttmem::hook {
namespace {

constinit Mesh meshes[kMeshesMost]{};  // so that nothing is done when a shell is started
std::atomic<uint32_t> changing{0};
uint32_t opening_count;  // under `changing`

// A mesh by the runtime's id of it, which another copy of the runtime may have given, too.
uint64_t name_in_copy(int64_t id) noexcept {
    const Copy* copy = at_hand.copy;
    return id < 0 || copy == nullptr ? 0 : uint64_t{copy->number} << 32 | static_cast<uint32_t>(id + 1);
}

struct Pair {
    uint64_t first, second;
};

// std::vector as a function returns it: where it begins, where it ends, where its room ends.
template <class T>
struct Vector {
    T* begin = nullptr;
    T* end = nullptr;
    T* room = nullptr;
    ~Vector() {
        auto* release = getter_as<void(void*)>(Getter::operator_delete);
        if (begin != nullptr && release != nullptr) release(begin);
    }
};

void read_chips(Mesh& mesh, const void* impl) noexcept {
    auto* ids_of = getter_as<void(Vector<int>*, const void*)>(Getter::mesh_impl_device_ids);
    auto* devices_of = getter_as<void(Vector<const void*>*, const void*)>(Getter::mesh_impl_devices);
    if (ids_of == nullptr) return;
    Vector<int> ids;
    Vector<const void*> devices;
    ids_of(&ids, impl);
    if (devices_of != nullptr) devices_of(&devices, impl);
    for (const int* id = ids.begin; id != ids.end && mesh.chip_count < kChipsMost; ++id) {
        const std::ptrdiff_t place = id - ids.begin;
        mesh.devices[mesh.chip_count] = place < devices.end - devices.begin ? devices.begin[place] : nullptr;
        mesh.chips[mesh.chip_count++] = static_cast<int16_t>(*id);
    }
}

// tt-metal's AllocatorImpl lays L1_SMALL right above the banks of L1, which begin at its base address.
uint64_t ask_small_begin(const Mesh& mesh) noexcept {
    constexpr int kL1Memory = 0;  // tt-metal's HalMemType
    if (mesh.bank_bytes[TTMEM_BUFFER_L1] == 0 || mesh.bank_counts[TTMEM_BUFFER_L1] == 0) return 0;
    if (mesh.bank_bytes[TTMEM_BUFFER_L1_SMALL] == 0) return ~uint64_t{0};  // there is none
    const uint64_t base = ask<uint32_t>(Getter::bank_base, 0, mesh.allocator, &kL1Memory);
    return base == 0 ? 0 : base + mesh.bank_bytes[TTMEM_BUFFER_L1];
}

void read_banks(Mesh& mesh, const void* impl) noexcept {
    mesh.l1_small_begin = 0;
    const auto* holder = ask<const void* const*>(Getter::mesh_impl_allocator, nullptr, impl);
    mesh.allocator = holder == nullptr ? nullptr : *holder;
    if (mesh.allocator == nullptr) return;
    for (uint8_t type = 0; type < kBufferTypes; ++type) {
        if (type == TTMEM_BUFFER_SYSTEM_MEMORY) continue;  // no bank manager looks after it
        const int value = type;                            // the runtime takes a type by its address
        mesh.bank_counts[type] = ask<uint32_t>(Getter::bank_count, 0, mesh.allocator, &value);
        mesh.bank_bytes[type] = ask<uint64_t>(Getter::bank_size, 0, mesh.allocator, &value);
    }
    mesh.dram_alignment = ask<uint32_t>(Getter::bank_alignment, 0, mesh.allocator, int{TTMEM_BUFFER_DRAM});
    mesh.l1_small_begin = ask_small_begin(mesh);
}

void read_mesh(Mesh& mesh, const void* impl) noexcept {
    mesh.chip_count = 0;
    read_chips(mesh, impl);
    read_banks(mesh, impl);
    mesh.rows = static_cast<uint16_t>(ask<uint64_t>(Getter::mesh_impl_rows, 1, impl));
    mesh.columns = static_cast<uint16_t>(ask<uint64_t>(Getter::mesh_impl_columns, mesh.chip_count, impl));
    const Pair grid = ask<Pair>(Getter::mesh_impl_grid, {}, impl);
    mesh.grid_x = static_cast<uint16_t>(grid.first);
    mesh.grid_y = static_cast<uint16_t>(grid.second);
    mesh.arch = ask<int>(Getter::mesh_impl_arch, 0, impl);
}

// ---- names in the journal

// Whether L1_SMALL buffers cannot be told from others: by their type, which older releases do not export, nor by address.
bool is_undivided(const Mesh& mesh) noexcept {
    return mesh.l1_small_begin == 0 && getter(Getter::buffer_type) == nullptr;
}

uint16_t name_chip(const Mesh& mesh, uint32_t place) noexcept {
    ttmem_device chip{};
    chip.index = mesh.chips[place];
    chip.unique_id = unique_id_of(chip.index);
    char arch[kNameRoom], board[kNameRoom];
    name_of_arch(mesh.arch, arch);
    name_of_board(chip.index, board);
    chip.arch = arch;
    chip.board = board;
    chip.kernel_ring_bytes = kernel_ring_bytes();
    chip.grid_x = mesh.grid_x;
    chip.grid_y = mesh.grid_y;
    chip.dram_banks = static_cast<uint16_t>(mesh.bank_counts[TTMEM_BUFFER_DRAM]);
    chip.l1_banks = static_cast<uint16_t>(mesh.bank_counts[TTMEM_BUFFER_L1]);
    for (uint32_t type = 0; type < kBufferTypes; ++type)
        chip.capacity_bytes[kPoolOf[type]] = mesh.bank_counts[type] * mesh.bank_bytes[type];
    if (is_undivided(mesh)) {  // what is counted as L1 may lie in either
        chip.capacity_bytes[TTMEM_L1] += chip.capacity_bytes[TTMEM_L1_SMALL];
        chip.capacity_bytes[TTMEM_L1_SMALL] = 0;
    }
    const uint16_t target = ttmem_device_open(&chip);
    note_chip_target(chip.index, target);
    return target;
}

uint64_t mixed(uint64_t hash, uint64_t value) noexcept {
    hash = (hash ^ value) * 0x9e37'79b9'7f4a'7c15ull;
    return hash ^ hash >> 29;
}

// Two open meshes of the same chips and shape are told apart by a number.
uint64_t key_of(const Mesh& mesh) noexcept {
    uint64_t key = mixed(mesh.rows, mesh.columns);
    for (uint32_t i = 0; i < mesh.chip_count; ++i) key = mixed(key, unique_id_of(mesh.chips[i]));
    for (const Mesh* other = meshes; other != meshes + kMeshesMost;)
        if (other != &mesh && other->is_open.load(std::memory_order_acquire) && other->key == key) {
            key = mixed(key, 1);
            other = meshes;
        } else {
            ++other;
        }
    return key;
}

void count_undivided() noexcept {
    if (is_owner() && may_write()) the_writer.header->undivided_l1.fetch_add(1, std::memory_order_relaxed);
}

[[gnu::noinline, gnu::cold]] uint16_t name_mesh(Mesh& mesh) noexcept {
    uint16_t chips[kChipsMost];
    for (uint32_t i = 0; i < mesh.chip_count; ++i) chips[i] = name_chip(mesh, i);
    const uint16_t target = ttmem_mesh_open(mesh.key, mesh.rows, mesh.columns, chips, mesh.chip_count);
    name_parts_again(mesh);
    if (is_undivided(mesh)) count_undivided();
    mesh.target.store(target, std::memory_order_release);
    return target;
}

// The end of everything in the journal, but not here: a mesh that is open then is named when something is told of it again.
void forget_names() noexcept {
    for (Mesh& mesh : meshes) mesh.target.store(0, std::memory_order_release);
}

bool is_held(int16_t chip) noexcept {
    for (const Mesh& mesh : meshes) {
        if (!mesh.is_open.load(std::memory_order_acquire)) continue;
        for (uint32_t i = 0; i < mesh.chip_count; ++i)
            if (mesh.chips[i] == chip) return true;
    }
    return false;
}

void close_mesh(Mesh& mesh) noexcept {
    mesh.is_open.store(false, std::memory_order_release);
    const uint16_t target = mesh.target.exchange(0, std::memory_order_acq_rel);
    close_parts(mesh);
    if (target == 0) return;
    ttmem_mesh_close(target);
    for (uint32_t i = 0; i < mesh.chip_count; ++i)
        if (!is_held(mesh.chips[i])) ttmem_device_close(chip_target(mesh.chips[i]));
}

void close_mesh_of(const void* impl) noexcept {
    Mesh* mesh = mesh_numbered(ask<int>(Getter::mesh_impl_id, -1, impl));
    if (mesh != nullptr && mesh->is_open.load(std::memory_order_acquire)) close_mesh(*mesh);
}

// A runtime that was unloaded with its meshes open, and loaded again, counts them from the start.
void close_namesakes(uint64_t name) noexcept {
    for (Mesh& mesh : meshes)
        if (mesh.is_open.load(std::memory_order_acquire) && mesh.name.load(std::memory_order_relaxed) == name)
            close_mesh(mesh);
}

void open_mesh(const void* impl) noexcept {
    const RareLock lock(changing);
    const uint64_t name = name_in_copy(ask<int>(Getter::mesh_impl_id, -1, impl));
    if (name == 0 || !lock.is_held()) return;
    at_turn_off.store(forget_names, std::memory_order_release);
    close_namesakes(name);
    for (uint32_t i = 0; i < kMeshesMost; ++i) {
        Mesh& mesh = meshes[(name + i) % kMeshesMost];
        if (mesh.is_open.load(std::memory_order_acquire)) continue;
        mesh.name.store(0, std::memory_order_release);
        read_mesh(mesh, impl);
        if (mesh.chip_count == 0) return;
        mesh.key = key_of(mesh);
        mesh.number.store(++opening_count, std::memory_order_relaxed);
        mesh.is_open.store(true, std::memory_order_release);
        mesh.name.store(name, std::memory_order_release);
        if (TTMEM_ON) name_mesh(mesh);
        return;
    }
}

}  // namespace

Mesh* mesh_numbered(int64_t id) noexcept {
    const uint64_t wanted = name_in_copy(id);
    if (wanted == 0) return nullptr;
    for (uint32_t i = 0; i < kMeshesMost; ++i) {
        Mesh& mesh = meshes[(wanted + i) % kMeshesMost];
        if (__builtin_expect(mesh.name.load(std::memory_order_acquire) == wanted, 1)) return &mesh;
    }
    return nullptr;
}

bool is_mesh(const void* device) noexcept {
    const auto* table = static_cast<const char*>(getter(Getter::mesh_table));
    const void* first = nullptr;
    std::memcpy(&first, device, sizeof first);
    return table != nullptr && first == table + 16;  // past the offset to the top and the type
}

[[gnu::noinline]] Mesh* mesh_of_another(const void* device) noexcept {
    auto* id = getter_as<int(const void*)>(Getter::mesh_id);
    if (device == nullptr || id == nullptr || !is_mesh(device)) return nullptr;
    Mesh* mesh = mesh_numbered(id(device));
    if (mesh != nullptr) at_hand.mesh = {device, mesh, mesh->number.load(std::memory_order_relaxed)};
    return mesh;
}

Mesh* mesh_with_chip(const void* device) noexcept {
    for (Mesh& mesh : meshes) {
        if (!mesh.is_open.load(std::memory_order_acquire)) continue;
        for (uint32_t i = 0; i < mesh.chip_count; ++i)
            if (mesh.devices[i] == device) return &mesh;
    }
    return nullptr;
}

Mesh* mesh_with_allocator(const void* allocator) noexcept {
    Mesh* only = nullptr;
    uint32_t open_count = 0;
    bool was_of_closed = false;  // a late free: the mesh that is still open has nothing to do with it
    for (Mesh& mesh : meshes) {
        const bool is_its_own = mesh.allocator == allocator;
        if (!mesh.is_open.load(std::memory_order_acquire)) {
            was_of_closed |= is_its_own;
            continue;
        }
        if (is_its_own) return &mesh;
        only = &mesh;
        ++open_count;
    }
    return open_count == 1 && !was_of_closed ? only : nullptr;
}

uint16_t name_if_open(const Mesh& mesh) noexcept {
    const bool is_told = TTMEM_ON && mesh.is_open.load(std::memory_order_acquire);
    return is_told ? name_mesh(meshes[&mesh - meshes]) : uint16_t{0};
}

uint16_t target_of(const void* device) noexcept {
    if (Mesh* mesh = mesh_of(device)) return target_of(*mesh);
    Mesh* mesh = mesh_with_chip(device);
    if (mesh == nullptr || target_of(*mesh) == 0) return 0;
    for (uint32_t i = 0; i < mesh->chip_count; ++i)
        if (mesh->devices[i] == device) return chip_target(mesh->chips[i]);
    return 0;
}

}  // namespace ttmem::hook

using ttmem::hook::Hook;

TTMEM_INTERPOSE(mesh_device_created, void, (const void* impl, uint64_t parent)) {
    ttmem::hook::forget_unloaded();
    if (auto* real = ttmem::hook::original_as<void(const void*, uint64_t)>(Hook::mesh_device_created))
        real(impl, parent);
}

TTMEM_INTERPOSE(mesh_device_initialized, void, (const void* impl)) {
    auto* real = ttmem::hook::original_as<void(const void*)>(Hook::mesh_device_initialized);
    ttmem::hook::open_mesh(impl);
    ttmem::hook::report_waiting_programs();
    if (real != nullptr) real(impl);
}

// Its buffers are gone from then on, also where it is still referred to.
TTMEM_INTERPOSE(mesh_device_closed, uint64_t, (void* impl, void* mesh)) {
    auto* real = ttmem::hook::original_as<uint64_t(void*, void*)>(Hook::mesh_device_closed);
    const uint64_t result = real == nullptr ? 0 : real(impl, mesh);
    ttmem::hook::close_mesh_of(impl);
    return result;
}

TTMEM_INTERPOSE(mesh_device_destroyed, void, (const void* impl)) {
    auto* real = ttmem::hook::original_as<void(const void*)>(Hook::mesh_device_destroyed);
    ttmem::hook::close_mesh_of(impl);
    if (real != nullptr) real(impl);
}
