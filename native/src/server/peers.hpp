// Who is at the other end: processes by what the kernel says of each read, never by what a message claims.
//
// A process is known by its pid in our namespace and watched through one pidfd, however many connections it has. One that
// cannot be seen from here (pid 0) goes by its connection, and by the pidfd the kernel gives for that.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ledger/collector.hpp"
#include "server/framing.hpp"

namespace ttmem::server {

/// One connection of the socket: bytes that wait for the rest of their message, replies that wait for their reader.
struct Connection {
    Connection(int descriptor, uint64_t n, ucred who) : file(descriptor), number(n), peer(who) {}
    ~Connection() { close(file); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    int file;
    uint64_t number;  // never used twice
    ucred peer;       // the process that connected
    Framing framing;
    std::string left;                      // bytes of a message that is not whole
    std::string outgoing;                  // replies that found no room
    std::unordered_set<uint64_t> writers;  // keys of the processes that wrote on it
    int64_t place = 0;                     // of a writer that cannot be seen from here
    uint64_t byte_count = 0;
    uint64_t lone_since_ns = 0;    // a first question that waits for the size of its answer
    uint64_t scored_since_ns = 0;  // messages that wait for their size: silence decides
    ucred scored_writer{};         // who sent the last of those
    Head lone{};
    uint32_t watched = 0;  // the events asked of epoll
    bool has_ended = false, is_unreadable = false;
};

class Peers {
public:
    Peers(Collector& collector, int epoll) : collector_(collector), epoll_(epoll) {}

    /// The process that wrote what was just read; the collector is held.
    Process& writer(Connection& connection, const ucred& who);
    /// A process whose pidfd became readable, or that `is_gone`; nullptr if it is not one of ours.
    Process* find(uint64_t key);
    void forget(Process& process);
    /// Processes that have no pidfd are asked for from time to time; at most that many that are gone.
    std::vector<uint64_t> gone_unwatched(size_t most);
    /// Processes that became another program, which holds nothing of what the one before held: exec is no death that the
    /// kernel would say. At most that many are asked for at once, each a few times a second.
    void find_other_images(uint64_t now_ns, size_t most, std::vector<uint64_t>& found);
    /// Takes over the processes that a checkpoint brought back.
    void adopt();
    size_t watched_count() const { return watched_; }

private:
    Process& admit(Connection& connection, const ucred& who, int64_t place);
    int64_t place_unseen(Connection& connection);
    bool is_gone(Process& process);
    void watch(Process& process, int pidfd);
    void log_events_of(Process& process);

    Collector& collector_;
    int epoll_;
    std::unordered_map<int64_t, Process*> by_place_;  // pid, or below zero the number of a connection
    std::unordered_map<uint64_t, int64_t> place_of_;  // by key
    size_t watched_ = 0;
};

/// What epoll says us about: the listener, a wake-up, a connection by its file, a process by its key.
enum class Watched : uint64_t { listener, wake, connection, process };
inline constexpr uint64_t watched_word(Watched what, uint64_t which) {
    return which << 2 | static_cast<uint64_t>(what);
}

}  // namespace ttmem::server
