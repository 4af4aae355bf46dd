// The server of the old design, as a program: `older_server SOCKET_PATH [LOG_PATH]`.
//
// A thread per connection, one recv() per message, one locked unordered_map for everybody, a log line per
// message written while the lock is held, and a thread that asks kill(pid, 0) every 3 seconds. It is a little
// kinder than the original: one write per line instead of eleven, no MSG_PEEK, and only ESRCH counts as dead.
// Prints "ready" once it listens.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>

#include "baseline/message.hpp"

namespace {

using baseline::Message;
using baseline::MessageType;

struct Key {
    int32_t device;
    uint64_t id;
    bool operator==(const Key&) const = default;
};

struct KeyHash {
    size_t operator()(const Key& key) const {
        return std::hash<int32_t>()(key.device) ^ (std::hash<uint64_t>()(key.id) << 1);
    }
};

struct Buffer {
    uint64_t id;
    uint64_t size_bytes;
    std::chrono::steady_clock::time_point allocated_at;
    int32_t device;
    int32_t owner;
    int32_t reference_count;
    uint8_t type;
};

// Lock map: `buffers_` and the log under `mutex_`; `allocated_bytes_` is written under it and read without.
class Registry {
public:
    explicit Registry(int log) : log_(log) {}

    void apply(const Message& message) {
        if (message.device_id < 0 || message.device_id >= baseline::kDevices) return;
        const std::lock_guard<std::mutex> lock(mutex_);
        if (message.type == MessageType::alloc) allocate(message);
        if (message.type == MessageType::free) release(message);
    }

    Message answer(const Message& question) const {
        Message reply{};
        reply.type = MessageType::response;
        reply.device_id = question.device_id;
        if (question.device_id < 0 || question.device_id >= baseline::kDevices) return reply;
        const auto& counters = allocated_bytes_[static_cast<size_t>(question.device_id)];
        for (size_t i = 0; i < counters.size(); ++i) reply.allocated_bytes[i] = counters[i].load();
        return reply;
    }

    void remove_the_dead() {
        const std::lock_guard<std::mutex> lock(mutex_);
        std::set<int32_t> owners;
        for (const auto& [key, buffer] : buffers_) owners.insert(buffer.owner);
        for (const int32_t owner : owners) {
            if (kill(owner, 0) == 0 || errno != ESRCH) continue;
            std::erase_if(buffers_, [&](const auto& item) {
                if (item.second.owner != owner) return false;
                counter(item.second.device, item.second.type) -= item.second.size_bytes;
                return true;
            });
        }
    }

private:
    std::atomic<uint64_t>& counter(int32_t device, uint8_t type) {
        static constexpr std::array<size_t, 5> kCounterOfType = {0, 1, 2, 2, 3};
        return allocated_bytes_[static_cast<size_t>(device)][kCounterOfType[type < 5 ? type : 0]];
    }

    void allocate(const Message& message) {
        const Key key{message.device_id, message.buffer_id};
        const auto found = buffers_.find(key);
        if (found != buffers_.end()) {
            ++found->second.reference_count;
        } else {
            buffers_.emplace(key, Buffer{message.buffer_id, message.size_bytes, std::chrono::steady_clock::now(),
                                         message.device_id, message.process_id, 1, message.buffer_type});
            counter(message.device_id, message.buffer_type) += message.size_bytes;
        }
        write_log("✓ [PID %d] Allocated %" PRIu64 " bytes of type %d on device %d (buffer_id=0x%" PRIx64 ")\n",
                  message.process_id, message.size_bytes, message.buffer_type, message.device_id, message.buffer_id);
    }

    void release(const Message& message) {
        const auto found = buffers_.find(Key{message.device_id, message.buffer_id});
        if (found == buffers_.end()) {
            write_log("⚠ [PID %d] Deallocation for unknown buffer 0x%" PRIx64 " on device %d\n", message.process_id,
                      message.buffer_id, message.device_id);
            return;
        }
        const Buffer& buffer = found->second;
        write_log("✗ [PID %d] Freed buffer 0x%" PRIx64 " on device %d (%" PRIu64 " bytes, FINAL)\n", message.process_id,
                  buffer.id, buffer.device, buffer.size_bytes);
        if (--found->second.reference_count > 0) return;
        counter(buffer.device, buffer.type) -= buffer.size_bytes;
        buffers_.erase(found);
    }

    template <typename... Values>
    void write_log(const char* format, Values... values) {
        char line[256];
        const int length = std::snprintf(line, sizeof line, format, values...);
        if (write(log_, line, static_cast<size_t>(length)) < 0) std::perror("log");
    }

    int log_;
    std::mutex mutex_;
    std::unordered_map<Key, Buffer, KeyHash> buffers_;
    std::array<std::array<std::atomic<uint64_t>, baseline::kCounters>, baseline::kDevices> allocated_bytes_{};
};

void serve_connection(int connection, Registry& registry) {
    Message message;
    while (recv(connection, &message, sizeof message, MSG_WAITALL) == static_cast<ssize_t>(sizeof message)) {
        if (message.type != MessageType::query) {
            registry.apply(message);
            continue;
        }
        const Message reply = registry.answer(message);
        if (send(connection, &reply, sizeof reply, MSG_NOSIGNAL) < 0) break;
    }
    close(connection);
}

int listen_on(const char* path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (std::strlen(path) >= sizeof address.sun_path) return -1;
    std::strcpy(address.sun_path, path);
    const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    unlink(path);
    if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return -1;
    return listen(listener, 128) == 0 ? listener : -1;
}

}  // namespace

int main(int argument_count, char** arguments) {
    if (argument_count < 2) {
        std::fprintf(stderr, "usage: older_server SOCKET_PATH [LOG_PATH]\n");
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int log =
        open(argument_count > 2 ? arguments[2] : "/dev/null", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const int listener = listen_on(arguments[1]);
    if (log < 0 || listener < 0) {
        std::perror("older_server");
        return 1;
    }
    static Registry registry(log);
    std::thread([] {
        for (;;) {
            std::this_thread::sleep_for(std::chrono::seconds(3));
            registry.remove_the_dead();
        }
    }).detach();
    std::puts("ready");
    std::fflush(stdout);
    for (;;) {
        const int connection = accept(listener, nullptr, nullptr);
        if (connection >= 0) std::thread([connection] { serve_connection(connection, registry); }).detach();
    }
}
