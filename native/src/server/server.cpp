#include "server/server.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "journal/clock.hpp"

namespace ttmem::server {
namespace {

constexpr size_t kReadMost = 256 * 1024;
constexpr size_t kTurnMost = 4 * kReadMost;  // of one connection, before the others have their turn
constexpr size_t kOutgoingMost = 64 * 1024;  // unread replies: from there on the asker's questions wait
constexpr int kEvents = 512;
constexpr uint64_t kGoneEveryNs = 20 * kMs;
constexpr size_t kGoneAtOnce = 64;
constexpr size_t kImagesAtOnce = 64;
constexpr uint64_t kClosedNs = 100 * kMs;
constexpr uint64_t kFinishNs = 300 * kMs;

void watch_file(int epoll, int operation, int file, uint32_t events, uint64_t word) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = word;
    epoll_ctl(epoll, operation, file, &event);
}

ucred peer_of(int file) {
    ucred who{};
    socklen_t size = sizeof who;
    if (getsockopt(file, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) who = {0, static_cast<uid_t>(-1), 0};
    return who;
}

}  // namespace

Server::Server(Collector& collector, int listener, bool has_log, uint32_t node_count)
    : collector_(collector),
      listener_(listener),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      spare_(open("/dev/null", O_RDONLY | O_CLOEXEC)),
      node_count_(node_count),
      log_(collector.log()),
      rules_(collector),
      peers_(collector, epoll_),
      room_(new char[Framing::kLeftMost + kReadMost]) {
    if (has_log) log_.turn_on();
    const int on = 1;
    setsockopt(listener_, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);  // what is sent before we accept has a sender too
    fcntl(listener_, F_SETFL, fcntl(listener_, F_GETFL) | O_NONBLOCK);
    watch_file(epoll_, EPOLL_CTL_ADD, listener_, EPOLLIN, watched_word(Watched::listener, 0));
    watch_file(epoll_, EPOLL_CTL_ADD, wake_, EPOLLIN, watched_word(Watched::wake, 0));
}

Server::~Server() {
    connections_.clear();
    for (const int file : {listener_, epoll_, wake_, spare_})
        if (file >= 0) close(file);
}

uint64_t Server::run(double seconds) {
    const std::lock_guard serving(serving_);
    const uint64_t until = nanoseconds(CLOCK_MONOTONIC) + static_cast<uint64_t>(seconds * 1e9);
    const uint64_t before = counts_.messages.load(std::memory_order_relaxed);
    should_stop_.store(false, std::memory_order_relaxed);
    {
        const auto held = collector_.hold();
        peers_.adopt();
    }
    for (uint64_t now = nanoseconds(CLOCK_MONOTONIC); now < until; now = nanoseconds(CLOCK_MONOTONIC)) {
        if (should_stop_.load(std::memory_order_relaxed)) break;
        const uint64_t rest_ms = (until - now) / kMs + 1;
        serve_once(static_cast<int>(std::min<uint64_t>(rest_ms, lone_.empty() ? 20 : 2)));
    }
    return counts_.messages.load(std::memory_order_relaxed) - before;
}

void Server::stop() {
    should_stop_.store(true, std::memory_order_relaxed);
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof one);
}

// Ends of processes come first: a pid that is used again must not meet its former owner.
void Server::serve_once(int wait_ms) {
    epoll_event events[kEvents];
    const int found = epoll_wait(epoll_, events, kEvents, wait_ms);
    for (int i = 0; i < found; ++i)
        if ((events[i].data.u64 & 3) == static_cast<uint64_t>(Watched::process)) end_process(events[i].data.u64 >> 2);
    for (int i = 0; i < found; ++i) {
        const uint64_t word = events[i].data.u64;
        switch (static_cast<Watched>(word & 3)) {
            case Watched::listener:
                accept_all();
                break;
            case Watched::wake: {
                uint64_t ignored = 0;
                [[maybe_unused]] const ssize_t got = read(wake_, &ignored, sizeof ignored);
                break;
            }
            case Watched::connection: {
                const auto known = connections_.find(static_cast<int>(word >> 2));
                if (known == connections_.end()) break;  // closed meanwhile
                Connection& connection = *known->second;
                // A peer that is gone may hide that there is room again: only sending says.
                if ((events[i].events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) flush(connection);
                if ((events[i].events & ~EPOLLOUT) != 0 && !read_from(connection, kTurnMost)) break;
                settle(connection);
                break;
            }
            case Watched::process:
                break;
        }
    }
    const uint64_t now_ns = nanoseconds(CLOCK_MONOTONIC);
    if (!lone_.empty()) answer_silent(now_ns);
    if (now_ns - gone_asked_ns_ > kGoneEveryNs) end_gone(now_ns);
    open_again(now_ns);
    counts_.connections.store(connections_.size(), std::memory_order_relaxed);
    counts_.pidfds.store(peers_.watched_count(), std::memory_order_relaxed);
}

void Server::accept_all() {
    for (int i = 0; i < kEvents; ++i) {
        const int file = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (file >= 0)
            welcome(file);
        else if (errno == EMFILE || errno == ENFILE)
            return refuse_one();
        else if (errno != EINTR && errno != ECONNABORTED)
            return;
    }
}

// No descriptor is left: one kept for this is lent to the new client, just long enough to close its connection. If even that one
// is gone (another thread was faster), no connection is accepted for a while: the listener would stay readable.
void Server::refuse_one() {
    if (spare_ >= 0) close(spare_);
    const int file = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (file >= 0) close(file);
    spare_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
    count(counts_.refused);
    if (file >= 0 && spare_ >= 0) return;
    watch_file(epoll_, EPOLL_CTL_MOD, listener_, 0, watched_word(Watched::listener, 0));
    closed_until_ns_ = nanoseconds(CLOCK_MONOTONIC) + kClosedNs;
}

void Server::open_again(uint64_t now_ns) {
    if (closed_until_ns_ == 0 || now_ns < closed_until_ns_) return;
    closed_until_ns_ = 0;
    if (spare_ < 0) spare_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
    watch_file(epoll_, EPOLL_CTL_MOD, listener_, EPOLLIN, watched_word(Watched::listener, 0));
}

void Server::welcome(int file) {
    const int on = 1;
    setsockopt(file, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    auto connection = std::make_unique<Connection>(file, ++connection_count_, peer_of(file));
    connection->watched = EPOLLIN | EPOLLRDHUP;
    watch_file(epoll_, EPOLL_CTL_ADD, file, connection->watched,
               watched_word(Watched::connection, static_cast<uint64_t>(file)));
    connections_[file] = std::move(connection);
    count(counts_.accepted);
}

bool Server::read_from(Connection& connection, size_t most, bool is_drained) {
    char* const fresh = room_.get() + Framing::kLeftMost;
    for (size_t taken = 0; taken < most && connection.outgoing.size() < kOutgoingMost;) {
        iovec part{fresh, kReadMost};
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        const ssize_t got = recvmsg(connection.file, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
        if (got <= 0) {
            connection.has_ended = true;
            break;
        }
        ucred who = connection.peer;
        const cmsghdr* first = CMSG_FIRSTHDR(&message);
        if (first != nullptr && first->cmsg_level == SOL_SOCKET && first->cmsg_type == SCM_CREDENTIALS)
            std::memcpy(&who, CMSG_DATA(first), sizeof who);
        taken += static_cast<size_t>(got);
        if (!take_bytes(connection, who, fresh, static_cast<size_t>(got))) return false;
        if (static_cast<size_t>(got) < kReadMost / 2 && !is_drained) break;  // most likely that was all
    }
    if (connection.has_ended) {
        if (connection.scored_since_ns != 0) {
            const auto held = collector_.hold();
            settle_size(connection);
        }
        if (connection.lone_since_ns != 0) {
            const auto held = collector_.hold();
            answer_lone(connection);
            connection.lone_since_ns = 0;
        }
        if (!connection.left.empty() && !connection.framing.has_first())
            count(counts_.discarded_bytes, connection.left.size());
        if (connection.outgoing.empty()) {
            hang_up(connection);
            return false;
        }
        watch(connection);
    }
    return true;
}

bool Server::take_bytes(Connection& connection, const ucred& who, char* bytes, size_t size) {
    count(counts_.bytes, size);
    connection.byte_count += size;
    char* const from = bytes - connection.left.size();
    const size_t all = connection.left.size() + size;
    std::memcpy(from, connection.left.data(), connection.left.size());
    {
        const auto held = collector_.hold();
        if (connection.lone_since_ns != 0) connection.lone_since_ns = nanoseconds(CLOCK_MONOTONIC);  // no silence yet
        const auto visit = [&](const char* first, size_t heads, size_t stride) {
            if (stride != 0 && connection.lone_since_ns != 0) answer_lone(connection);  // before what came after it
            take_heads(connection, who, first, heads, stride);
        };
        const size_t done = connection.framing.take(from, all, who.pid, visit);
        connection.left.assign(from + done, all - done);
        connection.is_unreadable = connection.framing.state() == Framing::State::unreadable;
        if (connection.lone_since_ns != 0 && connection.framing.stride() != 0) answer_lone(connection);
        await_size(connection, who);
        if (connection.is_unreadable) {
            LogLine line{LineKind::unreadable};
            line.pid = static_cast<uint32_t>(who.pid);
            line.size = connection.byte_count;
            log_.warn(line);
        }
    }
    if (collector_.is_wanted()) {  // a process wants to look: a thread that lets go for an instant only would win again
        const timespec nap{0, 20'000};
        nanosleep(&nap, nullptr);
    }
    if (!connection.is_unreadable) return true;
    count(counts_.closed_unreadable);
    hang_up(connection);
    return false;
}

// Anyone who only asks is no process that holds anything: it gets no book.
void Server::take_heads(Connection& connection, const ucred& who, const char* first, size_t heads, size_t stride) {
    const uint64_t now_ns = nanoseconds(CLOCK_REALTIME);
    Process* process = nullptr;
    count(counts_.messages, heads);
    while (heads > 0) {
        size_t done = 1;
        if (is_report(static_cast<uint8_t>(*first))) {
            if (process == nullptr) process = &peers_.writer(connection, who);
            done = rules_.apply(*process, first, heads, stride, now_ns);
        } else {
            Head head;
            std::memcpy(&head, first, sizeof head);
            answer(connection, who, head, stride);
        }
        first += done * stride;
        heads -= done;
    }
}

// Asks epoll for what this connection waits for now; closes it when there is nothing left to wait for.
bool Server::settle(Connection& connection) {
    if (connection.has_ended && connection.outgoing.empty() && connection.lone_since_ns == 0) {
        hang_up(connection);
        return false;
    }
    watch(connection);
    return true;
}

void Server::watch(Connection& connection) {
    uint32_t wanted = connection.outgoing.empty() ? 0u : uint32_t{EPOLLOUT};
    if (!connection.has_ended && connection.outgoing.size() < kOutgoingMost) wanted |= EPOLLIN | EPOLLRDHUP;
    if (wanted == connection.watched) return;
    connection.watched = wanted;
    watch_file(epoll_, EPOLL_CTL_MOD, connection.file, wanted,
               watched_word(Watched::connection, static_cast<uint64_t>(connection.file)));
}

// Anyone who can neither be seen nor watched from here is known by its connection only, and ends with it.
void Server::hang_up(Connection& connection) {
    const std::unordered_set<uint64_t> writers = std::move(connection.writers);
    std::erase(lone_, connection.file);
    connections_.erase(connection.file);  // closing takes it out of epoll
    for (const uint64_t key : writers) {
        const Process* process = peers_.find(key);
        if (process != nullptr && !process->is_visible && process->pidfd < 0) end_process(key);
    }
}

// What it had sent before it died is taken first; then all it held is given back.
void Server::end_process(uint64_t key) {
    std::vector<int> written;
    for (const auto& [file, connection] : connections_)
        if (connection->writers.erase(key) != 0) written.push_back(file);
    for (const int file : written) {
        int waiting = 0;
        const auto known = connections_.find(file);
        if (known == connections_.end()) continue;
        if (ioctl(file, FIONREAD, &waiting) == 0 && waiting > 0 &&
            read_from(*known->second, static_cast<size_t>(waiting), true))
            settle(*known->second);
    }
    const auto held = collector_.hold();
    Process* process = peers_.find(key);
    if (process == nullptr) return;
    peers_.forget(*process);
    collector_.dismiss(*process);
    count(counts_.processes_ended);
}

void Server::end_gone(uint64_t now_ns) {
    std::vector<uint64_t> gone;
    {
        const auto held = collector_.hold();
        gone = peers_.gone_unwatched(kGoneAtOnce);
        peers_.find_other_images(now_ns, kImagesAtOnce, gone);
    }
    for (const uint64_t key : gone) end_process(key);
    gone_asked_ns_ = gone.size() == kGoneAtOnce ? 0 : now_ns;  // the others have their turn in between
}

uint64_t Server::finish() {
    const std::lock_guard serving(serving_);
    const uint64_t before = counts_.messages.load(std::memory_order_relaxed);
    accept_all();
    close(listener_);
    listener_ = -1;
    std::vector<int> files;
    for (const auto& [file, connection] : connections_) files.push_back(file);
    const uint64_t until = nanoseconds(CLOCK_MONOTONIC) + kFinishNs;  // anyone who still writes could go on for ever
    for (const int file : files) {
        int waiting = 0;
        if (nanoseconds(CLOCK_MONOTONIC) > until) break;
        for (size_t all = 0; all < size_t{64} << 20; all += static_cast<size_t>(waiting)) {  // more never fits a socket
            const auto known = connections_.find(file);
            if (known == connections_.end() || ioctl(file, FIONREAD, &waiting) != 0 || waiting <= 0) break;
            if (!read_from(*known->second, static_cast<size_t>(waiting), true) ||
                known->second->outgoing.size() >= kOutgoingMost)
                break;
        }
    }
    connections_.clear();
    lone_.clear();
    counts_.connections.store(0, std::memory_order_relaxed);
    return counts_.messages.load(std::memory_order_relaxed) - before;
}

std::vector<std::pair<const char*, uint64_t>> Server::statistics() const {
    const auto of = [](const Count& counter) { return counter.load(std::memory_order_relaxed); };
    return {{"connections", of(counts_.connections)},
            {"accepted", of(counts_.accepted)},
            {"refused", of(counts_.refused)},
            {"closed_unreadable", of(counts_.closed_unreadable)},
            {"messages", of(counts_.messages)},
            {"queries", of(counts_.queries)},
            {"unknown_types", of(counts_.unknown_types)},
            {"bytes", of(counts_.bytes)},
            {"discarded_bytes", of(counts_.discarded_bytes)},
            {"saturated", of(counts_.saturated)},
            {"processes_ended", of(counts_.processes_ended)},
            {"pidfds", of(counts_.pidfds)},
            {"log_lines", log_.written()},
            {"log_dropped", log_.dropped()}};
}

}  // namespace ttmem::server
