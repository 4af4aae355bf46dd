// A client that behaves as the allocation server's own: one connection for the process, made in the constructor and tried again by
// every report while there is none; one warning; a send buffer of 1 MiB; one blocking send per message, under a mutex,
// tried again on EINTR; any other error means disconnected, and the old descriptor is not closed. It does not ask to
// be spared SIGPIPE.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string>

#include "message.hpp"

namespace older_protocol {

inline uint64_t wall_clock_ns() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

inline int connected_to(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) return -1;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    const int connection = socket(AF_UNIX, SOCK_STREAM, 0);
    const int send_buffer_bytes = 1 << 20;
    setsockopt(connection, SOL_SOCKET, SO_SNDBUF, &send_buffer_bytes, sizeof send_buffer_bytes);
    if (connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return connection;
    close(connection);
    return -1;
}

class AllocationClient {
public:
    explicit AllocationClient(std::string path) : path_(std::move(path)) {
        const char* wanted = std::getenv("TT_ALLOC_TRACKING_ENABLED");
        is_enabled_ = wanted != nullptr && std::strcmp(wanted, "1") == 0;
        if (is_enabled_) reach_server();
    }

    bool is_enabled() const { return is_enabled_; }
    bool is_connected() const { return connection_ >= 0; }
    int connection() const { return connection_; }
    void forget_connection() { connection_ = -1; }
    void speak(size_t message_bytes) { message_bytes_ = message_bytes; }
    size_t message_bytes() const { return message_bytes_; }

    P144 a_message(int type, int device, uint64_t size, int kind, uint64_t id) const {
        P144 message{};
        message.header.type = static_cast<uint8_t>(type);
        message.header.device_id = device;
        message.header.size = size;
        message.header.buffer_type = static_cast<uint8_t>(kind);
        message.header.process_id = claimed_pid_ != 0 ? claimed_pid_ : getpid();
        message.header.buffer_id = id;
        message.header.timestamp = wall_clock_ns();
        return message;
    }
    void claim(int pid) { claimed_pid_ = pid; }

    bool report(int type, int device, uint64_t size, int kind, uint64_t id) {
        if (!is_enabled_) return false;
        if (!is_connected()) reach_server();
        if (!is_connected()) return false;
        const P144 message = a_message(type, device, size, kind, id);
        // Bytes 0..39 are the same in all sizes, and the rest of a request is zero.
        return send_whole(&message, message_bytes_);
    }

    bool send_whole(const void* data, size_t left) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const char* at = static_cast<const char*>(data);
        while (left > 0) {
            const ssize_t sent = send(connection_, at, left, 0);
            if (sent < 0 && errno == EINTR) continue;
            if (sent <= 0) {
                connection_ = -1;
                return false;
            }
            at += sent;
            left -= static_cast<size_t>(sent);
        }
        return true;
    }

    /// How many bytes of a reply came; a server that does not answer within 5 s gives fewer.
    size_t receive(void* reply, size_t wanted) {
        const timeval patience{5, 0};
        setsockopt(connection_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        size_t had = 0;
        while (had < wanted) {
            const ssize_t got = recv(connection_, static_cast<char*>(reply) + had, wanted - had, 0);
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) break;
            had += static_cast<size_t>(got);
        }
        return had;
    }

    void reach_server() {
        connection_ = connected_to(path_);
        if (connection_ >= 0 || has_warned_) return;
        has_warned_ = true;
        std::fprintf(stderr, "Warning: cannot reach the allocation server at %s\n", path_.c_str());
    }

private:
    std::string path_;
    std::mutex mutex_;
    int connection_ = -1;
    int claimed_pid_ = 0;
    size_t message_bytes_ = sizeof(P144);
    bool is_enabled_ = false;
    bool has_warned_ = false;
};

}  // namespace older_protocol
