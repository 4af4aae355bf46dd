// The allocation server: takes connections, finds the messages in what they send, applies them to the ledger and
// answers. One thread serves; what one connection does, or fails to do, never holds up another.
//
//   who                              may call
//   one thread at a time             run, finish
//   any thread                       stop, statistics
//   the log's reader                 take_log
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ledger/collector.hpp"
#include "server/message_rules.hpp"
#include "server/peers.hpp"

namespace ttmem::server {

using Count = std::atomic<uint64_t>;  // written by the serving thread, read by any process: relaxed

inline void count(Count& counter, uint64_t by = 1) {
    counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

struct Counts {
    Count connections{0}, accepted{0}, refused{0}, closed_unreadable{0}, messages{0}, queries{0}, unknown_types{0},
        bytes{0}, saturated{0}, discarded_bytes{0}, dumps{0}, kernel_dumps{0}, processes_ended{0}, pidfds{0};
};

class Server {
public:
    /// Takes a bound, listening Unix stream socket; the descriptor is ours from now on.
    Server(Collector& collector, int listener, bool has_log, uint32_t node_count);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Serves for so long, or until stop(); returns the messages taken.
    uint64_t run(double seconds);
    void stop();
    /// Takes what has already arrived, then closes all connections.
    uint64_t finish();

    std::vector<std::pair<const char*, uint64_t>> statistics() const;
    /// Lines said since the last time, waited for if there are none.
    std::string take_log(double wait_seconds) { return log_.wait(wait_seconds); }
    uint64_t log_dropped() const { return log_.dropped(); }
    /// How often a dump was asked for since the last time: of everything, and of kernels.
    std::pair<uint64_t, uint64_t> take_dump_requests() {
        return {counts_.dumps.exchange(0, std::memory_order_relaxed),
                counts_.kernel_dumps.exchange(0, std::memory_order_relaxed)};
    }

private:
    void serve_once(int wait_ms);
    void accept_all();
    void refuse_one();
    void open_again(uint64_t now_ns);
    void welcome(int file);
    /// Reads what is there, at most about that many bytes, and all of that if it is `drained`; false once the connection
    /// is closed.
    bool read_from(Connection& connection, size_t most, bool is_drained = false);
    bool take_bytes(Connection& connection, const ucred& who, char* bytes, size_t size);
    void take_heads(Connection& connection, const ucred& who, const char* first, size_t heads, size_t stride);
    void answer(Connection& connection, const ucred& who, const Head& head, size_t size);
    void send_reply(Connection& connection, const Head& head, size_t size);
    void answer_lone(Connection& connection);
    void answer_silent(uint64_t now_ns);
    void await_size(Connection& connection, const ucred& who);
    void settle_size(Connection& connection);
    bool settle(Connection& connection);
    void flush(Connection& connection);
    void watch(Connection& connection);
    void hang_up(Connection& connection);
    void end_process(uint64_t key);
    void end_gone(uint64_t now_ns);

    Collector& collector_;
    int listener_, epoll_, wake_;
    int spare_;  // given up for a moment when descriptors run out, to refuse a new client
    uint32_t node_count_;
    uint64_t connection_count_ = 0;
    uint64_t gone_asked_ns_ = 0;
    uint64_t closed_until_ns_ = 0;  // the listener is not asked until then; 0: it is
    std::mutex serving_;
    std::atomic<bool> should_stop_{false};
    EventLog& log_;
    MessageRules rules_;
    Peers peers_;
    Counts counts_;
    std::unordered_map<int, std::unique_ptr<Connection>> connections_;
    std::vector<int> lone_;  // connections with something that waits for silence
    std::unique_ptr<char[]> room_;
};

}  // namespace ttmem::server
