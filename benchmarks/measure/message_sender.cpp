// A client of the old protocol that sends as fast as a server takes it: `message_sender SOCKET LIVE PER_SEND MESSAGE_BYTES`.
//
// Makes LIVE allocations and prints "ready". `send COUNT` frees a random live allocation and makes a new one with an id
// never used before, in turn, COUNT messages in all, PER_SEND of them in each blocking send; then asks for the sums, and
// prints "sent NS", the wall time per message, once the answer is there: by then the server has applied everything.
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "baseline/message.hpp"

namespace {

using baseline::Message;
using baseline::MessageType;

constexpr uint64_t kSizeBytes = 4096;

int connected_to(const char* path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (std::strlen(path) >= sizeof address.sun_path) throw std::runtime_error("socket path too long");
    std::strcpy(address.sun_path, path);
    const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int send_buffer_bytes = 1 << 20;  // as the old client asks for
    setsockopt(connection, SOL_SOCKET, SO_SNDBUF, &send_buffer_bytes, sizeof send_buffer_bytes);
    if (connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        throw std::runtime_error(std::string("cannot connect: ") + std::strerror(errno));
    return connection;
}

class Sender {
public:
    Sender(int connection, uint64_t live, size_t per_send, size_t message_bytes)
        : connection_(connection), per_send_(per_send), message_bytes_(message_bytes), pid_(getpid()) {
        bytes_.reserve(per_send * message_bytes);
        for (uint64_t i = 0; i < live; ++i) {
            live_.push_back(next_id_);
            say(MessageType::alloc, next_id_++);
        }
        settle();
    }

    void send_pairs(uint64_t count) {
        for (uint64_t i = 0; i + 1 < count; i += 2) {
            uint64_t& slot = live_[random_() % live_.size()];
            say(MessageType::free, slot);
            slot = next_id_++;
            say(MessageType::alloc, slot);
        }
        settle();
    }

private:
    void say(MessageType type, uint64_t id) {
        Message message{};
        message.type = type;
        message.process_id = pid_;
        message.buffer_id = id;
        message.size_bytes = type == MessageType::alloc ? kSizeBytes : 0;
        const char* at = reinterpret_cast<const char*>(&message);
        bytes_.insert(bytes_.end(), at, at + message_bytes_);
        if (++count_ == per_send_) flush();
    }

    void settle() {
        say(MessageType::query, 0);
        flush();
        std::vector<char> reply(message_bytes_);
        if (recv(connection_, reply.data(), reply.size(), MSG_WAITALL) != static_cast<ssize_t>(reply.size()))
            throw std::runtime_error("the server did not answer");
    }

    void flush() {
        const char* at = bytes_.data();
        size_t left = bytes_.size();
        while (left > 0) {
            const ssize_t sent = send(connection_, at, left, MSG_NOSIGNAL);
            if (sent < 0 && errno == EINTR) continue;
            if (sent <= 0) throw std::runtime_error("the server went away");
            at += sent;
            left -= static_cast<size_t>(sent);
        }
        bytes_.clear();
        count_ = 0;
    }

    int connection_;
    size_t per_send_, message_bytes_, count_ = 0;
    int32_t pid_;
    uint64_t next_id_ = 1;
    std::vector<uint64_t> live_;
    std::vector<char> bytes_;
    std::minstd_rand random_{1};
};

}  // namespace

int main(int argument_count, char** arguments) try {
    if (argument_count < 5) {
        std::fprintf(stderr, "usage: message_sender SOCKET LIVE PER_SEND MESSAGE_BYTES\n");
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const size_t message_bytes = std::min(std::stoul(arguments[4]), sizeof(Message));
    Sender sender(connected_to(arguments[1]), std::stoull(arguments[2]), std::stoul(arguments[3]), message_bytes);
    std::cout << "ready" << std::endl;
    std::string verb;
    for (uint64_t count = 0; std::cin >> verb >> count;) {
        const auto began = std::chrono::steady_clock::now();
        sender.send_pairs(count);
        const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
        std::cout << "sent " << took.count() / static_cast<double>(count) << std::endl;
    }
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "message_sender: %s\n", error.what());
    return 1;
}
