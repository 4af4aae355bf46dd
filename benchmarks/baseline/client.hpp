// The reporting side of the old design: every event is one blocking send, under a mutex, stamped with the
// wall clock and a fresh getpid().
#pragma once

#include <mutex>
#include <string>

#include "baseline/message.hpp"

namespace baseline {

class Client {
public:
    explicit Client(const std::string& socket_path);
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    void report_alloc(int32_t device, uint64_t id, uint64_t size_bytes, uint8_t buffer_type);
    void report_free(int32_t device, uint64_t id);
    /// Asks for a device's sums; answers once everything sent before on this connection was applied.
    Message query(int32_t device);

private:
    void send_whole(const Message& message);

    std::mutex mutex_;
    int socket_;
};

}  // namespace baseline
