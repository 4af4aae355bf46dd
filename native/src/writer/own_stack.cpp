#include "writer/own_stack.hpp"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

// void ttmem_call_on(void* top, void (*work)(void*), void* data): work(data), with the stack pointer at `top`. The frame
// pointer keeps the caller's stack, also for debuggers and profilers that unwind. Calls and returns stay in pairs, so
// shadow stacks see nothing unusual.
#if defined(__x86_64__)
__asm__(R"(
    .pushsection .text
    .globl  ttmem_call_on
    .hidden ttmem_call_on
    .type   ttmem_call_on, @function
ttmem_call_on:
    .cfi_startproc
    endbr64
    pushq   %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq    %rsp, %rbp
    .cfi_def_cfa_register %rbp
    movq    %rdi, %rsp
    movq    %rdx, %rdi
    call    *%rsi
    movq    %rbp, %rsp
    popq    %rbp
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size   ttmem_call_on, .-ttmem_call_on
    .popsection
)");
#define TTMEM_CAN_SWITCH 1
#elif defined(__aarch64__)
__asm__(R"(
    .pushsection .text
    .globl  ttmem_call_on
    .hidden ttmem_call_on
    .type   ttmem_call_on, %function
    .balign 4
ttmem_call_on:
    .cfi_startproc
    hint    #34
    stp     x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset 29, -16
    .cfi_offset 30, -8
    mov     x29, sp
    .cfi_def_cfa_register 29
    mov     sp, x0
    mov     x0, x2
    blr     x1
    mov     sp, x29
    .cfi_def_cfa_register 31
    ldp     x29, x30, [sp], #16
    .cfi_restore 29
    .cfi_restore 30
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
    .size   ttmem_call_on, .-ttmem_call_on
    .popsection
)");
#define TTMEM_CAN_SWITCH 1
#else
#define TTMEM_CAN_SWITCH 0  // the caller's own stack must do
#endif

#if TTMEM_CAN_SWITCH
extern "C" __attribute__((visibility("hidden"))) void ttmem_call_on(void* top, void (*work)(void*), void* data);
#endif

namespace ttmem {
namespace {

constexpr size_t kStackBytes = 256 << 10;
constexpr size_t kGuardBytes = 64 << 10;  // a page, whatever its size is

// As the kernel has it, with the two signals that the C library keeps for itself: they would run handlers here, too.
using SignalSet = uint64_t;
constexpr SignalSet set_of(int number) noexcept { return SignalSet{1} << (number - 1); }
constexpr SignalSet kHeldBack =
    ~(set_of(SIGSEGV) | set_of(SIGBUS) | set_of(SIGFPE) | set_of(SIGILL) | set_of(SIGTRAP) | set_of(SIGSYS));

SignalSet change_signals(int how, SignalSet signals) noexcept {
    SignalSet before = 0;
    syscall(SYS_rt_sigprocmask, how, &signals, &before, sizeof before);
    return before;
}

bool call_apart(void (*work)(void*) noexcept, void* data) noexcept {
#if TTMEM_CAN_SWITCH
    constexpr size_t kAll = kGuardBytes + kStackBytes;
    void* base = mmap(nullptr, kAll, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (base == MAP_FAILED) return false;
    char* lowest = static_cast<char*>(base) + kGuardBytes;
    const bool is_there = mprotect(lowest, kStackBytes, PROT_READ | PROT_WRITE) == 0;
    if (is_there) ttmem_call_on(lowest + kStackBytes, work, data);
    munmap(base, kAll);
    return is_there;
#else
    work(data);
    return true;
#endif
}

}  // namespace

__attribute__((noinline, cold)) bool run_on_own_stack(void (*work)(void*) noexcept, void* data) noexcept {
    const SavedErrno kept;
    const SignalSet signals_before = change_signals(SIG_BLOCK, kHeldBack);
    int could_be_cancelled = PTHREAD_CANCEL_ENABLE, ignored = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &could_be_cancelled);
    const bool has_run = call_apart(work, data);
    pthread_setcancelstate(could_be_cancelled, &ignored);
    change_signals(SIG_SETMASK, signals_before);
    return has_run;
}

}  // namespace ttmem
