// The messages of the allocation server: one packed struct over a Unix stream socket, in four sizes that grew over
// time. No magic, no version, no length; requests and replies share it.
//
//   size   0        40                    72                88              128        144
//    72    head     four sums
//   112    head     four sums             device info
//   128    head     four sums  cb kernel  device info
//   144    head     four sums  cb kernel  device info       ring figures (always 0)
//
// The head is the same in all of them, so a message can be taken as soon as its head is there; tails of requests are zero.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ttmem::server {

enum class MessageType : uint8_t {
    alloc = 1,
    free = 2,
    query = 3,
    response = 4,
    dump_remaining = 5,
    info_query = 6,
    info_response = 7,
    cb_alloc = 8,
    cb_free = 9,
    kernel_load = 10,
    kernel_unload = 11,
    dump_kernels = 12,
};

inline constexpr uint8_t kTypeMost = 12;

/// Reports memory, as against asking something.
inline constexpr bool is_report(uint8_t type) {
    const auto what = static_cast<MessageType>(type);
    return what == MessageType::alloc || what == MessageType::free ||
           (what >= MessageType::cb_alloc && what <= MessageType::kernel_unload);
}

struct Head {
    uint8_t type;
    uint8_t pad1[3];
    int32_t device_id;  // logical; -1 asks for the number of devices
    uint64_t size;
    uint8_t buffer_type;  // tt-metal's BufferType; of kernel_load: 0 application, 1 fabric, 2 dispatch
    uint8_t pad2[3];
    int32_t process_id;  // as claimed by the sender
    uint64_t buffer_id;  // address of a buffer or circular buffer, id of a kernel
    uint64_t timestamp;  // of the sender; not used
};
static_assert(sizeof(Head) == 40 && offsetof(Head, buffer_type) == 16 && offsetof(Head, buffer_id) == 24);

struct Sums {
    uint64_t dram, l1, l1_small, trace;
};

struct DeviceInfo {
    uint64_t total_dram, total_l1;
    uint32_t arch, dram_channels, dram_per_channel, l1_per_core, is_available, device_count;
};
static_assert(sizeof(Sums) == 32 && sizeof(DeviceInfo) == 40);

struct Message72 {
    Head head;
    Sums sums;
};
struct Message112 {
    Head head;
    Sums sums;
    DeviceInfo info;
};
struct Message128 {
    Head head;
    Sums sums;
    uint64_t cb, kernel;
    DeviceInfo info;
};
struct Message144 {
    Head head;
    Sums sums;
    uint64_t cb, kernel;
    DeviceInfo info;
    uint32_t ring_total, ring_used, ring_programs, pad3;
};
static_assert(sizeof(Message72) == 72 && sizeof(Message112) == 112 && sizeof(Message128) == 128 &&
              sizeof(Message144) == 144);

inline constexpr size_t kStrides[] = {72, 112, 128, 144};
inline constexpr size_t kStrideMost = 144;
inline constexpr bool is_stride(size_t bytes) { return bytes == 72 || bytes == 112 || bytes == 128 || bytes == 144; }

}  // namespace ttmem::server
