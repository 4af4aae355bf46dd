// Promise: a report makes no system call. A filter of the kernel stops every call but those named below and
// hands it to a signal handler that counts it.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>

#include "measure/live_set.hpp"
#include "measure/scenario.hpp"

using namespace measure;

namespace {

constexpr uint32_t kLive = 1'000;
constexpr uint64_t kEvents = 100'000;

volatile sig_atomic_t stopped_calls = 0;
volatile sig_atomic_t last_stopped = -1;

void count_stopped(int, siginfo_t* information, void* context) {
    stopped_calls = stopped_calls + 1;
    last_stopped = information->si_syscall;
#if defined(__x86_64__)
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RAX] = -ENOSYS;
#else
    static_cast<void>(context);
#endif
}

void stop_system_calls() {
    struct sigaction action{};
    action.sa_sigaction = count_stopped;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSYS, &action, nullptr);
    sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{sizeof rules / sizeof *rules, rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        throw std::runtime_error("the kernel does not allow a system call filter here");
    }
}

Samples calls_made() {
    const uint16_t target = open_target(1);
    LiveSet<ById> by_id(ById{target}, kLive);
    LiveSet<ByHandle> by_handle(ByHandle{target}, kLive);
    const ttmem_kernel kernel{.id = 1,
                              .program = 7,
                              .binary_bytes = 57'344,
                              .exact_bytes = 0,
                              .binary_times_cores_bytes = 0,
                              .site = 0,
                              .core_count = 16,
                              .target = target,
                              .kind = TTMEM_KERNEL_FABRIC,
                              .options = 0,
                              .pool = 0,
                              .core_type = 0,
                              .found_by = 0};
    Samples counts;
    counts.reserve(2);
    ttmem_launch(target, 7);
    stop_system_calls();
    if (syscall(SYS_getppid) != -1 || stopped_calls != 1)
        throw std::runtime_error("the system call filter does not count");
    for (int i = 0; i < 10; ++i) {
        by_id.turn(kEvents / kEventsPerTurn / 20);
        by_handle.turn(kEvents / kEventsPerTurn / 20);
        ttmem_kernel_load(&kernel);
        ttmem_launch(target, 7);
        ttmem_binary_status(target, 7, TTMEM_COMMITTED, 65'536);
        ttmem_kernel_unload(target, TTMEM_KERNEL_FABRIC, 1);
    }
    counts.push_back(static_cast<double>(stopped_calls - 1));
    counts.push_back(static_cast<double>(last_stopped));
    return counts;
}

void count_system_calls() {
    const Samples counts = in_child({}, calls_made);
    show({.name = "system calls in 100,000 reports", .value = counts[0], .unit = "calls", .target = "<= 0"});
    if (counts[0] > 0) std::fprintf(stderr, "the last of them had number %.0f\n", counts[1]);
}

}  // namespace

int main() { return run(count_system_calls); }
