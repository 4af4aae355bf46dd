#include "measure/scenario.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <stdexcept>

namespace measure {
namespace {

struct Interrupted : std::exception {
    const char* what() const noexcept override { return "interrupted"; }
};

sigset_t ending_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    return signals;
}

[[noreturn]] void run_child(const Settings& settings, const std::function<Samples()>& body, int results) {
    const sigset_t signals = ending_signals();
    sigprocmask(SIG_UNBLOCK, &signals, nullptr);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (const auto& [name, value] : settings) setenv(name.c_str(), value.c_str(), 1);
    try {
        const Samples samples = body();
        const size_t bytes = samples.size() * sizeof(double);
        if (write(results, samples.data(), bytes) != static_cast<ssize_t>(bytes)) _exit(3);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        _exit(1);
    }
    _exit(0);
}

/// Reads to the end of `from`; throws Interrupted when asked to end meanwhile.
template <typename Take>
void read_or_be_interrupted(int from, const Take& take) {
    const sigset_t signals = ending_signals();
    const int interruptions = signalfd(-1, &signals, SFD_CLOEXEC);
    bool is_interrupted = false;
    for (;;) {
        pollfd watched[2] = {{from, POLLIN, 0}, {interruptions, POLLIN, 0}};
        if (poll(watched, 2, -1) < 0 && errno != EINTR) break;
        is_interrupted = (watched[1].revents & POLLIN) != 0;
        if (is_interrupted) break;
        char bytes[4096];
        const ssize_t count = read(from, bytes, sizeof bytes);
        if (count <= 0 || !take(bytes, static_cast<size_t>(count))) break;
    }
    close(interruptions);
    if (is_interrupted) throw Interrupted();
}

struct Child {
    pid_t pid = -1;
    int output = -1;

    int end(bool by_force) {
        if (pid < 0) return 0;
        if (by_force) kill(pid, SIGKILL);
        int status = 0;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        pid = -1;
        close(output);
        return status;
    }
    ~Child() { end(true); }
};

Samples samples_of(const Settings& settings, const std::function<Samples()>& body) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
    std::fflush(nullptr);
    Child child;
    child.pid = fork();
    if (child.pid == 0) run_child(settings, body, ends[1]);
    close(ends[1]);
    child.output = ends[0];
    std::string bytes;
    read_or_be_interrupted(ends[0], [&](const char* data, size_t count) {
        bytes.append(data, count);
        return true;
    });
    const int status = child.end(false);
    if (WIFSIGNALED(status)) {
        throw std::runtime_error(std::string("a scenario was ended by ") + strsignal(WTERMSIG(status)));
    }
    if (WEXITSTATUS(status) != 0) {
        throw std::runtime_error("a scenario failed with status " + std::to_string(WEXITSTATUS(status)));
    }
    Samples samples(bytes.size() / sizeof(double));
    std::memcpy(samples.data(), bytes.data(), samples.size() * sizeof(double));
    return samples;
}

}  // namespace

PrivateDirectory::PrivateDirectory() {
    const char* root = std::getenv("TTMEM_BENCH_ROOT");
    path_ = std::string(root != nullptr ? root : "/dev/shm") + "/ttmem-bench-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("cannot make a directory like " + path_);
}

PrivateDirectory::~PrivateDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

BaselineServer::BaselineServer() {
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "older_server";
    const std::string path = socket_path();
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
    pid_ = fork();
    if (pid_ == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execl(program.c_str(), program.c_str(), path.c_str(), nullptr);
        _exit(127);
    }
    close(ends[1]);
    char ready[8] = {};
    const ssize_t count = read(ends[0], ready, sizeof ready - 1);
    close(ends[0]);
    if (count > 0 && std::strcmp(ready, "ready\n") == 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    throw std::runtime_error("the baseline server " + program + " did not start");
}

BaselineServer::~BaselineServer() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
}

Samples in_child(const Settings& settings, const std::function<Samples()>& body) {
    const PrivateDirectory directory;
    Settings all = {{"TTMEM", "1"}, {"TTMEM_DIR", directory.path()}};
    all.insert(settings.begin(), settings.end());
    return samples_of(all, body);
}

Samples in_untracked_child(const std::function<Samples()>& body) { return samples_of({{"TTMEM", "0"}}, body); }

int run(const std::function<void()>& benchmark) {
    const sigset_t signals = ending_signals();
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    try {
        benchmark();
    } catch (const Interrupted&) {
        return 130;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}

}  // namespace measure
