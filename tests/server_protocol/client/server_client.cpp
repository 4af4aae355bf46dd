// A program that reports as the allocation server's applications do, obeying one line of orders at a time:
//
//   server_client SOCKET_PATH
//   size N | claim PID | report TYPE DEVICE SIZE KIND ID | ask TYPE DEVICE | raw HEX | read N
//   pairs COUNT DEVICE SIZE BASE LIVE PER_SEND     COUNT messages, the newest LIVE allocations stay
//   many TYPE COUNT DEVICE SIZE KIND BASE          ids BASE, BASE + 1, ...
//   growing COUNT DEVICE ID                        one kernel, loaded with sizes 1, 2, ... COUNT
//   fork stay|exit ORDER ...                       a child does the order on this connection; it stays, or ends unreaped
//   fresh stay|exit ORDER ...                      the same on a connection of its own
//   reconnect | close | shut | reap | become UID | endure | die | fields HEX
//
// Every order is answered by one line that begins with "ok" or "no".
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <sstream>
#include <vector>

#include "allocation_client.hpp"

using namespace older_protocol;

namespace {

using Order = std::istringstream;
std::string socket_path;
std::string obey(AllocationClient& client, const std::string& line);

template <typename Value>
Value next(Order& order) {
    Value value{};
    order >> value;
    if (!order) throw std::string("no sense");
    return value;
}

std::string as_hex(const std::vector<uint8_t>& bytes) {
    std::string text;
    char pair[3];
    for (const uint8_t byte : bytes) {
        std::snprintf(pair, sizeof pair, "%02x", byte);
        text += pair;
    }
    return text;
}

std::vector<uint8_t> from_hex(const std::string& text) {
    std::vector<uint8_t> bytes;
    for (size_t i = 0; i + 1 < text.size(); i += 2)
        bytes.push_back(static_cast<uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
    return bytes;
}

std::string report(AllocationClient& client, Order& order) {
    const int type = next<int>(order), device = next<int>(order);
    const auto size = next<uint64_t>(order);
    const int kind = next<int>(order);
    return client.report(type, device, size, kind, next<uint64_t>(order)) ? "ok" : "no connection";
}

std::string received(AllocationClient& client, size_t wanted) {
    std::vector<uint8_t> reply(wanted);
    reply.resize(client.receive(reply.data(), wanted));
    return "ok " + as_hex(reply);
}

std::string ask(AllocationClient& client, Order& order) {
    const int type = next<int>(order), device = next<int>(order);
    if (!client.report(type, device, 0, 0, 0)) return "no connection";
    return received(client, client.message_bytes());
}

std::string raw(AllocationClient& client, Order& order) {
    const std::vector<uint8_t> bytes = from_hex(next<std::string>(order));
    return client.send_whole(bytes.data(), bytes.size()) ? "ok" : "no connection";
}

/// Sends messages, so many per send; with one per send this is what the allocation server's client does.
class Sender {
public:
    Sender(AllocationClient& client, size_t per_send) : client_(client), per_send_(per_send) {}

    bool add(const P144& message) {
        const char* at = reinterpret_cast<const char*>(&message);
        bytes_.insert(bytes_.end(), at, at + client_.message_bytes());
        return ++count_ < per_send_ || flush();
    }
    bool flush() {
        const bool is_sent = bytes_.empty() || client_.send_whole(bytes_.data(), bytes_.size());
        bytes_.clear();
        count_ = 0;
        return is_sent;
    }

private:
    AllocationClient& client_;
    size_t per_send_, count_ = 0;
    std::vector<char> bytes_;
};

std::string pairs(AllocationClient& client, Order& order) {
    const auto count = next<uint64_t>(order);
    const int device = next<int>(order);
    const auto size = next<uint64_t>(order), base = next<uint64_t>(order), live = next<uint64_t>(order);
    Sender sender(client, next<size_t>(order));
    const auto began = std::chrono::steady_clock::now();
    uint64_t made = 0, freed = 0;
    for (uint64_t i = 0; i < count; ++i) {
        const bool is_full = made - freed >= live;
        const P144 message = is_full ? client.a_message(2, device, 0, 0, base + freed++)
                                     : client.a_message(1, device, size, 0, base + made++);
        if (!sender.add(message)) return "no connection";
    }
    if (!sender.flush()) return "no connection";
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
    std::ostringstream answer;
    answer << "ok " << made - freed << " " << took.count() / static_cast<double>(count);
    return answer.str();
}

std::string many(AllocationClient& client, Order& order) {
    const int type = next<int>(order);
    const auto count = next<uint64_t>(order);
    const int device = next<int>(order);
    const auto size = next<uint64_t>(order);
    const int kind = next<int>(order);
    const auto base = next<uint64_t>(order);
    for (uint64_t i = 0; i < count; ++i)
        if (!client.report(type, device, size, kind, base + i)) return "no connection";
    return "ok";
}

/// One kernel that grows with every message: whoever sees it shrink has seen two messages in the wrong order.
std::string growing(AllocationClient& client, Order& order) {
    const auto count = next<uint64_t>(order);
    const int device = next<int>(order);
    const auto id = next<uint64_t>(order);
    for (uint64_t size = 1; size <= count; ++size)
        if (!client.report(10, device, size, 0, id)) return "no connection";
    return "ok";
}

std::string in_a_child(AllocationClient& client, Order& order, bool has_own_connection) {
    const bool stays = next<std::string>(order) == "stay";
    std::string rest;
    std::getline(order >> std::ws, rest);
    int said[2];
    if (pipe(said) != 0) return "no pipe";
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(said[0]);
        std::string answer;
        if (has_own_connection) {
            AllocationClient own(socket_path);
            own.speak(client.message_bytes());
            answer = obey(own, rest);
        } else {
            answer = obey(client, rest);
        }
        if (write(said[1], answer.data(), answer.size()) < 0) _exit(1);
        close(said[1]);
        while (stays) pause();
        _exit(0);
    }
    close(said[1]);
    std::string answer(4096, 0);
    const ssize_t got = read(said[0], answer.data(), answer.size());
    answer.resize(got > 0 ? static_cast<size_t>(got) : 0);
    close(said[0]);
    if (!stays) {  // ended, but not waited for: a zombie
        siginfo_t ended{};
        waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT);
    }
    return answer.substr(0, 2) + " " + std::to_string(child) + answer.substr(std::min<size_t>(2, answer.size()));
}

template <typename Packed>
std::string as_words(const std::vector<uint8_t>& bytes) {
    Packed message;
    std::memcpy(&message, bytes.data(), sizeof message);
    std::ostringstream words;
    const Header& h = message.header;
    const Counters& c = message.counters;
    words << "ok type=" << +h.type << " device_id=" << h.device_id << " size=" << h.size
          << " buffer_type=" << +h.buffer_type << " process_id=" << h.process_id << " buffer_id=" << h.buffer_id
          << " timestamp=" << h.timestamp << " dram_allocated=" << c.dram_allocated
          << " l1_allocated=" << c.l1_allocated << " l1_small_allocated=" << c.l1_small_allocated
          << " trace_allocated=" << c.trace_allocated;
    if constexpr (requires { message.more; })
        words << " cb_allocated=" << message.more.cb_allocated << " kernel_allocated=" << message.more.kernel_allocated;
    if constexpr (requires { message.info; }) {
        const DeviceInfo& i = message.info;
        words << " total_dram_size=" << i.total_dram_size << " total_l1_size=" << i.total_l1_size
              << " arch_type=" << i.arch_type << " num_dram_channels=" << i.num_dram_channels
              << " dram_size_per_channel=" << i.dram_size_per_channel << " l1_size_per_core=" << i.l1_size_per_core
              << " is_available=" << i.is_available << " num_devices=" << i.num_devices;
    }
    if constexpr (requires { message.ring; })
        words << " ringbuffer_total_size=" << message.ring.ringbuffer_total_size
              << " ringbuffer_used_bytes=" << message.ring.ringbuffer_used_bytes
              << " ringbuffer_num_programs=" << message.ring.ringbuffer_num_programs;
    return words.str();
}

std::string fields(Order& order) {
    const std::vector<uint8_t> bytes = from_hex(next<std::string>(order));
    switch (bytes.size()) {
        case 72:
            return as_words<P72>(bytes);
        case 112:
            return as_words<P112>(bytes);
        case 128:
            return as_words<P128>(bytes);
        case 144:
            return as_words<P144>(bytes);
        default:
            return "no such size";
    }
}

std::string reap() {
    while (wait(nullptr) > 0) {
    }
    return "ok";
}

std::string obey(AllocationClient& client, const std::string& line) {
    Order order(line);
    const auto verb = next<std::string>(order);
    if (verb == "size") return client.speak(next<size_t>(order)), "ok";
    if (verb == "claim") return client.claim(next<int>(order)), "ok";
    if (verb == "report") return report(client, order);
    if (verb == "ask") return ask(client, order);
    if (verb == "raw") return raw(client, order);
    if (verb == "read") return received(client, next<size_t>(order));
    if (verb == "pairs") return pairs(client, order);
    if (verb == "many") return many(client, order);
    if (verb == "growing") return growing(client, order);
    if (verb == "fork") return in_a_child(client, order, false);
    if (verb == "fresh") return in_a_child(client, order, true);
    if (verb == "fields") return fields(order);
    if (verb == "close") return close(client.connection()), client.forget_connection(), "ok";
    if (verb == "reconnect") return close(client.connection()), client.reach_server(), "ok";
    if (verb == "shut") return shutdown(client.connection(), SHUT_WR) == 0 ? "ok" : "no connection";
    if (verb == "reap") return reap();
    if (verb == "become") return setuid(next<uid_t>(order)) == 0 ? "ok" : "no permission";
    if (verb == "endure") return signal(SIGPIPE, SIG_IGN) != SIG_ERR ? "ok" : "no";
    if (verb == "die") raise(SIGKILL);
    return "no such order";
}

}  // namespace

int main(int argument_count, char** arguments) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    socket_path = argument_count > 1 ? arguments[1] : "/tmp/tt_allocation_server.sock";
    AllocationClient client(socket_path);
    std::cout << "ok " << (client.is_connected() ? "connected" : client.is_enabled() ? "absent" : "off") << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
        try {
            std::cout << obey(client, line) << std::endl;
        } catch (const std::string& complaint) {
            std::cout << "no: " << complaint << std::endl;
        }
    }
}
