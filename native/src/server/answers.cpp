// The server's side of a question: answered at once, or once its size is known; sent, or kept for a slow reader.
#include <algorithm>
#include <cerrno>

#include "journal/clock.hpp"
#include "server/replies.hpp"
#include "server/server.hpp"

namespace ttmem::server {
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
            counts_.dumps.fetch_add(1, std::memory_order_relaxed);  // taken away by anyone who prints them
            return;
        case MessageType::dump_kernels:
            counts_.kernel_dumps.fetch_add(1, std::memory_order_relaxed);
            return;
        default: {  // replies are ours to send
            count(counts_.unknown_types);
            LogLine line{LineKind::unknown_type};
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
        LogLine line{LineKind::saturated};
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
        if (known == connections_.end()) {
            std::erase(lone_, file);
            continue;
        }
        Connection& connection = *known->second;
        if (connection.scored_since_ns != 0 && now_ns - connection.scored_since_ns > kSilenceNs)
            settle_size(connection);
        if (connection.lone_since_ns != 0 && now_ns - connection.lone_since_ns > kSilenceNs) answer_lone(connection);
        if (connection.lone_since_ns == 0 && connection.scored_since_ns == 0) std::erase(lone_, file);
    }
}

// Messages whose tails are not zero have no size yet: who has sent all it wants to would wait for an answer for ever.
void Server::await_size(Connection& connection, const ucred& who) {
    const bool is_waiting = connection.scored_since_ns != 0;
    const bool is_scored = connection.framing.state() == Framing::State::scoring;
    connection.scored_since_ns = is_scored ? nanoseconds(CLOCK_MONOTONIC) : 0;
    connection.scored_writer = who;
    if (is_scored && !is_waiting) lone_.push_back(connection.file);
}

void Server::settle_size(Connection& connection) {
    const ucred who = connection.scored_writer;
    std::string& left = connection.left;
    connection.scored_since_ns = 0;  // silence says no more the second time
    if (!connection.framing.settle(left.data(), left.size(), who.pid)) return;
    const auto visit = [&](const char* first, size_t heads, size_t stride) {
        if (connection.lone_since_ns != 0) answer_lone(connection);
        take_heads(connection, who, first, heads, stride);
    };
    left.erase(0, connection.framing.take(left.data(), left.size(), who.pid, visit));
}

void Server::flush(Connection& connection) {
    std::string& outgoing = connection.outgoing;
    size_t sent = 0;
    while (sent < outgoing.size()) {
        const ssize_t got =
            send(connection.file, outgoing.data() + sent, outgoing.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            if (errno != EAGAIN && errno != EWOULDBLOCK) {  // no process will read it
                outgoing.clear();
                return;
            }
            break;
        }
        sent += static_cast<size_t>(got);
    }
    outgoing.erase(0, sent);
}

}  // namespace ttmem::server
