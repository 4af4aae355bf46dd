// One connection of the seeds' socket: bytes that wait for the rest of their message, replies that wait for their reader.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <unordered_set>

#include "ledger/collector.hpp"
#include "seeds/framing.hpp"

namespace ttmem::seeds {

struct Connection {
    Connection(int descriptor, uint64_t n, ucred who) : file(descriptor), number(n), peer(who) {}
    ~Connection() { close(file); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    int file;
    uint64_t number;  // never used twice
    ucred peer;       // whoever connected
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

}  // namespace ttmem::seeds
