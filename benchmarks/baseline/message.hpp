// The message of the design that ttmem replaces: 144 bytes, one per event, on a Unix stream socket.
//
// Written from the documented layout. Only what the benchmarks send and ask for is named; the rest of a
// request is zero.
#pragma once

#include <cstddef>
#include <cstdint>

namespace baseline {

enum class MessageType : uint8_t { alloc = 1, free = 2, query = 3, response = 4 };

inline constexpr int32_t kDevices = 8;
inline constexpr uint32_t kCounters = 6;  // dram, l1, l1_small, trace, cb, kernel

struct Message {
    MessageType type;
    uint8_t pad1[3];
    int32_t device_id;
    uint64_t size_bytes;
    uint8_t buffer_type;
    uint8_t pad2[3];
    int32_t process_id;
    uint64_t buffer_id;
    uint64_t timestamp_ns;
    uint64_t allocated_bytes[kCounters];  // reply only
    uint64_t device_info[7];              // reply to a device query only
};
static_assert(sizeof(Message) == 144 && offsetof(Message, process_id) == 20 && offsetof(Message, buffer_id) == 24 &&
              offsetof(Message, allocated_bytes) == 40 && offsetof(Message, device_info) == 88);

}  // namespace baseline
