#include "hook/core_buffers.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "hook/programs/cores.hpp"
#include "ttmem/client.h"

namespace ttmem::hook {
namespace {

constexpr uint64_t kCoresMost = 4096, kSideMost = 256;

// std::unordered_map<CoreCoord, DeviceAddr> of libstdc++: its nodes are a list.
struct AddressNode {
    const AddressNode* next;
    uint64_t x, y, address;
};
struct AddressMap {
    const void* buckets;
    uint64_t bucket_count;
    const AddressNode* first;
    uint64_t count;
};

struct Core {
    uint16_t x, y;
    uint32_t address;
    bool operator<(const Core& other) const noexcept { return y != other.y ? y < other.y : x < other.x; }
};

struct Release {
    void operator()(void* memory) const noexcept { std::free(memory); }
};
template <class T>
using Array = std::unique_ptr<T[], Release>;

template <class T>
Array<T> array_of(uint64_t count) noexcept {
    return Array<T>(static_cast<T*>(std::calloc(count, sizeof(T))));
}

/// Row by row; none if the map is not what it should be.
Array<Core> cores_in(const AddressMap& map) noexcept {
    if (map.count == 0 || map.count > kCoresMost) return nullptr;
    Array<Core> cores = array_of<Core>(map.count);
    uint64_t seen = 0;
    for (const AddressNode* node = map.first; node != nullptr && cores != nullptr; node = node->next) {
        const bool is_core = node->x < kSideMost && node->y < kSideMost && node->address >> 32 == 0;
        if (seen == map.count || !is_core) return nullptr;
        cores[seen++] = {static_cast<uint16_t>(node->x), static_cast<uint16_t>(node->y),
                         static_cast<uint32_t>(node->address)};
    }
    if (seen != map.count || cores == nullptr) return nullptr;
    std::sort(cores.get(), cores.get() + seen);
    return cores;
}

/// The cores of one address as rectangles: runs in a row, joined with the same run of the row above.
class Rectangles {
public:
    void add(const Core& core) noexcept {
        if (is_any_ && core.y == run_.first_y && core.x == run_.last_x + 1) {
            run_.last_x = core.x;
            return;
        }
        end_run();
        run_ = {core.x, core.y, core.x, core.y};
        is_any_ = true;
    }
    uint32_t interned() noexcept {
        end_run();
        if (has_block_) text_.add(block_);
        return text_.interned();
    }

private:
    void end_run() noexcept {
        if (!is_any_) return;
        const bool is_below = has_block_ && run_.first_x == block_.first_x && run_.last_x == block_.last_x &&
                              run_.first_y == block_.last_y + 1;
        if (is_below) {
            block_.last_y = run_.last_y;
        } else {
            if (has_block_) text_.add(block_);
            block_ = run_;
            has_block_ = true;
        }
        is_any_ = false;
    }

    CoreText text_;
    CoreRange run_{}, block_{};
    bool is_any_ = false, has_block_ = false;
};

/// The part of the cores that have what lies at `address`, from the first of them on.
[[gnu::noinline]] ttmem_core_part part_at(uint32_t address, const Core* core, const Core* end) noexcept {
    Rectangles rectangles;
    uint16_t count = 0;
    for (; core != end; ++core) {
        if (core->address != address) continue;
        rectangles.add(*core);
        ++count;
    }
    return {address, rectangles.interned(), count};
}

/// One for each address, in the order of their first cores; how many. `parts` has room for one for each core.
uint32_t find_parts(const Core* cores, uint64_t core_count, ttmem_core_part* parts) noexcept {
    uint32_t found = 0;
    for (uint64_t i = 0; i < core_count; ++i) {
        const uint32_t address = cores[i].address;
        const auto has_it = [=](const ttmem_core_part& part) { return part.address == address; };
        if (std::none_of(parts, parts + found, has_it))
            parts[found++] = part_at(address, cores + i, cores + core_count);
    }
    return found;
}

}  // namespace

namespace {

ttmem_handle report_parts(const ttmem_buffer& report, const ttmem_core_part* parts, uint32_t part_count) noexcept {
    ttmem_core_buffer by_core{};
    by_core.id = report.id;
    by_core.requested_bytes = report.requested_bytes;
    by_core.size_per_core_bytes = report.per_bank_bytes;
    by_core.parts = parts;
    by_core.part_count = part_count;
    by_core.target = report.target;
    by_core.type = report.type;
    by_core.options = report.options;
    by_core.layout = report.layout;
    by_core.site = report.site;
    return ttmem_core_buffer_alloc(&by_core);
}

struct CorePair {
    uint64_t x, y;
};

}  // namespace

bool is_by_core(const Copy& copy, const void* buffer) noexcept {
    return ask<bool>(copy, Getter::buffer_is_by_core, false, buffer);
}

bool is_on_no_core(const Copy& copy, const void* buffer) noexcept {
    const auto* map = ask<const AddressMap*>(copy, Getter::buffer_core_addresses, nullptr, buffer);
    return map != nullptr && map->count == 0 && map->first == nullptr;
}

ttmem_handle report_by_core(const Copy& copy, const void* buffer, const ttmem_buffer& report) noexcept {
    const auto* map = ask<const AddressMap*>(copy, Getter::buffer_core_addresses, nullptr, buffer);
    if (map == nullptr) return 0;
    const Array<Core> cores = cores_in(*map);
    const Array<ttmem_core_part> parts = cores == nullptr ? nullptr : array_of<ttmem_core_part>(map->count);
    if (parts == nullptr) return 0;
    return report_parts(report, parts.get(), find_parts(cores.get(), map->count, parts.get()));
}

// It knows its banks by the mesh's numbers, which have gaps; each core of the grid is asked about. The allocator itself was at
// hand when it was asked for memory: its view, which a buffer has, confirms that it is the one.
SubDeviceCores cores_of_sub_device(const Copy& copy, const Mesh& mesh, const void* allocator) noexcept {
    const int l1 = TTMEM_BUFFER_L1;
    const auto banks = static_cast<uint16_t>(ask<uint32_t>(copy, Getter::bank_count, 0, allocator, &l1));
    const void* own = at_hand.allocator;
    auto* has_bank = getter_as<bool(const void*, int, const CorePair*)>(copy, Getter::core_has_bank);
    const auto* view = own == nullptr ? nullptr : ask<const void* const*>(copy, Getter::allocator_view, nullptr, own);
    if (has_bank == nullptr || view == nullptr || *view != allocator) return {0, banks};
    Rectangles cores;
    uint16_t found = 0;
    for (uint16_t y = 0; y < mesh.grid_y; ++y)
        for (uint16_t x = 0; x < mesh.grid_x; ++x) {
            const CorePair place{x, y};
            if (!has_bank(own, l1, &place)) continue;
            cores.add({x, y, 0});
            ++found;
        }
    return {found == banks ? cores.interned() : 0, banks};
}

ttmem_handle report_on_sub_device(const Copy& copy, const Mesh& mesh, const void* allocator,
                                  const ttmem_buffer& report) noexcept {
    const SubDeviceCores cores = cores_of_sub_device(copy, mesh, allocator);
    const ttmem_core_part part{static_cast<uint32_t>(report.address), cores.core_set, cores.count};
    return report_parts(report, &part, 1);
}

}  // namespace ttmem::hook
