#include "server/peers.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "journal/identity.hpp"
#include "reader/liveness.hpp"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

namespace ttmem::server {
namespace {

std::string command_of(pid_t pid) {
    char path[48], text[256];
    std::snprintf(path, sizeof path, "/proc/%d/cmdline", static_cast<int>(pid));
    const long length = read_small_file(path, text, sizeof text);
    std::string command(text, length > 0 ? static_cast<size_t>(length) : 0);
    while (!command.empty() && command.back() == '\0') command.pop_back();
    std::replace(command.begin(), command.end(), '\0', ' ');
    return command;
}

uint64_t pid_namespace_of(pid_t pid) {
    char path[48], text[64];
    std::snprintf(path, sizeof path, "/proc/%d/ns/pid", static_cast<int>(pid));
    const ssize_t length = readlink(path, text, sizeof text - 1);
    if (length <= 0) return 0;
    text[length] = '\0';
    uint64_t number = 0;
    return std::sscanf(text, "pid:[%lu]", &number) == 1 ? number : 0;
}

constexpr uint64_t kImageEveryNs = 250 * kMs;

// The image that a process runs, by where its stack begins (field 28 of /proc/PID/stat): another place after each exec. 0
// where that may not be read, which is so of other users' processes unless the server is root's.
uint64_t image_of(pid_t pid) {
    constexpr int kStackField = 28;
    char path[48], text[1024];
    std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
    if (read_small_file(path, text, sizeof text) <= 0) return 0;
    const char* at = std::strrchr(text, ')');  // ends the name, which may hold anything
    for (int field = 2; at != nullptr && field < kStackField; ++field) at = std::strchr(at + 1, ' ');
    uint64_t stack = 0;
    return at != nullptr && std::sscanf(at, " %lu", &stack) == 1 ? stack : 0;
}

bool has_other_image(const Process& process) {
    const uint64_t image = process.image == 0 ? 0 : image_of(static_cast<pid_t>(process.pid));
    return image != 0 && image != process.image;
}

// Of anyone who connected, even if that process is gone and its pid belongs to another one already.
int peer_pidfd(int connection) {
    int pidfd = -1;
    socklen_t size = sizeof pidfd;
    return getsockopt(connection, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) == 0 ? pidfd : -1;
}

}  // namespace

Process& Peers::writer(Connection& connection, const ucred& who) {
    const int64_t place = who.pid > 0 ? int64_t{who.pid} : place_unseen(connection);
    auto known = by_place_.find(place);
    if (known != by_place_.end() && !connection.writers.contains(known->second->key) &&
        has_other_image(*known->second)) {
        Process& former = *known->second;
        forget(former);
        collector_.dismiss(former);
        known = by_place_.end();
    }
    Process& process = known != by_place_.end() ? *known->second : admit(connection, who, place);
    connection.writers.insert(process.key);
    return process;
}

// Several connections of one process that cannot be seen: its pidfds are one file where the kernel gives them their own
// (then they differ from those of others), else each connection stands for itself.
int64_t Peers::place_unseen(Connection& connection) {
    if (connection.place != 0) return connection.place;
    struct stat theirs{}, ours{};
    const int pidfd = peer_pidfd(connection.file), own = open_pidfd(getpid());
    const bool is_reported =
        pidfd >= 0 && own >= 0 && fstat(pidfd, &theirs) == 0 && fstat(own, &ours) == 0 && theirs.st_ino != ours.st_ino;
    if (pidfd >= 0) close(pidfd);
    if (own >= 0) close(own);
    constexpr int64_t kBeyondNumbers = int64_t{1} << 62;
    connection.place = is_reported ? -kBeyondNumbers + static_cast<int64_t>(theirs.st_ino % kBeyondNumbers)
                                   : -static_cast<int64_t>(connection.number) - 1;
    return connection.place;
}

Process& Peers::admit(Connection& connection, const ucred& who, int64_t place) {
    Process& process = collector_.admit(Way::socket);
    process.pid = static_cast<uint32_t>(who.pid);
    process.uid = who.uid;
    process.is_visible = who.pid > 0;
    int pidfd = -1;
    if (who.pid == connection.peer.pid) pidfd = peer_pidfd(connection.file);
    if (pidfd < 0 && who.pid > 0) pidfd = open_pidfd(who.pid);
    if (who.pid > 0) {
        process.start_ticks = start_ticks_of(who.pid);
        process.image = image_of(who.pid);
        process.command = command_of(who.pid);
        process.pid_namespace = pid_namespace_of(who.pid);
    }
    log_events_of(process);
    by_place_[place] = &process;
    place_of_[process.key] = place;
    watch(process, pidfd);
    collector_.pair_ways(process);
    return process;
}

// What a checkpoint brought back was alive before the log could report it.
void Peers::log_events_of(Process& process) {
    if (!collector_.log().is_on()) return;
    process.book.log_to(collector_.log(), process.pid, process.start_ticks);
    std::vector<RecordCopy> lives;
    process.book.table().copy_to(lives);
    std::sort(lives.begin(), lives.end(), [](const RecordCopy& a, const RecordCopy& b) { return a.commit < b.commit; });
    for (RecordCopy& life : lives) {
        if (life.target() != ServerTargets::kUnknown) life.address = 0;  // its id says the same
        process.book.log_before(life);
    }
}

void Peers::watch(Process& process, int pidfd) {
    process.pidfd = pidfd;
    if (pidfd < 0) return;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = watched_word(Watched::process, process.key);
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, pidfd, &event) == 0) {
        ++watched_;
        return;
    }
    close(pidfd);
    process.pidfd = -1;
}

Process* Peers::find(uint64_t key) {
    const auto place = place_of_.find(key);
    return place == place_of_.end() ? nullptr : by_place_[place->second];
}

void Peers::forget(Process& process) {
    const auto place = place_of_.find(process.key);
    if (place == place_of_.end()) return;
    if (process.pidfd >= 0) {
        epoll_ctl(epoll_, EPOLL_CTL_DEL, process.pidfd, nullptr);
        --watched_;
    }
    by_place_.erase(place->second);
    place_of_.erase(place);
}

// Gone: there is no such pid, or it has another start time, or is a zombie. Where nothing can be opened nothing can be
// reported, and no process is ended. (One that cannot be seen ends with its connection.)
bool Peers::is_gone(Process& process) {
    const auto pid = static_cast<pid_t>(process.pid);
    if (kill(pid, 0) != 0 && errno == ESRCH) return true;
    const uint64_t ticks = start_ticks_of(pid);
    if (ticks == 0) {
        const int probe = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (probe >= 0) close(probe);
        return probe >= 0;
    }
    process.figures += process.start_ticks == 0;
    if (process.start_ticks == 0) process.start_ticks = ticks;
    if (process.start_ticks != ticks) return true;
    watch(process, open_pidfd(pid));  // there may be room for it now
    return false;
}

std::vector<uint64_t> Peers::gone_unwatched(size_t most) {
    std::vector<uint64_t> gone;
    if (watched_ == by_place_.size()) return gone;
    for (const auto& [place, process] : by_place_) {
        if (process->pidfd < 0 && place > 0 && is_gone(*process)) gone.push_back(process->key);
        if (gone.size() == most) break;
    }
    return gone;
}

void Peers::find_other_images(uint64_t now_ns, size_t most, std::vector<uint64_t>& found) {
    for (const auto& [place, process] : by_place_) {
        if (process->image == 0 || now_ns - process->checked_ns < kImageEveryNs) continue;
        if (most-- == 0) return;
        process->checked_ns = now_ns;
        if (has_other_image(*process)) found.push_back(process->key);
    }
}

void Peers::adopt() {
    for (auto& process : collector_.processes()) {
        if (process->way != Way::socket || process->is_over() || place_of_.contains(process->key)) continue;
        process->image = image_of(static_cast<pid_t>(process->pid));
        by_place_[process->pid] = process.get();
        place_of_[process->key] = process->pid;
        watch(*process, open_pidfd(static_cast<pid_t>(process->pid)));
        log_events_of(*process);
    }
}

}  // namespace ttmem::server
