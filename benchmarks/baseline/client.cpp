#include "baseline/client.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>

namespace baseline {
namespace {

Message a_message(MessageType type, int32_t device) {
    Message message{};
    message.type = type;
    message.device_id = device;
    message.process_id = getpid();
    return message;
}

uint64_t wall_clock_ns() {
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch).count());
}

}  // namespace

Client::Client(const std::string& socket_path) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (socket_path.size() >= sizeof address.sun_path) throw std::runtime_error("socket path too long: " + socket_path);
    std::memcpy(address.sun_path, socket_path.c_str(), socket_path.size() + 1);
    const int send_buffer_bytes = 1 << 20;  // as the old client asks for
    setsockopt(socket_, SOL_SOCKET, SO_SNDBUF, &send_buffer_bytes, sizeof send_buffer_bytes);
    if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        close(socket_);
        throw std::runtime_error("cannot connect to " + socket_path + ": " + std::strerror(errno));
    }
}

Client::~Client() { close(socket_); }

void Client::report_alloc(int32_t device, uint64_t id, uint64_t size_bytes, uint8_t buffer_type) {
    Message message = a_message(MessageType::alloc, device);
    message.size_bytes = size_bytes;
    message.buffer_type = buffer_type;
    message.buffer_id = id;
    message.timestamp_ns = wall_clock_ns();
    const std::lock_guard<std::mutex> lock(mutex_);
    send_whole(message);
}

void Client::report_free(int32_t device, uint64_t id) {
    Message message = a_message(MessageType::free, device);
    message.buffer_id = id;
    message.timestamp_ns = wall_clock_ns();
    const std::lock_guard<std::mutex> lock(mutex_);
    send_whole(message);
}

Message Client::query(int32_t device) {
    const std::lock_guard<std::mutex> lock(mutex_);
    send_whole(a_message(MessageType::query, device));
    Message reply{};
    if (recv(socket_, &reply, sizeof reply, MSG_WAITALL) != static_cast<ssize_t>(sizeof reply)) {
        throw std::runtime_error("the baseline server did not answer");
    }
    return reply;
}

void Client::send_whole(const Message& message) {
    const char* at = reinterpret_cast<const char*>(&message);
    size_t left = sizeof message;
    while (left > 0) {
        const ssize_t sent = send(socket_, at, left, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) throw std::runtime_error("the baseline server went away");
        at += sent;
        left -= static_cast<size_t>(sent);
    }
}

}  // namespace baseline
