// Where a benchmark happens: each scenario in a child process with a journal directory of its own, which is
// removed when the child has ended, however it ended.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace measure {

/// A new directory (below $TTMEM_BENCH_ROOT, else /dev/shm), gone with the object.
class PrivateDirectory {
public:
    PrivateDirectory();
    ~PrivateDirectory();
    PrivateDirectory(const PrivateDirectory&) = delete;
    PrivateDirectory& operator=(const PrivateDirectory&) = delete;
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

/// The old design's server, running while the object lives.
class BaselineServer {
public:
    BaselineServer();
    ~BaselineServer();
    BaselineServer(const BaselineServer&) = delete;
    BaselineServer& operator=(const BaselineServer&) = delete;
    std::string socket_path() const { return directory_.path() + "/server.sock"; }

private:
    PrivateDirectory directory_;
    pid_t pid_ = -1;
};

using Settings = std::map<std::string, std::string>;
using Samples = std::vector<double>;

/// Runs `body` in a child with tracking switched on and `settings` in its environment; returns what it returned.
Samples in_child(const Settings& settings, const std::function<Samples()>& body);
/// The same without a journal directory or tracking.
Samples in_untracked_child(const std::function<Samples()>& body);

/// A benchmark's main: SIGINT and SIGTERM end it as an error would, so that everything is cleaned up.
int run(const std::function<void()>& benchmark);

}  // namespace measure
