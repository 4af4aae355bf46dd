// The server's side of a question: answered at once, or once its size is known; sent, or kept for a slow reader.
#include <algorithm>
#include <cerrno>

#include "journal/clock.hpp"
#include "seeds/replies.hpp"
#include "seeds/server.hpp"

namespace ttmem::seeds {
namespace {

constexpr uint64_t kSilenceNs = 5'000'000;

}  // namespace

void Server::answer(Connection& connection, const ucred& who, const Head& head, size_t size) {
    switch (static_cast<MessageType>(head.type)) {
        case MessageType::query:
        case MessageType::info_query:
            count(counts_.queries);
            if (size != 0) return send_reply(connection, head, size);
            connection.lone = head;
            connection.lone_since_ns = nanoseconds(CLOCK_MONOTONIC);
            lone_.push_back(connection.file);
            return;
        case MessageType::dump_remaining:
            counts_.dumps.fetch_add(1, std::memory_order_relaxed);  // taken away by whoever prints them
            return;
        case MessageType::dump_kernels:
            counts_.kernel_dumps.fetch_add(1, std::memory_order_relaxed);
            return;
        default: {  // replies are ours to send
            count(counts_.unknown_types);
            LogLine line{Said::unknown_type};
            line.pid = static_cast<uint32_t>(who.pid);
            line.id = head.type;
            return log_.say(line);
        }
    }
}

void Server::send_reply(Connection& connection, const Head& head, size_t size) {
    const Reply reply = reply_to(head, size, collector_.devices(), node_count_);
    if (reply.saturated_channel_bytes != 0) {
        count(counts_.saturated);
        LogLine line{Said::saturated};
        line.device = head.device_id;
        line.size = reply.saturated_channel_bytes;
        log_.warn(line);
    }
    connection.outgoing.append(reply.bytes, size);
    if (connection.outgoing.size() == size) flush(connection);
}

// The size is known now, or will never be: what came is a whole message, or the asker is not one of ours.
void Server::answer_lone(Connection& connection) {
    const size_t learned = connection.framing.stride();
    const size_t size = learned != 0 ? learned : connection.framing.size_by_silence(connection.left.size());
    if (size == 0) return;
    connection.lone_since_ns = 0;
    std::erase(lone_, connection.file);
    send_reply(connection, connection.lone, size);
}

void Server::answer_silent(uint64_t now_ns) {
    const auto held = collector_.hold();
    for (const int file : std::vector<int>(lone_)) {
        const auto known = connections_.find(file);
        if (known == connections_.end() || known->second->lone_since_ns == 0)
            std::erase(lone_, file);
        else if (now_ns - known->second->lone_since_ns > kSilenceNs)
            answer_lone(*known->second);
    }
}

void Server::flush(Connection& connection) {
    std::string& outgoing = connection.outgoing;
    size_t sent = 0;
    while (sent < outgoing.size()) {
        const ssize_t got =
            send(connection.file, outgoing.data() + sent, outgoing.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            if (errno != EAGAIN && errno != EWOULDBLOCK) {  // nobody will read it
                outgoing.clear();
                return;
            }
            break;
        }
        sent += static_cast<size_t>(got);
    }
    outgoing.erase(0, sent);
}

}  // namespace ttmem::seeds
