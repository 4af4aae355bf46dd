// What a buffer hides, and where: its getters load from here, as those of the runtime do.
//
// FAKE_OTHER_BUILD plays the next build of the same release: all functions are where they were, members are not.
#ifndef FAKE_METAL_HIDDEN_HPP
#define FAKE_METAL_HIDDEN_HPP

#include <cstddef>
#include <cstdint>
#include <memory>

// Offsets, as texts for instructions: of the pointer in a buffer, then of what it points to.
#ifdef FAKE_OTHER_BUILD
#define FAKE_HIDDEN "0x18"
#else
#define FAKE_HIDDEN "0x10"
#endif
#define FAKE_DEVICE "0x0"
#define FAKE_SIZE "0x8"
#define FAKE_TYPE "0x10"
#define FAKE_LAYOUT "0x14"
#define FAKE_ALLOCATOR "0x18"
#define FAKE_HAS_PLACE "0x20"
#define FAKE_PLACE "0x28"
#define FAKE_PAGE_SIZE "0x30"
#define FAKE_ID "0x38"

namespace tt::tt_metal {

class AllocatorImpl;
class IDevice;

struct Hidden {
    IDevice* device;
    uint64_t size_bytes;
    uint32_t type, layout;
    AllocatorImpl* allocator;
    bool has_place;
    uint64_t place;
    uint64_t page_bytes, id;
};
static_assert(offsetof(Hidden, size_bytes) == 0x8 && offsetof(Hidden, type) == 0x10 &&
              offsetof(Hidden, layout) == 0x14 && offsetof(Hidden, allocator) == 0x18 &&
              offsetof(Hidden, has_place) == 0x20 && offsetof(Hidden, place) == 0x28 &&
              offsetof(Hidden, page_bytes) == 0x30 && offsetof(Hidden, id) == 0x38);

// The first words of a buffer. What lies where the other build has its pointer is no address.
struct HidingPlace {
#ifdef FAKE_OTHER_BUILD
    uint64_t others[3] = {1, 1, 1};
    std::unique_ptr<Hidden> hidden;
#else
    uint64_t others[2] = {1, 1};
    std::unique_ptr<Hidden> hidden;
    uint64_t more = 1;
#endif
};
static_assert(sizeof(HidingPlace) == 0x20);

}  // namespace tt::tt_metal

#endif
