// The four sizes of the allocation server's message, as C++ structs, written from the documented table of offsets.
//
//   0        40          72         88            128    144
//   | header | counters  | more     | device info | ring |
//   P72      ######################
//   P112     ########### device info at 72
//   P128     ######################################
//   P144     #############################################
#pragma once

#include <cstddef>
#include <cstdint>

namespace older_protocol {

struct [[gnu::packed]] Header {
    uint8_t type;
    uint8_t pad1[3];
    int32_t device_id;
    uint64_t size;
    uint8_t buffer_type;
    uint8_t pad2[3];
    int32_t process_id;
    uint64_t buffer_id;
    uint64_t timestamp;
};

struct [[gnu::packed]] Counters {
    uint64_t dram_allocated, l1_allocated, l1_small_allocated, trace_allocated;
};

struct [[gnu::packed]] MoreCounters {
    uint64_t cb_allocated, kernel_allocated;
};

struct [[gnu::packed]] DeviceInfo {
    uint64_t total_dram_size, total_l1_size;
    uint32_t arch_type, num_dram_channels, dram_size_per_channel, l1_size_per_core, is_available, num_devices;
};

struct [[gnu::packed]] Ring {
    uint32_t ringbuffer_total_size, ringbuffer_used_bytes, ringbuffer_num_programs, pad3;
};

struct [[gnu::packed]] P72 {
    Header header;
    Counters counters;
};

struct [[gnu::packed]] P112 {
    Header header;
    Counters counters;
    DeviceInfo info;
};

struct [[gnu::packed]] P128 {
    Header header;
    Counters counters;
    MoreCounters more;
    DeviceInfo info;
};

struct [[gnu::packed]] P144 {
    Header header;
    Counters counters;
    MoreCounters more;
    DeviceInfo info;
    Ring ring;
};

static_assert(sizeof(P72) == 72 && sizeof(P112) == 112 && sizeof(P128) == 128 && sizeof(P144) == 144);
static_assert(offsetof(Header, type) == 0 && offsetof(Header, device_id) == 4 && offsetof(Header, size) == 8);
static_assert(offsetof(Header, buffer_type) == 16 && offsetof(Header, process_id) == 20);
static_assert(offsetof(Header, buffer_id) == 24 && offsetof(Header, timestamp) == 32 && sizeof(Header) == 40);
static_assert(offsetof(P144, counters.dram_allocated) == 40 && offsetof(P144, counters.l1_allocated) == 48);
static_assert(offsetof(P144, counters.l1_small_allocated) == 56 && offsetof(P144, counters.trace_allocated) == 64);
static_assert(offsetof(P144, more.cb_allocated) == 72 && offsetof(P144, more.kernel_allocated) == 80);
static_assert(offsetof(P144, info.total_dram_size) == 88 && offsetof(P144, info.total_l1_size) == 96);
static_assert(offsetof(P144, info.arch_type) == 104 && offsetof(P144, info.num_dram_channels) == 108);
static_assert(offsetof(P144, info.dram_size_per_channel) == 112 && offsetof(P144, info.l1_size_per_core) == 116);
static_assert(offsetof(P144, info.is_available) == 120 && offsetof(P144, info.num_devices) == 124);
static_assert(offsetof(P144, ring.ringbuffer_total_size) == 128 && offsetof(P144, ring.ringbuffer_used_bytes) == 132);
static_assert(offsetof(P144, ring.ringbuffer_num_programs) == 136 && offsetof(P144, ring.pad3) == 140);
static_assert(offsetof(P128, info.total_dram_size) == 88 && offsetof(P128, info.num_devices) == 124);
static_assert(offsetof(P112, info.total_dram_size) == 72 && offsetof(P112, info.arch_type) == 88);
static_assert(offsetof(P112, info.dram_size_per_channel) == 96 && offsetof(P112, info.num_devices) == 108);

}  // namespace older_protocol
