// Messages of the allocation server protocol, as bytes.
#pragma once

#include <cstring>
#include <string>

#include "server/message.hpp"

namespace ttmem::server {

struct Told {
    MessageType type;
    uint64_t id = 0, size = 0;
    int32_t device = 0;
    uint8_t buffer_type = 0;
    int32_t pid = 4711;
};

inline Head a_head(const Told& told) {
    Head head{};
    head.type = static_cast<uint8_t>(told.type);
    head.device_id = told.device;
    head.size = told.size;
    head.buffer_type = told.buffer_type;
    head.process_id = told.pid;
    head.buffer_id = told.id;
    return head;
}

/// One message of a size; its tail is zero, as tails of requests are.
inline std::string a_message(size_t size, const Told& told) {
    const Head head = a_head(told);
    std::string bytes(size, '\0');
    std::memcpy(bytes.data(), &head, sizeof head);
    return bytes;
}

}  // namespace ttmem::server
