// Who is at the other end: processes by what the kernel says of each read, never by what a message claims.
//
// A process is told by its pid in our namespace and watched through one pidfd, however many connections it has. One that
// cannot be seen from here (pid 0) goes by its connection, and by the pidfd the kernel gives for that.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ledger/collector.hpp"
#include "seeds/connection.hpp"

namespace ttmem::seeds {

class Peers {
public:
    Peers(Collector& collector, int epoll) : collector_(collector), epoll_(epoll) {}

    /// The process that wrote what was just read; the collector is held.
    Process& writer(Connection& connection, const ucred& who);
    /// A process whose pidfd became readable, or that `is_gone`; nullptr if it is not one of ours.
    Process* find(uint64_t key);
    void forget(Process& process);
    /// Processes that have no pidfd are asked for from time to time; at most so many that are gone.
    std::vector<uint64_t> gone_unwatched(size_t most);
    /// Processes that became another program, which holds nothing of what the one before held: exec is no death that the
    /// kernel would tell. At most so many are asked for at once, each a few times a second.
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

/// What epoll tells us about: the listener, a wake-up, a connection by its file, a process by its key.
enum class Watched : uint64_t { listener, wake, connection, process };
inline constexpr uint64_t watched_word(Watched what, uint64_t which) {
    return which << 2 | static_cast<uint64_t>(what);
}

}  // namespace ttmem::seeds
