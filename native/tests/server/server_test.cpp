// The server over real sockets: several clients and a reader of figures at once, under whatever sanitizer is on.
#include "server/server.hpp"

#include <signal.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "support/check.hpp"
#include "support/server_messages.hpp"

namespace ttmem::server {
namespace {

using Type = MessageType;

sockaddr_un address() {
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    std::snprintf(where.sun_path, sizeof where.sun_path, "%s/s", check::directory().c_str());
    return where;
}

int listening() {
    const int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un where = address();
    REQUIRE(bind(file, reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0 && listen(file, 64) == 0);
    return file;
}

int connected() {
    const int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un where = address();
    if (connect(file, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0) return -1;
    return file;
}

void send_all(int file, const std::string& bytes) {
    for (size_t sent = 0; sent < bytes.size();) {
        const ssize_t got = send(file, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (got <= 0) return;
        sent += static_cast<size_t>(got);
    }
}

Message144 asked(int file, const Told& question) {
    Message144 reply{};
    send_all(file, a_message(144, question));
    auto* at = reinterpret_cast<char*>(&reply);
    for (size_t got = 0; got < sizeof reply;) {
        const ssize_t more = recv(file, at + got, sizeof reply - got, 0);
        if (more <= 0) break;
        got += static_cast<size_t>(more);
    }
    return reply;
}

struct Serving {
    Collector collector{false};
    Server server{collector, listening(), true, 0};
    std::thread thread{[this] { server.run(60); }};
    ~Serving() {
        server.stop();
        thread.join();
    }
};

}  // namespace

TEST(many_clients_and_many_lookers_agree_in_the_end) {
    Serving serving;
    std::vector<std::thread> all;
    for (int client = 0; client < 4; ++client)
        all.emplace_back([client] {
            const int file = connected();
            std::string batch;
            for (uint64_t i = 0; i < 2000; ++i)
                batch +=
                    a_message(kStrides[client], {Type::alloc, static_cast<uint64_t>(client) << 32 | i, 10, client});
            send_all(file, batch);
            send_all(file, a_message(kStrides[client], {Type::query, 0, 0, client}));
            char first = 0;
            recv(file, &first, 1, 0);  // answered: everything before it was taken
            close(file);
        });
    all.emplace_back([&] {
        for (int i = 0; i < 50; ++i) {
            serving.collector.look([](auto&, auto&, auto&, auto&) { return 0; });
            serving.server.take_log(0);
            serving.server.statistics();
            serving.collector.drain();
        }
    });
    for (std::thread& one : all) one.join();
    const int file = connected();
    for (int client = 0; client < 4; ++client) CHECK_EQUAL(asked(file, {Type::query, 0, 0, client}).sums.dram, 20'000u);
    close(file);
}

TEST(a_killed_client_gives_everything_back) {
    Serving serving;
    const int asker = connected();
    const pid_t child = fork();
    if (child == 0) {
        const int file = connected();
        asked(file, {Type::query});
        send_all(file, a_message(144, {Type::kernel_load, 1, 917'504, 0, 1}));
        asked(file, {Type::query});
        pause();
    }
    while (asked(asker, {Type::query}).kernel == 0) usleep(1000);
    CHECK_EQUAL(asked(asker, {Type::query}).kernel, 917'504u);
    kill(child, SIGKILL);  // and no process collects it: a zombie holds nothing either
    for (int i = 0; i < 2000 && asked(asker, {Type::query}).kernel != 0; ++i) usleep(1000);
    CHECK_EQUAL(asked(asker, {Type::query}).kernel, 0u);
    waitpid(child, nullptr, 0);
    close(asker);
}

TEST(finishing_takes_what_was_sent_already) {
    Collector collector{false};
    Server server{collector, listening(), false, 0};
    const int file = connected();
    send_all(file, a_message(144, {Type::alloc, 1, 4096}));
    CHECK_EQUAL(server.finish(), 1u);
    CHECK_EQUAL(collector.devices().find_server_id(0)->cell.pools[TTMEM_DRAM].used, 4096);
    CHECK(connected() < 0);
    close(file);
}

}  // namespace ttmem::server
