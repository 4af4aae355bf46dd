// Stops one thread of a running program wherever it happens to be, as a debugger does, and lets it go on later.
//
//   freezer TID     says "frozen" when the thread stands still; lets it go when standard input ends
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>

int main(int count, char** arguments) {
    if (count != 2) return 2;
    const auto tid = static_cast<pid_t>(atoi(arguments[1]));
    int status = 0;
    if (ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) != 0 || ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr) != 0 ||
        waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status)) {
        std::perror("freezer");
        return 1;
    }
    std::puts("frozen");
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
    return ptrace(PTRACE_DETACH, tid, nullptr, nullptr) == 0 ? 0 : 1;
}
