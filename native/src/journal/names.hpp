// What records name by a number: texts and descriptors in the arena, stacks, and phases with their peaks.
#pragma once

#include "journal/bits.hpp"
#include "journal/sizes.hpp"

namespace ttmem {

// ---- phases
// The highest figure of every phase name, target and pool, for viewers that come later. Written under the
// phase lock of the host; `runs` is stored last (release) and 0 means the row is not there yet. A row without a target
// reports a name how many of its phases are open (`peak`) and since when (`time`): anyone who is killed in one left it so.
inline constexpr uint16_t kNoTarget = 0xffff;

struct PhasePeak {
    AtomicU64 name_and_place;  // see PhasePlace
    AtomicU64 peak;
    AtomicU64 time;
    AtomicU64 runs;  // how often a phase of this name ended
};
static_assert(sizeof(PhasePeak) == 32);

struct PhasePlace {
    uint32_t name = 0;
    uint16_t target = 0;
    uint8_t pool = 0;

    static constexpr Bits kName{0, 32}, kTarget{32, 16}, kPool{48, 8};
    constexpr uint64_t pack() const noexcept { return kName.pack(name) | kTarget.pack(target) | kPool.pack(pool); }
    static constexpr PhasePlace unpack(uint64_t word) noexcept {
        return {kName.as<uint32_t>(word), kTarget.as<uint16_t>(word), kPool.as<uint8_t>(word)};
    }
    bool operator==(const PhasePlace&) const = default;
};

// ---- arena
// Append only. An id is the offset of its item / 8. An item is reserved by fetch_add on `arena_used`, filled, and
// published by a release store of `head`; readers take nothing whose head is 0 or whose bytes pass the end.
enum class Item : uint32_t { text = 1, device = 2, mesh = 3 };

struct ItemHead {
    AtomicU64 head;  // see ItemWord
};

struct ItemWord {
    uint32_t bytes = 0;  // of what follows
    Item item{};

    constexpr uint64_t pack() const noexcept {
        return kLowHalf.pack(bytes) | kHighHalf.pack(static_cast<uint64_t>(item));
    }
    static constexpr ItemWord unpack(uint64_t word) noexcept {
        return {kLowHalf.as<uint32_t>(word), kHighHalf.as<Item>(word)};
    }
    bool operator==(const ItemWord&) const = default;
};

struct DeviceDescriptor {
    uint64_t unique_id;
    int32_t index;
    uint32_t kernel_ring_bytes;
    uint16_t grid_x, grid_y, dram_banks, l1_banks;
    uint64_t capacity_bytes[kPools];
    char arch[32];
    char board[32];
};
static_assert(sizeof(DeviceDescriptor) == 168);

struct MeshDescriptor {  // followed by chip_count uint64_t unique ids, row by row
    uint64_t mesh_id;
    uint16_t rows, columns;
    uint32_t chip_count;
};
static_assert(sizeof(MeshDescriptor) == 16);

// ---- stacks
// Who asked, as paths in a tree: a site whose highest bit is set names a node (kStackSite | its number); other sites are
// texts of the arena. A path goes from the node to the outermost frame: an operation, a tensor's form, then frames, the
// innermost first. Nodes and texts are append only: reserved by fetch_add, filled, and published by a release store of
// `kind_and_line` (0: not there yet), or of a text's head. Texts are items as in the arena, at offsets / 8 of their own part.
// Node 0 is kOtherSite: a stack that found no room.
inline constexpr uint32_t kStackSite = 1u << 31;
inline constexpr uint32_t kOtherSite = kStackSite;

enum class Node : uint32_t {
    frame = 1,             // name: function, file, line
    tensor = 2,            // name: "1x1x32x14336 bfloat16 tile"
    operation = 3,         // name: the user's, "ttnn.matmul"
    device_operation = 4,  // name: "MatmulDeviceOperation"
};

struct StackNode {
    AtomicU32 parent;  // a node's number, 0: none
    AtomicU32 name, file;
    AtomicU32 kind_and_line;  // see NodeWord
};
static_assert(sizeof(StackNode) == 16);

struct NodeWord {
    Node kind{};
    uint32_t line = 0;

    static constexpr Bits kLine{0, 28}, kKind{28, 4};
    /// A line that has no room is unknown.
    constexpr uint32_t pack() const noexcept {
        return static_cast<uint32_t>(kKind.pack(static_cast<uint64_t>(kind)) | (line <= kLine.most() ? line : 0));
    }
    static constexpr NodeWord unpack(uint32_t word) noexcept {
        return {kKind.as<Node>(word), kLine.as<uint32_t>(word)};
    }
    bool operator==(const NodeWord&) const = default;
};

}  // namespace ttmem
