#include "support/check.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace check {
namespace {

constexpr unsigned kSecondsMost = 300;  // of one test, sanitizers and a busy machine included
constexpr int kSkipped = 77;

Case* first = nullptr;
Case** last = &first;
std::string own_directory;
std::atomic<int> failures{0};

std::string make_directory() {
    const char* parent = std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : "/tmp";
    std::string path = std::string(parent) + "/ttmem-test-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {
        std::perror("no directory for tests");
        std::exit(2);
    }
    return path;
}

[[noreturn]] void run_here(const Case& test, pid_t runner) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != runner) _exit(2);
    for (const char* name : {"TTMEM", "TT_ALLOC_TRACKING_ENABLED", "TTMEM_LABEL", "TTMEM_RING", "TTMEM_TABLE"})
        unsetenv(name);
    setenv("TTMEM_DIR", own_directory.c_str(), 1);
    alarm(kSecondsMost);
    test.body();
    std::exit(failures.load() == 0 ? 0 : 1);
}

int run_apart(const Case& test) {
    const auto began = std::chrono::steady_clock::now();
    std::fflush(stdout);
    own_directory = make_directory();
    const pid_t runner = getpid();
    const pid_t child = fork();
    if (child == 0) run_here(test, runner);
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
    }
    std::error_code ignored;
    std::filesystem::remove_all(own_directory, ignored);
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
    const bool is_skipped = WIFEXITED(status) && WEXITSTATUS(status) == kSkipped;
    const bool is_good = is_skipped || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
    std::printf("%-6s %6lld ms  %s", is_skipped ? "skip" : (is_good ? "ok" : "FAILED"),
                static_cast<long long>(took.count()), test.name);
    if (WIFSIGNALED(status)) std::printf("  (ended by signal %d)", WTERMSIG(status));
    std::printf("\n");
    return is_good ? 0 : 1;
}

}  // namespace

Case::Case(const char* sentence, void (*run)()) : name(sentence), body(run), next(nullptr) {
    *last = this;
    last = &next;
}

const std::string& directory() { return own_directory; }

void fail(const char* file, int line, const std::string& what) {
    if (failures.fetch_add(1) < 20) std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
}

bool has_failed() { return failures.load() != 0; }

void skip(const char* reason) {
    std::fprintf(stderr, "not tried: %s\n", reason);
    std::exit(kSkipped);
}

void in_child(const std::function<void()>& body) {
    const pid_t child = fork();
    if (child == 0) {
        body();
        std::exit(has_failed() ? 1 : 0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    CHECK_EQUAL(status, 0);
}

void give_up() { _exit(1); }

}  // namespace check

// All tests of this program, or those whose name contains one of the arguments.
int main(int count, char** words) {
    int failed = 0, ran = 0;
    for (const check::Case* test = check::first; test != nullptr; test = test->next) {
        bool is_wanted = count == 1;
        for (int i = 1; i < count; ++i) is_wanted |= std::strstr(test->name, words[i]) != nullptr;
        if (!is_wanted) continue;
        ++ran;
        failed += check::run_apart(*test);
    }
    std::printf("%d tests, %d failed\n", ran, failed);
    return ran == 0 || failed != 0;
}
